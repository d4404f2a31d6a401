// Other values for some weights of a conversion, and a say in whether its output is kept: what merging adapters adds to
// converting. A conversion without changes knows nothing of it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/convert_input.h"

namespace veneer::pipeline {

// A change that is up [rows, rank] x down [rank, row values].
struct LowRankChange {
  std::vector<float> up, down;
  int64_t rank = 0;
};

struct WeightChange {
  Shape shape;  // of the layer, which the file may not tell
  // New values of rows [first, first + count), [count, row values]. Any thread.
  std::function<void(int64_t first, int64_t count, float* out)> rows;
  // The whole change, where it has this form. Formats with side factors (SDNQ) keep it there, and the codes that the
  // weight without it has.
  std::optional<LowRankChange> low_rank;
};

struct ConvertChanges {
  // For a tensor by its full name in the component's file; null for one that stays.
  std::function<const WeightChange*(const ConvertComponent& component, std::string_view name)> find;
  // Called with the whole output, still under a temporary name; an error removes it.
  std::function<Status(const std::filesystem::path& written)> approve;
};

}  // namespace veneer::pipeline
