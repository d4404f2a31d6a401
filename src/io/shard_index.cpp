// Shard indexes. The paths in them are foreign input: only plain relative ones are followed.
#include "io/shard_index.h"

#include <filesystem>

#include "core/format.h"
#include "core/json.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

// By the text alone: a link inside the folder may point elsewhere, as those of download caches do.
bool stays_inside(const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  return !file.empty() && file.find('\0') == std::string::npos && path.is_relative() && path.has_filename() &&
         path != "." && *path.begin() != "..";
}

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view text, std::string_view name) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::kBadFile, concat(name, ": ", what), std::string(name)};
  };
  VENEER_TRY(json, parse_json(text, name));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object())
    return bad("is not a shard index: expected an object with an object \"weight_map\"");
  ShardIndex index;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      return bad(concat("tensor ", printable(tensor), ": its shard must be a file name, found ", file.type_name()));
    const std::string& shard = file.get_ref<const std::string&>();
    if (!stays_inside(shard))
      return bad(concat("tensor ", printable(tensor), ": the shard \"", printable(shard),
                        "\" is not inside the folder of the index"));
    index[shard].push_back(tensor);
  }
  if (index.empty()) return bad("\"weight_map\" names no tensor");
  return index;
}

}  // namespace veneer::io
