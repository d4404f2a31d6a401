// One pass over a store: every tensor becomes part, marker, schedule, ignored or unused.
#include "io/single_file.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "io/part_names.h"

namespace veneer::io {
namespace {

constexpr std::string_view kAlphas = "alphas_cumprod";
constexpr int64_t kAlphaCount = 1000;
constexpr int64_t kMarkerLimit = 64;  // values; the largest known marker has four

bool is_clip(Part part) { return part == Part::kTextEncoder || part == Part::kTextEncoder2; }

class Sorter {
 public:
  Sorter(const WeightStore& store, const std::string& source) : store_(store), source_(source) {}

  ModelFiles run(std::optional<Part> bare_part) {
    for (const auto& [name, entry] : store_.entries()) take(name, entry);
    take_bare(bare_part);
    for (auto& [part, entries] : sorted_) {
      files_.ignored_tensors += drop_needless(part, entries);
      WeightStore weights(std::move(entries), store_.metadata(), store_.files());
      if (!weights.empty()) files_.parts.emplace(part, ModelPart{std::move(weights), Json(), source_});
    }
    return std::move(files_);
  }

 private:
  void take(const std::string& name, const Entry& entry) {
    const std::optional<Place> place = place_of(name);
    if (is_ignored(place ? place->name : std::string_view(name)))
      ++files_.ignored_tensors;
    else if (name == kAlphas)
      take_alphas(entry);
    else if (is_marker(name))
      take_marker(name, entry);
    else if (!place)
      bare_.emplace(name, entry);
    else if (!sorted_[place->part].emplace(place->name, entry).second)
      files_.unused_tensors.push_back(name);  // another prefix of this part has given the same name
  }

  void take_alphas(const Entry& entry) {
    const codec::Weight& weight = entry.weight;
    const auto in_range = [](float v) { return std::isfinite(v) && v > 0.0f && v <= 1.0f; };
    if (weight.codec && weight.elements() == kAlphaCount) {
      const std::vector<float> values = weight.decode_all();
      if (std::all_of(values.begin(), values.end(), in_range)) {
        files_.alphas_cumprod.emplace(values.begin(), values.end());
        return;
      }
    }
    files_.warnings.push_back(concat(source_, ": ", kAlphas, " is ignored: expected ", kAlphaCount,
                                     " finite numbers above 0 and up to 1, found ", entry.type_name, " ",
                                     weight.shape.to_string(), "; the computed schedule is used"));
  }

  void take_marker(const std::string& name, const Entry& entry) {
    const int64_t values = entry.weight.elements();
    const bool readable = entry.weight.codec && values > 0 && values <= kMarkerLimit;
    files_.markers.emplace(name, readable ? entry.weight.decode_all() : std::vector<float>());
  }

  void take_bare(std::optional<Part> wanted) {
    if (bare_.empty()) return;
    const std::optional<Part> known = recognise_part(bare_);
    const bool as_wanted = wanted && (!known || (is_clip(*known) && is_clip(*wanted)));
    const std::optional<Part> part = as_wanted ? wanted : known;
    if (part && sorted_[*part].empty())
      sorted_[*part] = std::move(bare_);
    else
      for (const auto& [name, entry] : bare_) files_.unused_tensors.push_back(name);
  }

  const WeightStore& store_;
  const std::string& source_;
  ModelFiles files_;
  std::map<Part, WeightStore::Entries> sorted_;
  WeightStore::Entries bare_;
};

}  // namespace

ModelFiles sort_into_parts(const WeightStore& store, const std::string& source, std::optional<Part> bare) {
  return Sorter(store, source).run(bare);
}

}  // namespace veneer::io
