// Translates tensor names from the spelling of a file to the canonical one, by prefix at dots: the longest known prefix
// is replaced, the rest stays. Built from what the file holds, never from fixed tables.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "io/weight_store.h"

namespace veneer::model {

// Names of tensors or modules ("conv_in.weight", "conv_in").
using NameSet = std::set<std::string, std::less<>>;
NameSet names_of(const io::WeightStore& store);

class NameMap {
 public:
  void add(std::string from, std::string to) { map_[std::move(from)] = std::move(to); }
  // "a.b.weight" with a.b -> x gives "x.weight"; a name without a known prefix stays as it is.
  std::string operator()(std::string_view name) const;
  io::WeightStore apply(const io::WeightStore& store) const;
  // The way back; no two names may lead to one.
  NameMap inverted() const;

 private:
  std::map<std::string, std::string, std::less<>> map_;
};

// True when some name starts with `prefix`.
bool has_prefix(const NameSet& names, std::string_view prefix);
bool has_prefix(const io::WeightStore& store, std::string_view prefix);

}  // namespace veneer::model
