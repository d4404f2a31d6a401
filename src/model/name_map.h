// Translates tensor names from the spelling of a file to the canonical one, by prefix at dots: the longest known prefix
// is replaced, the rest stays. Modules that the file holds fused are taken apart, as views of their rows. Built from
// what the file holds, never from fixed tables.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_store.h"

namespace veneer::model {

// Names of tensors or modules ("conv_in.weight", "conv_in").
using NameSet = std::set<std::string, std::less<>>;
NameSet names_of(const io::WeightStore& store);

// Some rows of a fused module, and the name that they go by.
struct FusedPart {
  std::string name;
  int64_t rows;
};

class NameMap {
 public:
  void add(std::string from, std::string to) { map_[std::move(from)] = std::move(to); }
  // Rows of `from`'s tensors ("a.qkv" has a.qkv.weight and a.qkv.bias), one part after the other: the first part begins
  // at row `first`, and the last row is followed by row 0. Only `apply` takes modules apart.
  void add_fused(std::string from, std::vector<FusedPart> parts, int64_t first = 0) {
    fused_[std::move(from)] = {std::move(parts), first};
  }
  // "a.b.weight" with a.b -> x gives "x.weight"; a name without a known prefix stays as it is.
  std::string operator()(std::string_view name) const;
  // A tensor that has not as many rows as its parts together goes under the name of each part as it is, so that whoever
  // wants the part finds what is wrong with its shape.
  io::WeightStore apply(const io::WeightStore& store) const;
  // The way back of what was added with `add`; no two names may lead to one.
  NameMap inverted() const;

 private:
  struct Fused {
    std::vector<FusedPart> parts;
    int64_t first = 0;
  };
  const Fused* fused_of(std::string_view tensor) const;

  std::map<std::string, Fused, std::less<>> fused_;
  std::map<std::string, std::string, std::less<>> map_;
};

// True when some name starts with `prefix`.
bool has_prefix(const NameSet& names, std::string_view prefix);
bool has_prefix(const io::WeightStore& store, std::string_view prefix);

}  // namespace veneer::model
