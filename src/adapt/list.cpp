// Which families and modifiers there are. Constant arrays: nothing depends on the order of initialisation.
#include "adapt/family.h"

namespace veneer::adapt {

extern const Family kRefusedFamilies, kReplacement, kOftPeft, kBoftPeft, kOft, kBoft, kGlora, kLoKr, kLoHa, kVera,
    kAdaLora, kLora, kIa3Peft, kIa3, kDifference;
extern const Modifier kSparse, kDora, kBias;

namespace {

constexpr const Family* kFamilies[] = {&kRefusedFamilies, &kReplacement, &kOftPeft,   &kBoftPeft, &kOft,     &kBoft,
                                       &kGlora,           &kLoKr,        &kLoHa,      &kVera,     &kAdaLora, &kLora,
                                       &kIa3Peft,         &kIa3,         &kDifference};

// What belongs to the delta comes before what measures it; biases come last, when it is known where the strength acts.
constexpr const Modifier* kModifiers[] = {&kSparse, &kDora, &kBias};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }
std::span<const Modifier* const> modifiers() { return kModifiers; }

}  // namespace veneer::adapt
