// Dispatch of SDNQ's inner loops.
#include "codec/sdnq_runs.h"

#include <algorithm>

#include "codec/minifloat.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/sdnq_runs.cpp"
#include <hwy/foreach_target.h>

#include "codec/sdnq_runs-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(NibblesToF32);
HWY_EXPORT(CodesToF32);
HWY_EXPORT(MinifloatsToF32);
HWY_EXPORT(ScaleRun);
HWY_EXPORT(ScaleEach);
HWY_EXPORT(ScaleRepeating);

void nibbles_to_f32(const std::byte* in, int64_t count, int offset, float* out) {
  HWY_DYNAMIC_DISPATCH(NibblesToF32)(in, count, offset, out);
}
void codes_to_f32(const uint16_t* in, int64_t count, int offset, float* out) {
  HWY_DYNAMIC_DISPATCH(CodesToF32)(in, count, offset, out);
}
void minifloats_to_f32(const uint16_t* in, int64_t count, const MinifloatBits& bits, float* out) {
  HWY_DYNAMIC_DISPATCH(MinifloatsToF32)(in, count, bits, out);
}
void scale_run(float* values, int64_t count, float scale, float zero) {
  HWY_DYNAMIC_DISPATCH(ScaleRun)(values, count, scale, zero);
}
void scale_each(float* values, int64_t count, const float* scales, const float* zeros) {
  HWY_DYNAMIC_DISPATCH(ScaleEach)(values, count, scales, zeros);
}
void scale_repeating(float* values, int64_t count, const float* scales, const float* zeros, int64_t period) {
  HWY_DYNAMIC_DISPATCH(ScaleRepeating)(values, count, scales, zeros, period);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
