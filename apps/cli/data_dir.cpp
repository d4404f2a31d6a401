// Finding the data folder on Linux.
#include "data_dir.h"

#include <cstdlib>

namespace veneer::cli {

namespace fs = std::filesystem;

fs::path find_data_dir(const char* variable, const fs::path& program_folder) {
  if (variable != nullptr && *variable != '\0') return variable;
  std::error_code ignored;
  const fs::path installed = (program_folder / ".." / "share" / "veneer").lexically_normal();
  const fs::path built = program_folder / "data";
  return !fs::exists(installed, ignored) && fs::exists(built, ignored) ? built : installed;
}

fs::path data_dir() {
  std::error_code ignored;  // without /proc the relative paths are tried from the current folder
  return find_data_dir(std::getenv("VENEER_DATA_DIR"), fs::read_symlink("/proc/self/exe", ignored).parent_path());
}

fs::path embedded_model(const fs::path& data) { return data / "models" / kEmbeddedModel; }

fs::path model_named(const fs::path& given, const fs::path& data) {
  std::error_code ignored;
  return given == kEmbeddedModel && !fs::exists(given, ignored) ? embedded_model(data) : given;
}

}  // namespace veneer::cli
