// stderr: log lines, the status line of a terminal, and progress in both forms.
#include "console.h"

#include <gtest/gtest.h>

#include "progress.h"

namespace veneer::cli {
namespace {

// A console on a file, and what was written to it.
class Recorded {
 public:
  explicit Recorded(bool terminal, bool may_color = true) : console(file_, terminal, may_color) {}
  ~Recorded() { std::fclose(file_); }

 private:
  std::FILE* file_ = std::tmpfile();

 public:
  Console console;

  std::string text() {
    std::rewind(file_);
    std::string out;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) out += static_cast<char>(c);
    return out;
  }
};

void write_all_levels(Console& console) {
  const Log log = console.log();
  log.debug("d");
  log.info("i");
  log.warn("w");
  log.error("e");
}

TEST(Console, ShowsTheLevelsAskedFor) {
  Recorded plain(false), verbose(false), quiet(false);
  verbose.console.options().verbose = true;
  quiet.console.options().quiet = true;
  for (Recorded* recorded : {&plain, &verbose, &quiet}) write_all_levels(recorded->console);
  EXPECT_EQ(plain.text(), "[INFO ] i\n[WARN ] w\n[ERROR] e\n");
  EXPECT_EQ(verbose.text(), "[DEBUG] d\n[INFO ] i\n[WARN ] w\n[ERROR] e\n");
  EXPECT_EQ(quiet.text(), "[WARN ] w\n[ERROR] e\n");
}

TEST(Console, ColoursOnlyWhenAskedAndAllowed) {
  Recorded asked(false), forbidden(false, false);
  for (Recorded* recorded : {&asked, &forbidden}) {
    recorded->console.options().color = true;
    recorded->console.write(LogLevel::kWarn, "w");
  }
  EXPECT_EQ(asked.text(), "\x1b[33m[WARN ]\x1b[0m w\n");
  EXPECT_EQ(forbidden.text(), "[WARN ] w\n");
}

TEST(Console, NeutralisesControlCharacters) {
  Recorded recorded(false);
  recorded.console.write(LogLevel::kInfo, "tensor \x1b[2J\r\x7f \xc3\xa9");
  EXPECT_EQ(recorded.text(), "[INFO ] tensor \\x1b[2J\\x0d\\x7f \xc3\xa9\n");
}

TEST(Console, KeepsTheStatusLineBelowTheLog) {
  Recorded recorded(true);
  recorded.console.show_status("bar 1");
  recorded.console.write(LogLevel::kInfo, "i");
  recorded.console.end_status();
  recorded.console.write(LogLevel::kInfo, "j");
  EXPECT_EQ(recorded.text(),
            "\r\x1b[Kbar 1"
            "\r\x1b[K[INFO ] i\nbar 1"
            "\n"
            "[INFO ] j\n");
}

TEST(Progress, TellsTheRate) {
  EXPECT_EQ(rate_text(0.5), "2.00 it/s");
  EXPECT_EQ(rate_text(2.345), "2.35 s/it");
  EXPECT_EQ(rate_text(0), "");
  EXPECT_EQ(progress_line("sampling", 3, 20, 0.8), "sampling 3/20 - 1.25 it/s");
  EXPECT_EQ(progress_line("loading", 3, 20, 0), "loading 3/20");
}

TEST(Progress, DrawsABarOfConstantWidth) {
  EXPECT_EQ(progress_bar("p", 0, 4, 0), "p |>" + std::string(39, ' ') + "| 0/4");
  EXPECT_EQ(progress_bar("p", 1, 4, 0), "p |" + std::string(10, '=') + ">" + std::string(29, ' ') + "| 1/4");
  EXPECT_EQ(progress_bar("p", 4, 4, 0), "p |" + std::string(40, '=') + "| 4/4");
  EXPECT_EQ(progress_bar("p", 2000000000, 2000000000, 0).substr(0, 43), "p |" + std::string(40, '='));
}

TEST(Progress, PrintsEachStepOrEachTenthWithoutATerminal) {
  Recorded steps(false), tenths(false);
  Progress each(steps.console), some(tenths.console);
  for (int i = 0; i <= 3; ++i) each.update("sampling", i, 3, 0.5, true);
  for (int i = 0; i <= 1000; ++i) some.update("loading", i, 1000, 0, false);
  some.update("decoding", 1, 1, 0, false);
  EXPECT_EQ(steps.text(), "sampling 1/3 - 2.00 it/s\nsampling 2/3 - 2.00 it/s\nsampling 3/3 - 2.00 it/s\n");
  EXPECT_EQ(tenths.text().substr(0, 35), "loading 100/1000\nloading 200/1000\nl");
  EXPECT_TRUE(tenths.text().ends_with("loading 900/1000\nloading 1000/1000\ndecoding 1/1\n")) << tenths.text();
}

TEST(Progress, EndsItsBarWithItsPhase) {
  Recorded recorded(true);
  {
    Progress progress(recorded.console);
    progress.update("a", 1, 2, 0, true);
    progress.update("b", 1, 1, 0, true);
    progress.update("c", 0, 1, 0, true);
  }
  const std::string text = recorded.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_TRUE(text.ends_with('\n'));
}

TEST(Progress, IsSilentWhenQuiet) {
  for (const bool terminal : {false, true}) {
    Recorded recorded(terminal);
    recorded.console.options().quiet = true;
    Progress(recorded.console).update("sampling", 1, 1, 1, true);
    EXPECT_EQ(recorded.text(), "");
  }
}

}  // namespace
}  // namespace veneer::cli
