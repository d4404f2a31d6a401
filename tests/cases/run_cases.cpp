// One test for each *.case file of this folder and its sub-folders, against the program of this build.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/files.h"
#include "runner/runner.h"

namespace veneer::cases {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(VENEER_SOURCE_DIR) / "tests" / "cases";

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".case") files.push_back(fs::relative(entry.path(), kFolder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Product : public testing::TestWithParam<fs::path> {};

TEST_P(Product, BehavesAsTheCaseSays) {
  const auto text = read_text_file(kFolder / GetParam());
  ASSERT_TRUE(text) << text.error().message;
  const Setting setting{.program = VENEER_PROGRAM,
                        .variables = {{"MODEL", VENEER_SOURCE_DIR "/models/emoji-v1"},
                                      {"ADAPTERS", VENEER_SOURCE_DIR "/models/adapters"},
                                      {"DATA", VENEER_SOURCE_DIR "/tests/data"}},
                        // A run takes a second or two; sanitizers on a busy machine take their time.
                        .limit = std::chrono::seconds(300)};
  for (const std::string& failure : run_case(*text, GetParam().string(), setting)) ADD_FAILURE() << failure;
}

std::string test_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name = fs::path(info.param).replace_extension().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Product, testing::ValuesIn(case_files()), test_name);

}  // namespace
}  // namespace veneer::cases
