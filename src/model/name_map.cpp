// Prefix translation of tensor names.
#include "model/name_map.h"

namespace veneer::model {

NameSet names_of(const io::WeightStore& store) {
  NameSet names;
  for (const auto& [name, entry] : store.entries()) names.insert(name);
  return names;
}

std::string NameMap::operator()(std::string_view name) const {
  for (size_t end = name.size(); end != std::string_view::npos && end > 0; end = name.rfind('.', end - 1)) {
    if (const auto found = map_.find(name.substr(0, end)); found != map_.end())
      return found->second + std::string(name.substr(end));
    if (end == 0) break;
  }
  return std::string(name);
}

io::WeightStore NameMap::apply(const io::WeightStore& store) const {
  return store.renamed([this](std::string_view name) { return (*this)(name); });
}

NameMap NameMap::inverted() const {
  NameMap back;
  for (const auto& [from, to] : map_) {
    VENEER_CHECK(!back.map_.contains(to));
    back.add(to, from);
  }
  return back;
}

bool has_prefix(const NameSet& names, std::string_view prefix) {
  const auto first = names.lower_bound(prefix);
  return first != names.end() && first->starts_with(prefix);
}

bool has_prefix(const io::WeightStore& store, std::string_view prefix) {
  const auto first = store.entries().lower_bound(prefix);
  return first != store.entries().end() && first->first.starts_with(prefix);
}

}  // namespace veneer::model
