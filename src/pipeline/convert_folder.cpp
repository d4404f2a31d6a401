// The files of a converted folder.
#include "pipeline/convert_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "core/format.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeightEnds[] = {".safetensors", ".gguf", ".bin", ".ckpt", ".pt", ".pth"};
constexpr std::string_view kConfigs[] = {"config.json", "quantization_config.json"};

// Removes the folder unless it was renamed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> beside(const fs::path& output) {
    std::error_code ignored;
    if (output.has_parent_path()) fs::create_directories(output.parent_path(), ignored);
    std::string name = output.string() + ".XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      return Error{ErrorCode::kIo, concat(output.string(), ": creating failed: ", std::strerror(errno)),
                   output.string()};
    fs::permissions(name,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                        fs::perms::others_exec,
                    ignored);
    return TemporaryFolder(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  const fs::path& path() const { return path_; }
  Status rename_to(const fs::path& output) {
    std::error_code failed;
    fs::rename(path_, output, failed);
    if (failed)
      return Error{ErrorCode::kIo, concat(output.string(), ": renaming into place failed: ", failed.message()),
                   output.string()};
    path_.clear();
    return {};
  }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

bool is_weights(const std::string& name) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  return std::ranges::any_of(kWeightEnds, ends) || contains(name, ".safetensors.index") ||
         name.ends_with(".bin.index.json");
}

// Whether a file of the source's folder is written anew: the weights and configurations of a component that has been
// converted. `inside` is its path in the folder.
bool is_replaced(const fs::path& inside, const std::set<std::string>& converted) {
  const std::string name = base_name(inside);
  const bool replaceable = is_weights(name) || std::ranges::find(kConfigs, name) != std::end(kConfigs);
  return replaceable && converted.contains(inside.parent_path().string());
}

Error copy_error(const fs::path& file, const std::error_code& failed) {
  return {ErrorCode::kIo, concat(file.string(), ": copying failed: ", failed.message()), file.string()};
}

Status copy_others(const fs::path& from, const fs::path& to, const std::set<std::string>& converted) {
  std::error_code failed;
  fs::recursive_directory_iterator entry(from, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const fs::path inside = entry->path().lexically_relative(from);
    if (!entry->is_regular_file(failed) || is_replaced(inside, converted)) continue;
    fs::create_directories((to / inside).parent_path(), failed);
    fs::copy_file(entry->path(), to / inside, failed);
    if (failed) return copy_error(entry->path(), failed);
  }
  return failed ? Status(copy_error(from, failed)) : Status();
}

Status write_configs(const ConvertFile& file, const fs::path& folder) {
  if (file.config.is_null()) return {};
  VENEER_TRY_STATUS(write_file_atomically(folder / kConfigs[0], file.config.dump(2) + "\n"));
  const auto quantization = file.config.find("quantization_config");
  if (quantization == file.config.end()) return {};
  return write_file_atomically(folder / kConfigs[1], quantization->dump(2) + "\n");
}

}  // namespace

Status check_is_new(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored) || fs::is_empty(folder, ignored)) return {};
  return Error{ErrorCode::kIo, concat(folder.string(), ": is there already and not empty; name a new folder"),
               folder.string()};
}

Status write_converted_folder(const ConvertInput& input, const ConvertPlan& plan, const fs::path& output,
                              ConvertWork& work, ConvertCounts& counts) {
  const fs::path place = output.has_filename() ? output : output.parent_path();  // without a slash at the end
  VENEER_TRY_STATUS(check_is_new(place));
  VENEER_TRY(folder, TemporaryFolder::beside(place));
  std::set<std::string> converted;
  for (const ConvertFile& file : plan.files) converted.insert(file.path.parent_path().string());
  VENEER_TRY_STATUS(copy_others(input.folder, folder.path(), converted));
  for (const ConvertFile& file : plan.files) {
    VENEER_TRY_STATUS(write_converted(file, folder.path() / file.path, work, counts));
    VENEER_TRY_STATUS(write_configs(file, (folder.path() / file.path).parent_path()));
  }
  return folder.rename_to(place);
}

}  // namespace veneer::pipeline
