// Prefix translation of tensor names, and fused modules taken apart.
#include "model/name_map.h"

#include <algorithm>

#include "codec/row_view.h"

namespace veneer::model {
namespace {

constexpr int64_t kNoRows = -1;  // that no tensor has

// `entry` as rows [first, first + rows) of a fused tensor that has `all` rows; as it is when it has another number.
io::Entry part_of(const io::Entry& entry, int64_t first, int64_t rows, int64_t all) {
  io::Entry part = entry;
  codec::Weight& whole = part.weight;
  if (whole.codec == nullptr || whole.shape.rank() == 0) return part;
  if (whole.shape_is_open() && all > 0) whole.shape[0] = all;
  if (whole.rows() == all) part.weight = codec::rows_of(whole, first % all, rows);
  return part;
}

}  // namespace

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

const NameMap::Fused* NameMap::fused_of(std::string_view tensor) const {
  const auto found = fused_.find(tensor.substr(0, tensor.rfind('.')));
  return found == fused_.end() ? nullptr : &found->second;
}

io::WeightStore NameMap::apply(const io::WeightStore& store) const {
  io::WeightStore::Entries parts;
  for (const auto& [name, entry] : store.entries()) {
    const Fused* fused = fused_of(name);
    if (fused == nullptr) continue;
    int64_t all = 0, first = fused->first;
    for (const FusedPart& part : fused->parts) all += part.rows;
    if (std::ranges::any_of(fused->parts, [](const FusedPart& part) { return part.rows <= 0; })) all = kNoRows;
    for (const FusedPart& part : fused->parts) {
      parts.emplace(part.name + name.substr(name.rfind('.')), part_of(entry, first, part.rows, all));
      first += part.rows;
    }
  }
  const io::WeightStore others = store.renamed(
      [this](std::string_view name) { return fused_of(name) != nullptr ? std::string() : (*this)(name); });
  return parts.empty() ? others : others.layered({std::move(parts), {}, {}});
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
