// Asks Highway for the target it dispatches to.
#include "device/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {

HWY_EXPORT(TargetName);

std::string vector_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

void limit_vectors_to_avx2() { hwy::DisableTargets(HWY_AVX2 - 1); }  // better targets have lower bits

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
