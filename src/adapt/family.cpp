// From a group of keys to terms: all families that claim it, then the modifiers.
#include "adapt/family.h"

#include <algorithm>

#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

Error nobody_claims(const KeyGroup& keys, const Site& site) {
  std::vector<std::string> names;
  for (const auto& [part, unused] : keys.parts) names.push_back(part);
  return {ErrorCode::kMismatch,
          concat(site.layer->name, ": no adapter family is made of ", join(names, ", "), " (module ", keys.module, ")"),
          site.layer->name};
}

bool is_additive(const Lowered& lowered) {
  return std::all_of(lowered.terms.begin(), lowered.terms.end(), nn::is_additive);
}

// Sums of differences add up to one program; anything else acts on the weight itself, and which would come first is
// nowhere said.
Status join_onto(Lowered& all, Lowered next, const Site& site, const KeyGroup& keys) {
  const bool alone = all.terms.empty();
  if (!alone && !(is_additive(all) && is_additive(next)))
    return Error{ErrorCode::kUnsupported,
                 concat(site.layer->name, ": ", family_name(keys), " in one module: only differences can be summed"),
                 site.layer->name};
  if (alone) all.strength_inside = next.strength_inside;
  std::move(next.terms.begin(), next.terms.end(), std::back_inserter(all.terms));
  std::move(next.notices.begin(), next.notices.end(), std::back_inserter(all.notices));
  for (std::string& part : next.used)
    if (std::find(all.used.begin(), all.used.end(), part) == all.used.end()) all.used.push_back(std::move(part));
  return {};
}

}  // namespace

Shape Site::shape() const {
  Shape shape = layer->weight.shape;
  shape[0] = rows;
  return shape;
}

Result<Lowered> lower(const KeyGroup& keys, const Site& site, const LowerOptions& options) {
  Lowered lowered;
  bool claimed = false;
  for (const Family* family : families()) {
    if (!family->claims(keys)) continue;
    VENEER_TRY(next, family->lower(keys, site, options));
    VENEER_TRY_STATUS(join_onto(lowered, std::move(next), site, keys));
    claimed = true;
  }
  for (const Modifier* modifier : modifiers()) {
    if (!modifier->claims(keys)) continue;
    VENEER_TRY_STATUS(modifier->rewrite(keys, site, options, lowered));
    claimed = true;
  }
  if (!claimed) return nobody_claims(keys, site);
  return lowered;
}

std::string family_name(const KeyGroup& keys) {
  std::vector<std::string> names;
  for (const Family* family : families())
    if (family->claims(keys)) names.emplace_back(family->name);
  for (const Modifier* modifier : modifiers())
    if (modifier->claims(keys)) names.emplace_back(modifier->name);
  return join(names, " + ");
}

}  // namespace veneer::adapt
