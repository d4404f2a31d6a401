// From fitted adapters at their strengths to programs.
#include "adapt/layer_programs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "adapt/merged.h"
#include "core/format.h"
#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

bool is_text_encoder(io::Part part) {
  return part == io::Part::kTextEncoder || part == io::Part::kTextEncoder2 || part == io::Part::kTextEncoder3;
}

double strength_of(const StackEntry& entry, const FittedSite& site) {
  const double strength = is_text_encoder(site.part) ? entry.text_encoder : entry.denoiser;
  return entry.blocks ? strength * entry.blocks->factor(site.part, site.block) : strength;
}

// Lowered anew, for a strength that is inside the terms or a weight that is not the layer's own.
Result<Lowered> lowered_again(const StackEntry& entry, const FittedSite& site, const nn::Layer& layer,
                              double strength) {
  LowerOptions options = entry.fitted->options;
  options.strength = strength;
  const KeyGroup& keys = entry.fitted->groups[site.keys];
  if (site.fusion) {
    VENEER_TRY(slices, lower_fused(keys, *site.fusion, options));
    return std::move(slices[site.slice]);
  }
  Site place = site.site;
  place.layer = &layer;
  return lower(keys, place, options);
}

// What two entries share that differ in strength only.
auto identity(const StackEntry& entry) {
  return std::tuple(entry.fitted->adapter->sha256, entry.fitted->options.rank_limit,
                    entry.blocks ? entry.blocks->to_string() : std::string());
}

bool reads_weight(const nn::Program& program) {
  return !std::ranges::all_of(program.terms, [](const nn::Term& term) {
    return std::holds_alternative<nn::Vector>(term) || (nn::is_additive(term) && !nn::needs_base(term));
  });
}

// A layer on the way through a chain: its weight as the programs so far leave it, made when somebody asks.
struct Chained {
  LayerPrograms programs;
  std::optional<nn::Layer> layer;
  size_t done = 0;  // programs that `layer` has seen

  const nn::Layer& now() {
    for (; done < programs.programs.size(); ++done)
      layer = layer_after(layer ? *layer : *programs.layer, programs.programs[done]);
    return layer ? *layer : *programs.layer;
  }
};

Result<nn::Program> program_for(const StackEntry& entry, const FittedSite& site, double strength, Combine combine,
                                Chained& chained) {
  nn::Program program{site.lowered.terms, static_cast<float>(strength)};
  if (site.lowered.strength_inside) program.amount = 1;
  const bool on_others = combine == Combine::kChain && !chained.programs.programs.empty() && reads_weight(program);
  if (on_others && site.fusion)
    return Error{ErrorCode::kUnsupported,
                 concat("adapter ", entry.fitted->adapter->name, ": ", site.site.layer->name,
                        ": its keys are for several layers at once, which --combine chain can not carry behind other "
                        "adapters; name it first, or use sum"),
                 site.site.layer->name};
  if (on_others || (site.lowered.strength_inside && strength != 1)) {
    const nn::Layer& layer = on_others ? chained.now() : *site.site.layer;
    VENEER_TRY(again, lowered_again(entry, site, layer, strength));
    program.terms = std::move(again.terms);
  }
  if (on_others && std::ranges::any_of(program.terms, nn::needs_base))
    return Error{ErrorCode::kUnsupported,
                 concat("adapter ", entry.fitted->adapter->name, ": ", site.site.layer->name,
                        ": its change depends on the weight in a way that --combine chain can not carry behind other "
                        "adapters; name it first, or use sum"),
                 site.site.layer->name};
  if (!site.site.is_whole()) {
    program.first_row = site.site.first_row;
    program.rows = site.site.rows;
  }
  return program;
}

}  // namespace

std::vector<StackEntry> canonical(std::span<const StackEntry> entries, Combine combine) {
  std::vector<StackEntry> out;
  for (const StackEntry& entry : entries) {
    const auto same = std::ranges::find(out, identity(entry), identity);
    if (same == out.end()) {
      out.push_back(entry);
    } else {
      same->text_encoder += entry.text_encoder;
      same->denoiser += entry.denoiser;
    }
  }
  if (combine == Combine::kSum) std::ranges::stable_sort(out, {}, identity);
  return out;
}

Result<std::vector<LayerPrograms>> layer_programs(std::span<const StackEntry> entries, Combine combine) {
  std::map<std::pair<io::Part, int>, Chained> layers;
  for (const StackEntry& entry : entries)
    for (const FittedSite& site : entry.fitted->sites) {
      const double strength = strength_of(entry, site);
      if (strength == 0) continue;
      Chained& chained = layers[{site.part, site.site.layer->id}];
      chained.programs.part = site.part;
      chained.programs.layer = site.site.layer;
      VENEER_TRY(program, program_for(entry, site, strength, combine, chained));
      chained.programs.programs.push_back(std::move(program));
    }
  std::vector<LayerPrograms> out;
  for (auto& [place, chained] : layers) out.push_back(std::move(chained.programs));
  return out;
}

}  // namespace veneer::adapt
