// The steps of a case, one function each, and the table that names them.
#include "runner.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <span>

#include "core/files.h"
#include "core/format.h"
#include "core/json.h"
#include "io/image.h"
#include "pictures.h"
#include "process.h"

namespace veneer::cases {
namespace {

namespace fs = std::filesystem;
using Words = std::span<const std::string>;  // what follows the directive

Error misuse(std::string message) { return {ErrorCode::kUsage, std::move(message), {}}; }
Error unmet(std::string message) { return {ErrorCode::kVerifyFailed, std::move(message), {}}; }
Status require(bool holds, std::string message) { return holds ? Status{} : unmet(std::move(message)); }

// An empty folder that is removed with all it holds.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "veneer-case-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class Case {
 public:
  explicit Case(const Setting& setting) : setting_(setting) {}

  // The error is `verify_failed` when an expectation was not met; with any other the case cannot go on.
  Status carry_out(const Step& step);
  // What the last run was and said, for the message of an expectation that did not hold.
  std::string last_run() const {
    if (!command_) return {};
    return concat("\n  after: ", *command_, "\n  exit ", outcome_.exit_code, "\n  stdout: ", outcome_.out,
                  "\n  stderr: ", outcome_.err);
  }
  bool has_folder() const { return !folder_.path().empty(); }

 private:
  Status run(Words arguments);
  Status exit(Words words);
  Status out(Words words);
  Status err(Words words) { return text_check(outcome_.err, words); }
  Status json(Words words);
  Status interrupt(Words words);
  Status expect(Words words);
  Status receipt(Words words);
  Status size(Words words);
  Status exists(Words words) { return require(fs::exists(file(words[0])), concat(words[0], " does not exist")); }
  Status absent(Words words) { return require(!fs::exists(file(words[0])), concat(words[0], " exists")); }
  Status copy(Words words);
  Status truncate(Words words);
  Status write(Words words);

  static Status text_check(const std::string& text, Words words);
  fs::path file(const std::string& name) const { return folder_.path() / name; }

  struct Directive {
    std::string_view name;
    size_t fewest_words;
    Status (Case::*carry_out)(Words);
  };
  static const Directive kDirectives[];

  const Setting& setting_;
  ScratchFolder folder_;
  std::string interrupt_after_;         // for the next run
  std::optional<std::string> command_;  // the last run
  Outcome outcome_;
};

const Case::Directive Case::kDirectives[] = {
    {"run", 0, &Case::run},       {"exit", 1, &Case::exit}, {"stdout", 1, &Case::out},
    {"stderr", 1, &Case::err},    {"json", 2, &Case::json}, {"interrupt", 2, &Case::interrupt},
    {"expect", 3, &Case::expect}, {"size", 2, &Case::size}, {"exists", 1, &Case::exists},
    {"absent", 1, &Case::absent}, {"copy", 2, &Case::copy}, {"truncate", 2, &Case::truncate},
    {"write", 2, &Case::write},
};

Status Case::carry_out(const Step& step) {
  const Words words = Words(step.words).subspan(1);
  for (const Directive& directive : kDirectives) {
    if (directive.name != step.words[0]) continue;
    if (words.size() < directive.fewest_words) return misuse(concat(directive.name, " needs more words"));
    return (this->*directive.carry_out)(words);
  }
  return misuse(concat("there is no directive '", step.words[0], "'"));
}

Status Case::run(Words arguments) {
  command_ = join(arguments, " ");
  VENEER_TRY(outcome, run_command({.program = setting_.program,
                                   .arguments = {arguments.begin(), arguments.end()},
                                   .folder = folder_.path(),
                                   .limit = setting_.limit,
                                   .interrupt_after = std::exchange(interrupt_after_, {})}));
  outcome_ = std::move(outcome);
  return require(!outcome_.timed_out, concat("was not done after ", setting_.limit.count(), " seconds"));
}

Status Case::exit(Words words) {
  return require(std::to_string(outcome_.exit_code) == words[0],
                 concat("exits with ", outcome_.exit_code, ", expected ", words[0]));
}

// contains TEXT | lacks TEXT | is TEXT | empty
Status Case::text_check(const std::string& text, Words words) {
  const std::string& check = words[0];
  if (check == "empty") return require(text.empty(), "is not empty");
  if (words.size() < 2) return misuse(concat("'", check, "' is no check, or lacks its text"));
  if (check == "contains") return require(contains(text, words[1]), concat("does not contain '", words[1], "'"));
  if (check == "lacks") return require(!contains(text, words[1]), concat("contains '", words[1], "'"));
  if (check == "is") return require(text == words[1], concat("is not '", words[1], "'"));
  return misuse(concat("there is no check '", check, "'"));
}

// Also: json | to FILE
Status Case::out(Words words) {
  if (words[0] == "json") {
    const auto parsed = parse_json(outcome_.out, "stdout");
    return require(parsed && parsed->is_object(), "is not one JSON object");
  }
  if (words[0] == "to" && words.size() > 1) return write_file_atomically(file(words[1]), outcome_.out);
  return text_check(outcome_.out, words);
}

// json POINTER VALUE: strings are compared as they are, anything else as it is written.
Status Case::json(Words words) {
  const auto parsed = parse_json(outcome_.out, "stdout");
  if (!parsed) return unmet(parsed.error().message);
  if (!words[0].starts_with('/')) return misuse("json POINTER VALUE; a pointer starts with /");
  const Json::json_pointer pointer(words[0]);
  if (!parsed->contains(pointer)) return unmet(concat("stdout has no ", words[0]));
  const Json& value = parsed->at(pointer);
  const std::string found = value.is_string() ? value.get<std::string>() : value.dump();
  return require(found == words[1], concat(words[0], " is ", found, ", expected ", words[1]));
}

Status Case::interrupt(Words words) {
  if (words[0] != "after") return misuse("interrupt after TEXT");
  interrupt_after_ = words[1];
  return {};
}

// How many keys of how many had an effect ("all" when none was left), and the routes that layers took.
std::string fact_of(const Json& receipt, std::string_view name) {
  int64_t applied = 0, total = 0;
  for (const Json& adapter : receipt["adapters"]) {
    applied += adapter["keys"]["applied"].get<int64_t>();
    total += adapter["keys"]["total"].get<int64_t>();
  }
  if (name == "applied") return applied == total ? "all" : concat(applied, "/", total);
  if (name == "adapters") return std::to_string(receipt["adapters"].size());
  std::vector<std::string> taken;
  for (const auto& [route, layers] : receipt["routes"].items())
    if (layers.get<int64_t>() > 0) taken.push_back(route);
  return name == "routes" ? join(taken, ",") : receipt.value(std::string(name), "");
}

// A receipt NAME=VALUE...
Status Case::receipt(Words words) {
  VENEER_TRY(receipt, receipt_of(file(words[0])));
  for (const std::string& word : words.subspan(2)) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return misuse(concat("'", word, "' is not NAME=VALUE"));
    const std::string found = fact_of(receipt, word.substr(0, equals));
    VENEER_TRY_STATUS(require(found == word.substr(equals + 1),
                              concat(words[0], ": ", word.substr(0, equals), " is ", found, ", expected ", word)));
  }
  return {};
}

// A identical B | A differs B | A within LIMIT B | A same-bytes B | A receipt FACT...
Status Case::expect(Words words) {
  const std::string& relation = words[1];
  if (relation == "receipt") return receipt(words);
  const fs::path a = file(words[0]), b = file(words.back());
  if (relation == "same-bytes") {
    VENEER_TRY(left, read_text_file(a));
    VENEER_TRY(right, read_text_file(b));
    return require(left == right, concat(words[0], " and ", words.back(), " are not the same bytes"));
  }
  VENEER_TRY(difference, mean_difference(a, b));
  const std::string found = concat(words[0], " and ", words.back(), " differ by ", difference, " on average");
  if (relation == "identical") return require(difference == 0, found);
  if (relation == "differs") return require(difference != 0, found);
  double limit = 0;
  if (relation == "within" && words.size() == 4 && parse_number(words[2], limit)) {
    return require(difference <= limit, concat(found, ", more than ", limit));
  }
  return misuse(concat("there is no relation '", relation, "', or it lacks its limit"));
}

Status Case::size(Words words) {
  VENEER_TRY(image, io::read_image(file(words[0])));
  const std::string found = concat(image.width, "x", image.height);
  return require(found == words[1], concat(words[0], " is ", found, ", expected ", words[1]));
}

Status Case::copy(Words words) {
  std::error_code error;
  fs::create_directories(file(words[1]).parent_path(), error);
  fs::copy(words[0], file(words[1]), fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
  if (error) return misuse(concat(words[0], " cannot be copied: ", error.message()));
  return {};
}

// A negative size is counted from the end.
Status Case::truncate(Words words) {
  std::error_code error;
  int64_t size = 0;
  if (!parse_number(words[1], size)) return misuse(concat(words[1], " is no number of bytes"));
  if (size < 0) size += static_cast<int64_t>(fs::file_size(file(words[0]), error));
  if (!error) fs::resize_file(file(words[0]), static_cast<uintmax_t>(size), error);
  if (error) return misuse(concat(words[0], " cannot be cut: ", error.message()));
  return {};
}

Status Case::write(Words words) { return write_file_atomically(file(words[0]), std::string_view(words[1])); }

// A run that no `exit` follows must succeed.
std::vector<Step> with_exits(std::vector<Step> steps) {
  std::vector<Step> complete;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool needs_exit = steps[i].words[0] == "run" && (i + 1 == steps.size() || steps[i + 1].words[0] != "exit");
    const int line = steps[i].line;
    complete.push_back(std::move(steps[i]));
    if (needs_exit) complete.push_back({line, {"exit", "0"}});
  }
  return complete;
}

}  // namespace

std::vector<std::string> run_case(std::string_view text, std::string_view name, const Setting& setting) {
  auto steps = parse_case(text, setting.variables, name);
  if (!steps) return {steps.error().message};
  if (steps->empty()) return {concat(name, ": has no step")};

  Case current(setting);
  if (!current.has_folder()) return {concat(name, ": no folder to work in could be made")};
  std::vector<std::string> failures;
  for (const Step& step : with_exits(*std::move(steps))) {
    const Status status = current.carry_out(step);
    if (status) continue;
    const std::string place = concat(name, ":", step.line, ": ", step.words[0], ": ");
    failures.push_back(concat(place, status.error().message, current.last_run()));
    if (status.error().code != ErrorCode::kVerifyFailed) break;
  }
  return failures;
}

}  // namespace veneer::cases
