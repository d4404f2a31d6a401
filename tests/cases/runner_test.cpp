// The case runner itself, with /bin/sh in the place of the product: each check must be able to fail.
#include "runner/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

#include "core/files.h"
#include "io/image.h"

namespace veneer::cases {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> run(std::string_view text, std::chrono::seconds limit = std::chrono::seconds(20)) {
  return run_case(text, "t",
                  {.program = "/bin/sh",
                   .variables = {{"DATA", VENEER_SOURCE_DIR "/tests/data"}, {"WORD", "two words"}},
                   .limit = limit});
}

TEST(CaseFile, SplitsWordsAsAShellDoes) {
  const auto steps = parse_case("# comment\n\n  run a \"b c\" '${X} \\n' \"d\\\"\\n\"e ${X}\n", {{"X", "1 2"}}, "t");
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ((*steps)[0].line, 3);
  EXPECT_THAT((*steps)[0].words, ElementsAre("run", "a", "b c", "${X} \\n", "d\"\ne", "1 2"));
}

TEST(CaseFile, NamesTheLineOfAMistake) {
  for (const char* text : {"\nrun \"open", "\nrun ${NONE}", "\nrun \"\\q\"", "\nrun ${WORD"}) {
    const auto steps = parse_case(text, {{"WORD", "x"}}, "t");
    ASSERT_FALSE(steps) << text;
    EXPECT_THAT(steps.error().message, HasSubstr("t:2: "));
  }
}

TEST(CaseRunner, PassesWhatHolds) {
  EXPECT_THAT(run(R"(
run -c 'echo "{\"a\": {\"b\": 3}}"; echo warned >&2'
stdout json
stdout contains a
json /a/b 3
stderr is "warned\n"
stderr lacks error
run -c 'exit 7'
exit 7
stdout empty
write f "hello"
exists f
truncate f -1
run -c 'cat f'
stdout is hell
stdout to g
expect f same-bytes g
absent h
copy ${DATA}/demo-reference/base-euler-0.png deep/a.png
copy ${DATA}/demo-reference/base-euler-1.png b.png
size b.png 128x128
expect deep/a.png identical deep/a.png
expect deep/a.png differs b.png
expect deep/a.png within 255 b.png
)"),
              IsEmpty());
}

TEST(CaseRunner, ReportsEachExpectationThatDoesNotHold) {
  const char* kPictures =
      "copy ${DATA}/demo-reference/base-euler-0.png a.png\ncopy ${DATA}/demo-reference/base-euler-1.png b.png\n"
      "run -c 'echo out; echo err >&2'\n";
  for (const char* step :
       {"stdout contains nothing", "stdout lacks out", "stdout is out", "stdout empty", "stdout json", "stderr empty",
        "json /a 1", "expect a.png identical b.png", "expect a.png differs a.png", "expect a.png within 0.5 b.png",
        "expect a.png same-bytes b.png", "size a.png 64x64", "exists c.png", "absent a.png", "exit 3"}) {
    EXPECT_THAT(run(std::string(kPictures) + step), ElementsAre(HasSubstr("t:4: "))) << step;
  }
}

TEST(CaseRunner, ExpectsSuccessOfARunThatNoExitFollows) {
  EXPECT_THAT(run("run -c 'exit 1'\nabsent f"), ElementsAre(HasSubstr("t:1: exit: exits with 1, expected 0")));
}

TEST(CaseRunner, EndsACaseThatIsWrong) {
  for (const char* text : {"walk\nexists f", "exit\nexists f", "stdout smells x\nexists f", "copy nowhere f\nexists f",
                           "size none.png 1x1\nexists f", "expect a near b\nexists f", "truncate f x\nexists f"}) {
    EXPECT_EQ(run(text).size(), 1u) << text;
  }
  EXPECT_THAT(run("# nothing\n"), ElementsAre(HasSubstr("has no step")));
}

TEST(CaseRunner, HoldsAReceiptAgainstWhatIsExpected) {
  const std::string json =
      R"({"receipt": {"mode": "auto", "routes": {"beside": 2, "folded": 0, "merged": 1},
          "adapters": [{"keys": {"total": 7, "applied": 3}}, {"keys": {"total": 2, "applied": 2}}]}})";
  const auto picture = io::encode_image(io::Image::blank(1, 1, 3), io::ImageFormat::kPng, {.text = {{"", json}}});
  ASSERT_TRUE(picture);
  const std::string path = testing::TempDir() + "veneer_receipt_" + std::to_string(getpid()) + ".png";
  ASSERT_TRUE(write_file_atomically(path, picture->bytes));
  const std::string step = "copy " + path + " a.png\nexpect a.png receipt ";
  EXPECT_THAT(run(step + "applied=5/9 routes=beside,merged adapters=2 mode=auto"), IsEmpty());
  for (const char* wrong : {"applied=all", "routes=beside", "adapters=1", "mode=immediately", "nothing=1", "mode"})
    EXPECT_THAT(run(step + wrong), ElementsAre(HasSubstr("t:2: "))) << wrong;
  std::filesystem::remove(path);
  EXPECT_THAT(run("copy ${DATA}/demo-reference/base-euler-0.png a.png\nexpect a.png receipt applied=all"),
              ElementsAre(HasSubstr("a.png carries no receipt")));
}

TEST(CaseRunner, StopsAProgramAtItsLimit) {
  EXPECT_THAT(run("run -c 'exec sleep 60'\nexit 137", std::chrono::seconds(1)),
              ElementsAre(HasSubstr("not done after 1 seconds")));
}

TEST(CaseRunner, InterruptsWhenTheTextAppears) {
  EXPECT_THAT(
      run("interrupt after ready\nrun -c 'trap \"exit 130\" INT; echo ready >&2; while :; do sleep 0.05; done'\n"
          "exit 130"),
      IsEmpty());
}

TEST(CaseRunner, WorksInAFolderThatIsGoneAfterwards) {
  EXPECT_THAT(run("run -c 'test -z \"$(ls -A)\"'\nwrite left behind"), IsEmpty());
  EXPECT_THAT(run("run -c 'test -z \"$(ls -A)\"'"), IsEmpty());
}

}  // namespace
}  // namespace veneer::cases
