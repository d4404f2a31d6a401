// Looking a name up in a folder's constant list, and the error when it is not there. Used by the lists of generators,
// predictions, schedules and samplers, so that all of them answer an unknown name alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::sample {

// kUsage: `<what> "<name>": is not known; did you mean <nearest>? (known: ...)`.
Error unknown_name(std::string_view what, std::string_view name, std::span<const std::string> known);

// The row whose member `name` equals `name`, or an error. `Row` needs a member `name`.
template <typename Row>
Result<const Row*> row_named(std::span<const Row> rows, std::string_view what, std::string_view name) {
  std::vector<std::string> known;
  for (const Row& row : rows) {
    if (row.name == name) return &row;
    known.emplace_back(row.name);
  }
  return unknown_name(what, name, known);
}

}  // namespace veneer::sample
