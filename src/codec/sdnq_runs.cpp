// Dispatch of SDNQ's inner loops.
#include "codec/sdnq_runs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/sdnq_runs.cpp"
#include <hwy/foreach_target.h>

#include "codec/sdnq_runs-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(ScaleNibbles);
HWY_EXPORT(ScaleInt8);
HWY_EXPORT(AddLowRank);

void scale_nibbles(const std::byte* in, int64_t count, const CodeScale& scale, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleNibbles)(in, count, scale, out);
}
void scale_int8(const std::byte* in, int64_t count, const CodeScale& scale, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleInt8)(in, count, scale, out);
}
void add_low_rank(const float* left, const float* right, int64_t rank, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(AddLowRank)(left, right, rank, count, out);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
