// Reading of carried configurations.
#include "io/carried_config.h"

#include <algorithm>

#include "core/format.h"

namespace veneer::io {
namespace {

// An empty object where the file carries nothing.
Result<Json> carried_by(const ModelPart& part) {
  const auto found = part.weights.metadata().find(kCarriedConfig);
  if (found == part.weights.metadata().end()) return Json(Json::object());
  const std::string place = concat(part.source, ": metadata ", kCarriedConfig);
  VENEER_TRY(json, parse_json(found->second, place));
  const bool objects =
      json.is_object() && std::ranges::all_of(json, [](const Json& config) { return config.is_object(); });
  if (!objects) return Error{ErrorCode::kBadFile, concat(place, ": expected an object of objects"), part.source};
  return json;
}

}  // namespace

Status take_carried_config(ModelFiles& files) {
  for (auto& [part, content] : files.parts) {
    VENEER_TRY(carried, carried_by(content));
    const std::string key(name_of(part));
    if (content.config.is_null() && carried.contains(key)) content.config = carried[key];
    if (files.scheduler_config.is_null() && carried.contains(kCarriedScheduler))
      files.scheduler_config = carried[kCarriedScheduler];
  }
  return {};
}

}  // namespace veneer::io
