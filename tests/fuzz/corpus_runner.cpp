// Stands in for libFuzzer where there is none: feeds each file of the folders named on the command line to the fuzz
// target once. A target fails by crashing, so the sanitizer builds run this too. Finding no file is a failure.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::filesystem::path> files_under(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void feed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto files = files_under(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s: no corpus file there\n", argv[i]);
      return 1;
    }
    for (const auto& file : files) feed(file);
    std::printf("%s: %zu inputs\n", argv[i], files.size());
  }
  return argc > 1 ? 0 : 1;
}
