// The sparse difference of early LyCORIS: values at given places of the (flattened) weight, added to what the family
// beside it gives before that is scaled.
#include <algorithm>

#include "adapt/families/parts.h"
#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) {
  return keys.has("bias_indices") || keys.has("bias_values") || keys.has("bias_size");
}

struct Entry {
  int64_t at;  // in the flattened weight
  float value;
};

// Whether the sizes have this product, which need not be a number that fits.
bool multiply_to(const std::vector<int64_t>& sizes, int64_t product) {
  for (const int64_t size : sizes) {
    if (size <= 0 || product % size != 0) return false;
    product /= size;
  }
  return product == 1;
}

// Errors: mismatch when the sizes do not give the layer, bad_file for a place outside them.
Result<std::vector<Entry>> entries_of(const KeyGroup& keys, Parts& parts, const Site& site) {
  VENEER_TRY(values, parts.tensor("bias_values"));
  for (const std::string_view part : {"bias_indices", "bias_size"}) parts.ignore(part);
  VENEER_TRY(indices, keys.integers("bias_indices"));
  VENEER_TRY(sizes, keys.integers("bias_size"));
  const auto count = static_cast<size_t>(values.elements());
  if (indices.size() != sizes.size() * count || sizes[0] != site.rows || !multiply_to(sizes, site.shape().elements()))
    return mismatch(site, "bias_size ", shape_text(sizes), " with ", count, " values and ", indices.size(),
                    " indices, layer is ", site.shape().to_string());
  std::vector<Entry> entries(count);
  for (size_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t index = indices[d * count + i];
      if (index < 0 || index >= sizes[d])
        return Error{
            ErrorCode::kBadFile,
            concat("key ", keys.find("bias_indices")->key, ": index ", index, " is outside of ", shape_text(sizes)),
            site.layer->name};
      at = at * sizes[d] + index;
    }
    entries[i] = {at, values.f32()[i]};
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
  return entries;
}

float scale_of(const nn::Term& term) {
  const auto scale = [](const auto& t) {
    if constexpr (requires { t.scale; }) return t.scale;
    return 1.0f;
  };
  return std::visit(scale, term);
}

Status rewrite(const KeyGroup& keys, const Site& site, const LowerOptions&, Lowered& lowered) {
  if (lowered.terms.empty() || !nn::is_additive(lowered.terms[0]))
    return unsupported(site, "a sparse difference (bias_indices) needs LoRA, LoHa or LoKr beside it");
  Parts parts(keys, site, lowered);
  VENEER_TRY(entries, entries_of(keys, parts, site));
  nn::Dense dense;
  dense.scale = scale_of(lowered.terms[0]);
  dense.what = concat("sparse, ", entries.size(), " values");
  dense.held_bytes = static_cast<int64_t>(entries.size() * sizeof(Entry));
  dense.rows = [entries, width = site.layer->weight.row_values()](int64_t first, int64_t count, float* rows) {
    std::fill_n(rows, count * width, 0.0f);
    const auto begin = std::lower_bound(entries.begin(), entries.end(), first * width,
                                        [](const Entry& entry, int64_t at) { return entry.at < at; });
    for (auto entry = begin; entry != entries.end() && entry->at < (first + count) * width; ++entry)
      rows[entry->at - first * width] += entry->value;
  };
  lowered.terms.push_back(std::move(dense));
  return {};
}

}  // namespace

extern const Modifier kSparse{"sparse", claims, rewrite};

}  // namespace veneer::adapt
