// Vectors of float32 rounded to bfloat16, compiled once for each instruction set.
#if defined(VENEER_DEVICE_CPU_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_DEVICE_CPU_BF16_INL_H_
#undef VENEER_DEVICE_CPU_BF16_INL_H_
#else
#define VENEER_DEVICE_CPU_BF16_INL_H_
#endif

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

// The first `count` lanes to nearest, ties to even; NaN stays NaN. (Highway 1.0 has a conversion, which cuts bits off.)
HWY_INLINE void StoreFirst(Vector value, int64_t count, uint16_t* to) {
  const F32 d;
  const hn::RebindToUnsigned<F32> d32;
  const hn::Rebind<uint16_t, F32> d16;
  const auto bits = hn::BitCast(d32, value);
  const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto rounded = hn::Add(bits, hn::Add(last, hn::Set(d32, 0x7FFF)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(value));
  const auto top = hn::TruncateTo(d16, hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded)));
  if (count >= Lanes()) return hn::StoreU(top, d16, to);
  HWY_ALIGN uint16_t lanes[hn::MaxLanes(d)];
  hn::Store(top, d16, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(uint16_t));
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_DEVICE_CPU_BF16_INL_H_
