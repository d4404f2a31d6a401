// Loads and stores of vectors that may be cut short, and the functions that our kernels apply to float32 vectors;
// compiled once for each instruction set. Everything passes NaN on.
#if defined(VENEER_DEVICE_CPU_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_DEVICE_CPU_VECTOR_INL_H_
#undef VENEER_DEVICE_CPU_VECTOR_INL_H_
#else
#define VENEER_DEVICE_CPU_VECTOR_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using Vector = hn::Vec<F32>;
inline int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(F32())); }

// The first `count` lanes from memory, zero in the others; reads nothing beyond them.
HWY_INLINE Vector LoadFirst(const float* from, int64_t count) {
  const F32 d;
  if (count >= Lanes()) return hn::LoadU(d, from);
#if !HWY_MEM_OPS_MIGHT_FAULT
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(float));
  return hn::Load(d, lanes);
#endif
}

HWY_INLINE void StoreFirst(Vector value, int64_t count, float* to) {
  const F32 d;
  if (count >= Lanes()) return hn::StoreU(value, d, to);
#if !HWY_MEM_OPS_MIGHT_FAULT
  hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(value, d, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(float));
#endif
}

// y[i] = f(x[i]).
template <typename Function>
HWY_INLINE void Map(const float* x, int64_t count, float* y, const Function& f) {
  for (int64_t i = 0; i < count; i += Lanes()) StoreFirst(f(LoadFirst(x + i, count - i)), count - i, y + i);
}

// y[i] = f(a[i], b[i]).
template <typename Function>
HWY_INLINE void Map(const float* a, const float* b, int64_t count, float* y, const Function& f) {
  for (int64_t i = 0; i < count; i += Lanes())
    StoreFirst(f(LoadFirst(a + i, count - i), LoadFirst(b + i, count - i)), count - i, y + i);
}

HWY_INLINE Vector Constant(float value) { return hn::Set(F32(), value); }

// x / (1 + e^-k) for some k(x): silu and its relatives. Beyond 88 the quotient is below the smallest normal number.
HWY_INLINE Vector Gated(Vector x, Vector k) {
  const Vector power = hn::Exp(F32(), hn::Min(Constant(88.0f), hn::Neg(k)));
  return hn::Div(x, hn::Add(Constant(1.0f), power));
}

HWY_INLINE Vector Silu(Vector x) { return Gated(x, x); }
HWY_INLINE Vector QuickGelu(Vector x) { return Gated(x, hn::Mul(x, Constant(1.702f))); }

// 0.5 x (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE Vector GeluTanh(Vector x) {
  constexpr float kTwiceRoot = 1.5957691216f;  // 2 sqrt(2 / pi)
  const Vector cubic = hn::MulAdd(hn::Mul(x, x), Constant(kTwiceRoot * 0.044715f), Constant(kTwiceRoot));
  return Gated(x, hn::Mul(x, cubic));
}

// 2^x for x <= 0; below -126 it stays 2^-126. A minimax fit of degree 6 on [-1/2, 1/2], error 3e-9 before rounding.
HWY_INLINE Vector Exp2(Vector x) {
  const hn::RebindToUnsigned<F32> bits;
  // Adding 1.5 * 2^23 rounds to whole numbers and leaves them in the low bits; with 127 more they are an exponent.
  const Vector shift = Constant(0x1.8p23f + 127.0f);
  x = hn::Max(Constant(-126.0f), x);
  const Vector shifted = hn::Add(x, shift);
  const Vector f = hn::Sub(x, hn::Sub(shifted, shift));
  const Vector scale = hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  Vector power = Constant(1.546144469646e-4f);
  for (const float c :
       {1.340042817742e-3f, 9.618056678526e-3f, 5.550327226671e-2f, 2.402265092229e-1f, 6.931472067028e-1f, 1.0f})
    power = hn::MulAdd(power, f, Constant(c));
  return hn::Mul(power, scale);
}

// x Phi(x) = max(x, 0) - |x| Phi(-|x|), Phi being the normal distribution function. Phi(-a) = e^(-a^2 / 2) T(t) with
// t = 1 / (1 + a / 4) and T a minimax fit of degree 9 on the a that matter, a <= 13.3, with relative error 1.2e-8; so
// the tail keeps its digits too.
HWY_INLINE Vector Gelu(Vector x) {
  const Vector a = hn::Abs(x);
  const Vector t = hn::Div(Constant(1.0f), hn::MulAdd(a, Constant(0.25f), Constant(1.0f)));
  Vector fit = Constant(0.0346927932f);
  for (const float c : {-0.200211291f, 0.404457675f, -0.346062987f, 0.314971959f, -0.026035277f, 0.123537283f,
                        0.0943928019f, 0.100281401f, -2.43639663e-05f})
    fit = hn::MulAdd(fit, t, Constant(c));
  constexpr float kHalfLog2E = 0.72134752044f;
  const Vector tail = hn::Mul(Exp2(hn::Mul(hn::Mul(a, a), Constant(-kHalfLog2E))), fit);
  return hn::NegMulAdd(a, tail, hn::Max(Constant(0.0f), x));
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_DEVICE_CPU_VECTOR_INL_H_
