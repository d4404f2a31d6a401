// Options about adapters that drawing and the `adapters` commands share.
#pragma once

#include "core/format.h"
#include "options.h"
#include "pipeline/request.h"

namespace veneer::cli {

// Words of an enumeration, by the function that knows them.
template <typename T>
Setter word_of(T& target, std::optional<T> (*from)(std::string_view), const char* words) {
  return [&target, from, words](const std::string& value) -> Status {
    const std::optional<T> found = from(value);
    if (!found) return Error{ErrorCode::kUsage, concat("expected ", words, ", found \"", value, "\""), {}};
    target = *found;
    return {};
  };
}

// --adapter, --adapter-dir, --adapter-policy and --dora.
std::vector<Option> adapter_options(pipeline::AdapterOrder& order, std::filesystem::path& directory);

}  // namespace veneer::cli
