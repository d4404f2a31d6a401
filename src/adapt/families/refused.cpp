// Families that are recognised and cannot be carried out from what their files hold.
#include "adapt/families/parts.h"

namespace veneer::adapt {
namespace {

struct Refused {
  std::string_view part, family, reason;
};

constexpr std::string_view kTLora =
    "its starting factors come from a decomposition of the base or from a seed and its mask from the time step; "
    "neither "
    "is in the file";
constexpr std::string_view kUnknownForm = "no image model's adapters have been met in this form";

constexpr Refused kRefused[] = {
    {"q_layer", "T-LoRA", kTLora},
    {"p_layer", "T-LoRA", kTLora},
    {"lambda_layer", "T-LoRA", kTLora},
    {"oft_r", "OFT of PEFT before 0.14", "its layout was replaced; save the adapter again with a later PEFT"},
    {"hra_u", "HRA", kUnknownForm},
};

const Refused* find(const KeyGroup& keys) {
  for (const Refused& refused : kRefused)
    if (keys.has(refused.part)) return &refused;
  return nullptr;
}

bool claims(const KeyGroup& keys) { return find(keys) != nullptr; }

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  const Refused* refused = find(keys);
  return unsupported(site, refused->family, " cannot be applied: ", refused->reason);
}

}  // namespace

extern const Family kRefusedFamilies{"refused", claims, to_terms};

}  // namespace veneer::adapt
