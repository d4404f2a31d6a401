// The vector loops of hadamard.cpp, compiled once for each target. Registers stand in arrays here, which scalable
// vectors cannot.
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

// So many neighbours are turned within registers: factor after factor, without a way through memory. A number's place
// among them is vector * lanes + lane; of that place the lower bits choose a lane and the upper ones a vector.
constexpr size_t kTile = 64;

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr size_t kLanes = HWY_MIN(HWY_LANES(float), 16);
constexpr size_t kVectors = kTile / kLanes;

// vectors[i] with every number replaced by that whose place differs in `bit`.
template <size_t bit>
HWY_INLINE Vector Exchanged(const Vector* vectors, size_t i) {
  if constexpr (bit >= kLanes) {
    return vectors[i ^ (bit / kLanes)];
  } else {
#if HWY_TARGET != HWY_SCALAR  // which has no lanes to exchange
    if constexpr (bit == 1) return hn::Shuffle2301(vectors[i]);
    if constexpr (bit == 2) return hn::Shuffle1032(vectors[i]);
    if constexpr (bit == 4) return hn::SwapAdjacentBlocks(vectors[i]);
    if constexpr (bit == 8) return hn::ConcatLowerUpper(Tag(), vectors[i], vectors[i]);
#endif
  }
}

// 1 for places without `bit`, -1 for the others.
template <size_t bit>
HWY_INLINE Vector Signs(size_t i) {
  const hn::RebindToSigned<Tag> di;
  const auto places = hn::Iota(di, static_cast<int32_t>(i * kLanes));
  const auto without = hn::Eq(hn::And(places, hn::Set(di, static_cast<int32_t>(bit))), hn::Zero(di));
  return hn::IfThenElse(hn::RebindMask(Tag(), without), hn::Set(Tag(), 1.0f), hn::Set(Tag(), -1.0f));
}

// The factor [[1, 1], [1, -1]] over the digit of weight `bit`.
template <size_t bit>
HWY_INLINE void TurnTwo(Vector* vectors) {
  Vector turned[kVectors];
  for (size_t i = 0; i < kVectors; ++i) turned[i] = hn::MulAdd(vectors[i], Signs<bit>(i), Exchanged<bit>(vectors, i));
  for (size_t i = 0; i < kVectors; ++i) vectors[i] = turned[i];
}

// The factor [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]] over the digit of weight `bit`: the sum of
// the four less twice the opposite one.
template <size_t bit>
HWY_INLINE void TurnFour(Vector* vectors) {
  Vector crossed[kVectors], pairs[kVectors];
  for (size_t i = 0; i < kVectors; ++i) {
    crossed[i] = Exchanged<2 * bit>(vectors, i);
    pairs[i] = hn::Add(vectors[i], crossed[i]);
  }
  for (size_t i = 0; i < kVectors; ++i) {
    const Vector sum = hn::Add(pairs[i], Exchanged<bit>(pairs, i));
    vectors[i] = hn::NegMulAdd(hn::Set(Tag(), 2.0f), Exchanged<bit>(crossed, i), sum);
  }
}

// The factors over digits whose weight is below `group`, at most kTile, times `norm`.
template <bool by_fours, size_t group>
HWY_INLINE void TurnTile(float* values, float norm) {
  const Tag d;
  Vector vectors[kVectors];
  for (size_t i = 0; i < kVectors; ++i) vectors[i] = hn::LoadU(d, values + i * kLanes);
  if constexpr (by_fours) {
    if constexpr (group > 1) TurnFour<1>(vectors);
    if constexpr (group > 4) TurnFour<4>(vectors);
    if constexpr (group > 16) TurnFour<16>(vectors);
  } else {
    if constexpr (group > 1) TurnTwo<1>(vectors);
    if constexpr (group > 2) TurnTwo<2>(vectors);
    if constexpr (group > 4) TurnTwo<4>(vectors);
    if constexpr (group > 8) TurnTwo<8>(vectors);
    if constexpr (group > 16) TurnTwo<16>(vectors);
    if constexpr (group > 32) TurnTwo<32>(vectors);
  }
  for (size_t i = 0; i < kVectors; ++i) hn::StoreU(hn::Mul(vectors[i], hn::Set(d, norm)), d, values + i * kLanes);
}

// What is left behind the last whole tile is a number of whole runs too.
template <bool by_fours, size_t group>
void TurnTiles(float* values, size_t count, float norm) {
  size_t i = 0;
  for (; i + kTile <= count; i += kTile) TurnTile<by_fours, group>(values + i, norm);
  if (i == count) return;
  float rest[kTile] = {};
  for (size_t k = i; k < count; ++k) rest[k - i] = values[k];
  TurnTile<by_fours, group>(rest, norm);
  for (size_t k = i; k < count; ++k) values[k] = rest[k - i];
}

// A factor over the digit of weight `stride`, a multiple of kTile, times `norm`.
inline void PassOfTwo(float* run, size_t group, size_t stride, float norm) {
  const Tag d;
  const auto factor = hn::Set(d, norm);
  for (size_t block = 0; block < group; block += 2 * stride)
    for (float* at = run + block; at < run + block + stride; at += kLanes) {
      const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + stride);
      hn::StoreU(hn::Mul(hn::Add(a, b), factor), d, at);
      hn::StoreU(hn::Mul(hn::Sub(a, b), factor), d, at + stride);
    }
}

inline void PassOfFour(float* run, size_t group, size_t stride, float norm) {
  const Tag d;
  const auto factor = hn::Set(d, norm), two = hn::Set(d, 2.0f);
  for (size_t block = 0; block < group; block += 4 * stride)
    for (float* at = run + block; at < run + block + stride; at += kLanes) {
      const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + stride);
      const auto c = hn::LoadU(d, at + 2 * stride), e = hn::LoadU(d, at + 3 * stride);
      const auto sum = hn::Add(hn::Add(a, c), hn::Add(b, e));
      hn::StoreU(hn::Mul(hn::NegMulAdd(two, e, sum), factor), d, at);
      hn::StoreU(hn::Mul(hn::NegMulAdd(two, c, sum), factor), d, at + stride);
      hn::StoreU(hn::Mul(hn::NegMulAdd(two, b, sum), factor), d, at + 2 * stride);
      hn::StoreU(hn::Mul(hn::NegMulAdd(two, a, sum), factor), d, at + 3 * stride);
    }
}

inline void RotateByFours(float* values, size_t count, size_t group, float norm) {
  switch (group) {
    case 4: return TurnTiles<true, 4>(values, count, norm);
    case 16: return TurnTiles<true, 16>(values, count, norm);
    case kTile: return TurnTiles<true, kTile>(values, count, norm);
    default: break;
  }
  for (float* run = values; run < values + count; run += group) {
    TurnTiles<true, kTile>(run, group, 1);
    for (size_t stride = kTile; stride < group; stride *= 4)
      PassOfFour(run, group, stride, 4 * stride == group ? norm : 1);
  }
}

inline void RotateByTwos(float* values, size_t count, size_t group, float norm) {
  switch (group) {
    case 2: return TurnTiles<false, 2>(values, count, norm);
    case 8: return TurnTiles<false, 8>(values, count, norm);
    case 32: return TurnTiles<false, 32>(values, count, norm);
    default: break;
  }
  for (float* run = values; run < values + count; run += group) {
    TurnTiles<false, kTile>(run, group, 1);
    for (size_t stride = kTile; stride < group; stride *= 2)
      PassOfTwo(run, group, stride, 2 * stride == group ? norm : 1);
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_HADAMARD_INL_H_
