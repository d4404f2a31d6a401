// Looking for adapter files.
#include "adapt/library.h"

#include <algorithm>
#include <functional>

#include "adapt/adapter.h"
#include "core/format.h"
#include "io/container.h"
#include "io/printable.h"

namespace veneer::adapt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtensions[] = {".gguf", ".safetensors", ".pt", ".ckpt"};
constexpr size_t kHashDigits = 8;
constexpr size_t kSuggestions = 3;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool leads_out(const fs::path& name) {
  return name.is_absolute() || std::ranges::find(name, fs::path("..")) != name.end();
}

bool looks_like_hash(std::string_view name) {
  return name.size() >= kHashDigits && name.size() <= 64 &&
         name.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string alias_of(const fs::path& file) {
  const auto store = io::open_weights(file);
  return store ? trainer_facts(store->metadata()).alias : "";
}

bool has_hash(const fs::path& file, const std::string& digits) {
  const auto adapter = open_adapter(file);
  return adapter && ((*adapter)->sha256.starts_with(digits) || (*adapter)->auto_v3.starts_with(digits));
}

Error usage(std::string_view name, std::string_view problem) {
  return {ErrorCode::kUsage, concat("adapter ", io::printable(name), ": ", problem), std::string(name)};
}

}  // namespace

bool is_weight_file(const fs::path& path) {
  return std::ranges::find(kExtensions, lower_ascii(path.extension().string())) != std::end(kExtensions) &&
         is_file(path);
}

std::vector<fs::path> Library::files() const {
  std::vector<fs::path> out;
  std::error_code error;
  fs::recursive_directory_iterator it(directory_, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error))
    if (is_weight_file(it->path())) out.push_back(it->path());
  std::ranges::sort(out);
  return out;
}

// Where a name can lie as a path, best first.
std::vector<fs::path> Library::places_of(std::string_view name) const {
  std::vector<fs::path> bases;
  if (!directory_.empty()) bases.push_back(directory_ / name);
  if (reach_ == Reach::kAnywhere) bases.emplace_back(name);
  std::vector<fs::path> places = bases;
  for (const fs::path& base : bases)
    for (const std::string_view extension : kExtensions) places.push_back(fs::path(base) += extension);
  return places;
}

// The only file of `all` with this name; empty when there is none.
Result<fs::path> Library::find_by_name(std::string_view name, const std::vector<fs::path>& all) const {
  using NameOf = std::function<std::string(const fs::path&)>;
  const NameOf names[] = {
      [&](const fs::path& file) { return inner_path(file).string(); },
      [&](const fs::path& file) { return inner_path(file).replace_extension().string(); },
      [](const fs::path& file) { return file.stem().string(); },
      alias_of,
  };
  for (const bool any_case : {false, true})
    for (const NameOf& name_of : names) {
      std::vector<std::string> found;
      for (const fs::path& file : all) {
        const std::string other = name_of(file);
        if (any_case ? lower_ascii(other) == lower_ascii(name) : other == name)
          found.push_back(inner_path(file).string());
      }
      if (found.size() == 1) return directory_ / found.front();
      if (found.size() > 1)
        return usage(name, concat("several files have this name: ", join(found, ", "), "; give the path of one"));
    }
  return fs::path();
}

Error Library::not_found(std::string_view name, const std::vector<fs::path>& all) const {
  std::vector<std::string> candidates;
  for (const fs::path& file : all) candidates.push_back(inner_path(file).replace_extension().string());
  const std::vector<std::string> near = nearest_names(name, candidates, kSuggestions);
  // A stranger is not told where the directory is.
  const std::string where =
      reach_ == Reach::kAnywhere && !directory_.empty() ? concat(" in ", directory_.string()) : "";
  return {ErrorCode::kNotFound,
          concat("can not find lora ", io::printable(name), ": no file of this name", where,
                 near.empty() ? "" : concat("; nearest: ", join(near, ", "))),
          std::string(name)};
}

Result<fs::path> Library::find(std::string_view name) const {
  if (name.empty() || name.find('\0') != std::string_view::npos) return usage(name, "no file can have this name");
  if (reach_ == Reach::kInsideDirectory && leads_out(name))
    return usage(name, "leads out of the adapter directory; give a name inside it");
  for (const fs::path& place : places_of(name))
    if (is_file(place)) return place;
  const std::vector<fs::path> all = files();
  VENEER_TRY(found, find_by_name(name, all));
  if (!found.empty()) return found;
  if (looks_like_hash(name))
    for (const fs::path& file : all)
      if (has_hash(file, lower_ascii(name))) return file;
  return not_found(name, all);
}

}  // namespace veneer::adapt
