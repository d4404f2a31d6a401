// The vector loops of hadamard.cpp, compiled once for each target.
#if defined(VENEER_CODEC_HADAMARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_HADAMARD_INL_H_
#undef VENEER_CODEC_HADAMARD_INL_H_
#else
#define VENEER_CODEC_HADAMARD_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The factor [[1, 1], [1, -1]].
template <class V>
void TurnTwo(V& a, V& b) {
  const V sum = hn::Add(a, b);
  b = hn::Sub(a, b);
  a = sum;
}

// The factor [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]].
template <class V>
void TurnFour(V& a, V& b, V& c, V& d) {
  const V sum = hn::Add(a, b), difference = hn::Sub(a, b), other_sum = hn::Add(c, d), other_difference = hn::Sub(c, d);
  a = hn::Add(sum, other_difference);
  b = hn::Sub(sum, other_difference);
  c = hn::Add(other_sum, difference);
  d = hn::Sub(other_sum, difference);
}

// A factor over the digit of weight `stride`, a multiple of the lanes.
template <class D>
void PassOfTwo(D d, float* run, size_t group, size_t stride) {
  for (size_t block = 0; block < group; block += 2 * stride)
    for (float* at = run + block; at < run + block + stride; at += hn::Lanes(d)) {
      auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + stride);
      TurnTwo(a, b);
      hn::StoreU(a, d, at);
      hn::StoreU(b, d, at + stride);
    }
}

template <class D>
void PassOfFour(D d, float* run, size_t group, size_t stride) {
  for (size_t block = 0; block < group; block += 4 * stride)
    for (float* at = run + block; at < run + block + stride; at += hn::Lanes(d)) {
      auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + stride);
      auto c = hn::LoadU(d, at + 2 * stride), e = hn::LoadU(d, at + 3 * stride);
      TurnFour(a, b, c, e);
      hn::StoreU(a, d, at);
      hn::StoreU(b, d, at + stride);
      hn::StoreU(c, d, at + 2 * stride);
      hn::StoreU(e, d, at + 3 * stride);
    }
}

// The factor over the lowest digit, whose numbers are neighbours.
template <class D>
void FirstPassOfTwo(D d, float* run, size_t group) {
  for (size_t i = 0; i < group; i += 2 * hn::Lanes(d)) {
    hn::Vec<D> a, b;
    hn::LoadInterleaved2(d, run + i, a, b);
    TurnTwo(a, b);
    hn::StoreInterleaved2(a, b, d, run + i);
  }
}

template <class D>
void FirstPassOfFour(D d, float* run, size_t group) {
  for (size_t i = 0; i < group; i += 4 * hn::Lanes(d)) {
    hn::Vec<D> a, b, c, e;
    hn::LoadInterleaved4(d, run + i, a, b, c, e);
    TurnFour(a, b, c, e);
    hn::StoreInterleaved4(a, b, c, e, d, run + i);
  }
}

// One run, a power of four.
inline void RotateByFours(float* run, size_t group) {
  const hn::CappedTag<float, 4> d4;
  if (group == 4) return FirstPassOfFour(hn::CappedTag<float, 1>(), run, group);
  FirstPassOfFour(d4, run, group);
  PassOfFour(d4, run, group, 4);
  for (size_t stride = 16; stride < group; stride *= 4) PassOfFour(hn::CappedTag<float, 16>(), run, group, stride);
}

// One run, any other power of two.
inline void RotateByTwos(float* run, size_t group) {
  if (group == 2) return FirstPassOfTwo(hn::CappedTag<float, 1>(), run, group);
  FirstPassOfTwo(hn::CappedTag<float, 4>(), run, group);
  PassOfTwo(hn::CappedTag<float, 2>(), run, group, 2);
  PassOfTwo(hn::CappedTag<float, 4>(), run, group, 4);
  for (size_t stride = 8; stride < group; stride *= 2) PassOfTwo(hn::CappedTag<float, 8>(), run, group, stride);
}

inline void Rotate(float* values, size_t count, size_t group, bool by_fours, float norm) {
  for (float* run = values; run < values + count; run += group) {
    by_fours ? RotateByFours(run, group) : RotateByTwos(run, group);
    for (size_t i = 0; i < group; ++i) run[i] *= norm;
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_HADAMARD_INL_H_
