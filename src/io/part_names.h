// What a tensor's name alone tells: the part it belongs to, or the rule by which it is left out.
#pragma once

#include <optional>
#include <string_view>

#include "io/model_files.h"

namespace veneer::io {

struct Place {
  Part part;
  std::string_view name;  // without the component's prefix; points into the full name
};
// Empty for a name with no known prefix.
std::optional<Place> place_of(std::string_view full_name);

// The part whose bare names these are, from tensors that every such part has; empty when none is recognised.
std::optional<Part> recognise_part(const WeightStore::Entries& bare);

// Tensors that no network needs: copies for training, schedules that follow from others, indices, towers for pictures.
bool is_ignored(std::string_view name);
// Takes out tensors that are needless only beside others of the same part, such as a second copy of an embedding.
// Returns how many.
int64_t drop_needless(Part part, WeightStore::Entries& entries);

bool is_marker(std::string_view full_name);

}  // namespace veneer::io
