// Fusing layers into what a file means, and taking its terms apart.
#include "adapt/fused.h"

#include <algorithm>
#include <optional>

#include "codec/joined_rows.h"
#include "codec/row_view.h"
#include "core/format.h"

namespace veneer::adapt {
namespace {

// The ranges of the model's layers in the order of the file's rows.
std::vector<Site> pieces_of(const std::vector<Site>& sites, bool swap_halves) {
  if (!swap_halves) return sites;
  const Site& site = sites.front();
  const int64_t half = site.rows / 2;
  return {{site.layer, site.first_row + half, site.rows - half}, {site.layer, site.first_row, half}};
}

nn::Layer joined_layer(const std::vector<Site>& pieces) {
  nn::Layer whole;
  whole.kind = pieces.front().layer->kind;
  whole.geometry = pieces.front().layer->geometry;
  std::vector<codec::Weight> rows;
  std::vector<std::string> names;
  const bool have_bias = std::ranges::all_of(pieces, [](const Site& piece) { return !piece.layer->bias.empty(); });
  for (const Site& piece : pieces) {
    rows.push_back(codec::rows_of(piece.layer->weight, piece.first_row, piece.rows));
    if (names.empty() || names.back() != piece.layer->name) names.push_back(piece.layer->name);
    if (!have_bias) continue;
    const auto first = piece.layer->bias.begin() + piece.first_row;
    whole.bias.insert(whole.bias.end(), first, first + piece.rows);
  }
  whole.name = join(names, " + ");
  whole.weight = codec::joined_rows(rows);
  return whole;
}

constexpr std::string_view kSet = "oft_blocks.";
bool is_set(const std::pair<const std::string, KeyPart>& part) { return part.first.starts_with(kSet); }

// The keys of one slice as an OFT of that slice alone. Empty when there is no such set.
std::optional<KeyGroup> set_of(const KeyGroup& keys, const std::string& name) {
  const KeyPart* blocks = keys.find(name);
  if (!blocks) return std::nullopt;
  KeyGroup one = keys;
  std::erase_if(one.parts, is_set);
  one.parts["oft_blocks"] = *blocks;
  return one;
}

// kohya's OFT of FLUX with split q, k and v: a set of blocks for each slice of the matrix.
Result<std::vector<Lowered>> lower_sets(const KeyGroup& keys, const Fusion& fusion, const LowerOptions& options) {
  const auto sets = std::ranges::count_if(keys.parts, is_set);
  if (sets != std::ssize(fusion.sites))
    return Error{ErrorCode::kMismatch,
                 concat(keys.module, ": holds ", sets, " sets of oft_blocks, expected ", fusion.sites.size(), " (for ",
                        fusion.whole->name, ")"),
                 keys.module};
  std::vector<Lowered> out;
  std::vector<std::string> used;
  for (size_t i = 0; i < fusion.sites.size(); ++i) {
    const std::string name = concat(kSet, i);
    const std::optional<KeyGroup> one = set_of(keys, name);
    if (!one) return Error{ErrorCode::kMismatch, concat(keys.module, ": ", name, " is missing"), keys.module};
    VENEER_TRY(lowered, lower(*one, fusion.sites[i], options));
    for (const std::string& part : lowered.used) used.push_back(part == "oft_blocks" ? name : part);
    out.push_back(std::move(lowered));
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (Lowered& lowered : out) lowered.used = used;
  return out;
}

}  // namespace

std::shared_ptr<const Fusion> fuse(const std::vector<Site>& sites, bool swap_halves) {
  if (sites.size() == 1 && !swap_halves) return nullptr;
  auto fusion = std::make_shared<Fusion>();
  fusion->sites = sites;
  fusion->whole = std::make_shared<nn::Layer>(joined_layer(pieces_of(sites, swap_halves)));
  const int64_t rows = fusion->whole->out();
  if (swap_halves) {
    fusion->windows = {{rows / 2, rows, rows}};
    return fusion;
  }
  int64_t first = 0;
  for (const Site& site : sites) {
    fusion->windows.push_back({first, site.rows, rows});
    first += site.rows;
  }
  return fusion;
}

Result<std::vector<Lowered>> lower_fused(const KeyGroup& keys, const Fusion& fusion, const LowerOptions& options) {
  if (std::ranges::any_of(keys.parts, is_set)) return lower_sets(keys, fusion, options);
  const Site whole{fusion.whole.get(), 0, fusion.whole->out()};
  VENEER_TRY(lowered, lower(keys, whole, options));
  std::vector<Lowered> out;
  for (const RowWindow& window : fusion.windows) {
    VENEER_TRY(terms, cut_rows(lowered.terms, fusion.whole, window));
    out.push_back({std::move(terms), lowered.strength_inside, {}, lowered.used});
  }
  out.front().notices = lowered.notices;
  return out;
}

}  // namespace veneer::adapt
