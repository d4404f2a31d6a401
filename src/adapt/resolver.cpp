// The table of names, and the sorting of a file's modules by the places that they mean.
#include "adapt/resolver.h"

#include <algorithm>

#include "adapt/block_weights.h"
#include "core/format.h"

namespace veneer::adapt {
namespace {

std::string table_key(io::Part part, std::string_view name) {
  return concat(static_cast<int>(part), '/', underscored(name));
}

bool same_place(const nn::Spelling& a, const nn::Spelling& b) {
  return a.ranges == b.ranges && a.swap_halves == b.swap_halves;
}

bool same_content(const KeyPart& a, const KeyPart& b) {
  return a.type == b.type && a.weight.shape == b.weight.shape && std::ranges::equal(a.weight.bytes, b.weight.bytes);
}

std::vector<Site> sites_of(const nn::Spelling& target) {
  std::vector<Site> sites;
  for (const nn::RowRange& range : target.ranges) sites.push_back({range.layer, range.first, range.count});
  return sites;
}

std::string first_layer_name(const nn::Spelling& target) { return target.ranges.front().layer->name; }

// Whether low-rank factors have the outer sizes of the layer; true as well when they are no matrices, which is for the
// family to say.
bool factors_fit(const KeyGroup& keys, const nn::Layer& layer) {
  const KeyPart* down = keys.find("down");
  const KeyPart* up = keys.find("up");
  return (!down || down->weight.shape.rank() < 2 || down->weight.shape[1] == layer.in()) &&
         (!up || up->weight.shape.rank() < 2 || up->weight.shape[0] == layer.out());
}

// Lays one more module's parts over those for the same place. The keys of a pair that differs, or nothing.
std::vector<std::string> merge(const KeyGroup& more, SiteKeys& site, std::vector<IgnoredKey>& ignored) {
  for (const auto& [name, part] : more.parts) {
    const auto [held, added] = site.keys.parts.emplace(name, part);
    if (added) continue;
    if (!same_content(held->second, part)) return {held->second.key, part.key};
    ignored.push_back({part.key, concat("the same as ", held->second.key)});
  }
  site.keys.settings.is_peft |= more.settings.is_peft;
  return {};
}

std::vector<std::string> keys_of(const KeyGroup& group) {
  std::vector<std::string> keys;
  for (const auto& [name, part] : group.parts) keys.push_back(part.key);
  return keys;
}

// All modules of a file that mean the same place.
struct Place {
  const nn::Spelling* target = nullptr;
  std::vector<const AdapterModule*> modules;
};

void add_place(const Place& place, Resolution& out) {
  SiteKeys site{place.target, sites_of(*place.target), place.modules.front()->keys};
  std::vector<IgnoredKey> equal;
  std::vector<std::string> differing;
  for (size_t i = 1; i < place.modules.size() && differing.empty(); ++i)
    differing = merge(place.modules[i]->keys, site, equal);
  if (differing.empty()) {
    out.sites.push_back(std::move(site));
    out.ignored.insert(out.ignored.end(), equal.begin(), equal.end());
    return;
  }
  for (const AdapterModule* module : place.modules)
    for (std::string& key : keys_of(module->keys))
      if (std::ranges::find(differing, key) == differing.end()) differing.push_back(std::move(key));
  out.contradictions.push_back({place.target, std::move(differing)});
}

}  // namespace

Result<Resolver> Resolver::build(nn::NameTable table) {
  Resolver resolver;
  resolver.table_ = std::move(table);
  const auto& spellings = resolver.table_.spellings;
  std::unordered_map<const nn::Layer*, std::vector<size_t>> firsts;  // the places that begin with this layer
  for (size_t i = 0; i < spellings.size(); ++i) {
    const nn::Spelling& spelling = spellings[i];
    std::vector<size_t>& places = firsts[spelling.ranges.front().layer];
    auto place = std::ranges::find_if(places, [&](size_t j) { return same_place(spellings[j], spelling); });
    if (place == places.end()) place = places.insert(places.end(), i);
    const auto [held, added] = resolver.by_name_.emplace(table_key(spelling.part, spelling.name), *place);
    if (!added && held->second != *place)
      return Error{ErrorCode::kBug,
                   concat("layers ", first_layer_name(spellings[held->second]), " and ", first_layer_name(spelling),
                          ": share the name ", spelling.name),
                   spelling.name};
    resolver.loaded_.insert(spelling.part);
    const std::string block = original_block(spelling.name);
    if (block.empty()) continue;
    for (const nn::RowRange& range : spelling.ranges) resolver.blocks_.emplace(range.layer, block);
  }
  return resolver;
}

const nn::Spelling* Resolver::lookup(io::Part part, std::string_view module) const {
  const auto found = by_name_.find(table_key(part, module));
  return found == by_name_.end() ? nullptr : &table_.spellings[found->second];
}

const nn::Spelling* Resolver::find(std::string_view prefix, std::string_view module) const {
  // Some trainers write the underscore between prefix and module twice.
  if (prefix.ends_with('_') && module.starts_with('_')) module.remove_prefix(1);
  for (const io::Part part : parts_of(prefix))
    if (const nn::Spelling* found = lookup(part, module)) return found;
  return nullptr;
}

std::optional<io::Part> Resolver::missing_component(std::string_view prefix) const {
  std::optional<io::Part> missing;
  for (const io::Part part : parts_of(prefix)) {
    if (loaded_.contains(part)) return std::nullopt;
    if (!missing && std::ranges::find(table_.parts, part) != table_.parts.end()) missing = part;
  }
  return missing;
}

Status Resolver::check_numbered(const Adapter& adapter) const {
  for (const AdapterModule& module : adapter.modules) {
    if (!is_numbered(module.name)) continue;
    const nn::Spelling* target = find(module.prefix, module.name);
    if (target ? factors_fit(module.keys, *target->ranges.front().layer) : missing_component(module.prefix).has_value())
      continue;
    return Error{ErrorCode::kMismatch,
                 concat("adapter ", adapter.name, ": modules are given by number, and ", module.keys.module,
                        target ? concat(" does not fit ", first_layer_name(*target)) : " is beyond the last one",
                        "; the file is made for another model"),
                 adapter.path.string()};
  }
  return {};
}

Result<Resolution> Resolver::resolve(const Adapter& adapter) const {
  VENEER_TRY_STATUS(check_numbered(adapter));
  Resolution out;
  out.ignored = adapter.ignored;
  std::vector<Place> places;  // in the order of the file
  std::unordered_map<const nn::Spelling*, size_t> index;
  for (const AdapterModule& module : adapter.modules) {
    if (const nn::Spelling* target = find(module.prefix, module.name)) {
      const auto [held, added] = index.emplace(target, places.size());
      if (added) places.push_back({target, {}});
      places[held->second].modules.push_back(&module);
    } else if (const auto missing = missing_component(module.prefix)) {
      for (std::string& key : keys_of(module.keys))
        out.ignored.push_back({std::move(key), concat(io::name_of(*missing), " is not loaded")});
    } else {
      out.unmatched.push_back(&module);
    }
  }
  for (const Place& place : places) add_place(place, out);
  return out;
}

std::vector<std::string> Resolver::nearest(const AdapterModule& module, size_t count) const {
  const auto parts = parts_of(module.prefix);
  const bool dotted = module.name.find('.') != std::string::npos;
  std::vector<std::string> candidates;
  for (const nn::Spelling& spelling : table_.spellings)
    if (std::ranges::find(parts, spelling.part) != parts.end() && !is_numbered(spelling.name))
      candidates.push_back(dotted ? spelling.name : underscored(spelling.name));
  std::vector<std::string> names = nearest_names(module.name, candidates, count);
  for (std::string& name : names) name.insert(0, module.prefix);
  return names;
}

std::vector<int64_t> Resolver::token_widths() const {
  std::vector<int64_t> widths;
  for (const io::Part part : {io::Part::kTextEncoder, io::Part::kTextEncoder2})
    if (const nn::Spelling* tokens = lookup(part, "text_model.embeddings.token_embedding"))
      widths.push_back(tokens->ranges.front().layer->weight.row_values());
  return widths;
}

std::string_view Resolver::block_of(const nn::Layer& layer) const {
  const auto found = blocks_.find(&layer);
  return found == blocks_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace veneer::adapt
