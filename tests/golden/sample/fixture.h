// Reading the reference numbers in tests/data/sampling.
#pragma once

#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace veneer::sample {

inline Json fixture(const std::string& name) {
  const std::string path = std::string(VENEER_SOURCE_DIR) + "/tests/data/sampling/" + name;
  const Result<std::string> text = read_text_file(path);
  if (!text) throw std::runtime_error(text.error().message);
  Result<Json> json = parse_json(*text, name);
  if (!json) throw std::runtime_error(json.error().message);
  return *json;
}

inline std::vector<float> floats(const Json& array) { return array.get<std::vector<float>>(); }

}  // namespace veneer::sample
