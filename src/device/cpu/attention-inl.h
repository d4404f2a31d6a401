// Attention for a block of queries of one head, compiled once for each instruction set. Keys come in blocks; a running
// maximum and sum turn their partial results into one softmax (Milakov and Gimelshein 2018; the arrangement is that of
// Dao et al. 2022). Both products are tiles of kRows x (16 kUnits) floats held in registers over the packed operand.
#if defined(VENEER_DEVICE_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_DEVICE_CPU_ATTENTION_INL_H_
#undef VENEER_DEVICE_CPU_ATTENTION_INL_H_
#else
#define VENEER_DEVICE_CPU_ATTENTION_INL_H_
#endif

#include <cmath>
#include <numbers>

#include "device/cpu/attention.h"
#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

// 24 accumulators where there are 32 registers, 12 or 8 where there are 16.
constexpr int kRows = HWY_MAX_BYTES >= 32 ? 6 : 2;
constexpr int kMaxUnits = HWY_MAX_BYTES >= 64 ? 4 : 1;
static_assert(kQueryBlock % kRows == 0);

// kRows rows of a product, from `row` on.
template <int kUnits>
HWY_INLINE void MultiplyTile(const PanelProduct& product, int64_t row) {
  const F32 d;
  const int64_t a_stride = product.a_stride, depth = product.depth, y_stride = product.y_stride;
  const float* HWY_RESTRICT a = product.a + row * a_stride;
  const float* HWY_RESTRICT b = product.b;
  const float* keep = product.keep ? product.keep + row : nullptr;
  float* HWY_RESTRICT y = product.y + row * y_stride;
  constexpr int kLanes = hn::MaxLanes(F32());
  constexpr int kVectors = kUnits * kUnit / kLanes;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = keep ? hn::Mul(hn::Load(d, y + r * y_stride + v * kLanes), hn::Set(d, keep[r])) : hn::Zero(d);
  for (int64_t i = 0; i < depth; ++i, b += kUnits * kUnit) {
    Vector columns[kVectors];
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) columns[v] = hn::Load(d, b + v * kLanes);
    HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
      const Vector left = hn::Set(d, a[r * a_stride + i]);
      HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, columns[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, y + r * y_stride + v * kLanes);
}

template <int kUnits>
void MultiplyPanel(const PanelProduct& product) {
  for (int64_t row = 0; row < product.rows; row += kRows) MultiplyTile<kUnits>(product, row);
}

// A panel is `units` units wide, at most kMaxUnits.
inline void Multiply(int64_t units, const PanelProduct& product) {
  if constexpr (kMaxUnits > 1) {
    if (units == 4) return MultiplyPanel<4>(product);
    if (units == 3) return MultiplyPanel<3>(product);
    if (units == 2) return MultiplyPanel<2>(product);
  }
  MultiplyPanel<1>(product);
}

// The width in units of the panel that begins at unit `panel`. Those of keys are as wide as can be, so that blocks of
// keys begin with one; those of values are of about the same width, as narrow ones keep few sums in work.
inline int64_t KeyPanelUnits(int64_t units, int64_t panel) { return std::min<int64_t>(kMaxUnits, units - panel); }
inline int64_t ValuePanelUnits(int64_t units, int64_t panel) {
  const int64_t panels = (units + kMaxUnits - 1) / kMaxUnits;
  return std::min((units + panels - 1) / panels, units - panel);
}

// One head's keys as panels of columns, [panel][channel][key], and its values, [panel][key][channel]; what is beyond
// the last key or channel is zero.
void PackHead(const float* k, int64_t k_stride, const float* v, int64_t v_stride, const PackedHead& head) {
  const int64_t key_units = units_of(head.keys), value_units = units_of(head.width);
  float* out = head.packed_keys;
  for (int64_t panel = 0; panel < key_units; panel += kMaxUnits) {
    const int64_t width = KeyPanelUnits(key_units, panel) * kUnit;
    for (int64_t i = 0; i < width; ++i) {
      const int64_t key = panel * kUnit + i;
      for (int64_t c = 0; c < head.width; ++c) out[c * width + i] = key < head.keys ? k[key * k_stride + c] : 0.0f;
    }
    out += width * head.width;
  }
  out = head.packed_values;
  for (int64_t panel = 0, next; panel < value_units; panel = next) {
    next = panel + ValuePanelUnits(value_units, panel);
    const int64_t width = (next - panel) * kUnit, first = panel * kUnit;
    const int64_t filled = std::min(width, head.width - first);
    for (int64_t key = 0; key < head.keys; ++key, out += width) {
      std::copy_n(v + key * v_stride + first, filled, out);
      std::fill(out + filled, out + width, 0.0f);
    }
  }
}

// Adds to the first scores of a row: a mask in units of powers of two, as the scores are, or a bias that is not.
HWY_INLINE void AddMask(const float* mask, int64_t visible, float* scores) {
  const F32 d;
  for (int64_t i = 0; i < visible; i += Lanes())
    hn::Store(hn::Add(hn::Load(d, scores + i), hn::Load(d, mask + i)), d, scores + i);
}
HWY_INLINE void AddBias(const float* bias, int64_t visible, float* scores) {
  const Vector unit = Constant(std::numbers::log2e_v<float>);
  Map(scores, bias, visible, scores, [unit](Vector score, Vector b) HWY_ATTR { return hn::MulAdd(b, unit, score); });
}

// The largest of `from` and the `count` first scores.
HWY_INLINE float Highest(const float* scores, int64_t count, float from) {
  const F32 d;
  constexpr int kApart = 4;  // maxima that do not wait for each other
  Vector peaks[kApart] = {Constant(from), Constant(from), Constant(from), Constant(from)};
  int64_t i = 0;
  for (; i + kApart * Lanes() <= count; i += kApart * Lanes())
    HWY_UNROLL(4) for (int k = 0; k < kApart; ++k) peaks[k] = hn::Max(peaks[k], hn::Load(d, scores + i + k * Lanes()));
  for (; i < count; i += Lanes()) {
    const auto seen = hn::FirstN(d, static_cast<size_t>(count - i));
    peaks[0] = hn::Max(peaks[0], hn::IfThenElse(seen, hn::Load(d, scores + i), peaks[0]));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(peaks[0], peaks[1]), hn::Max(peaks[2], peaks[3]))));
}

// Softmax of one row of scores so far, in units of powers of two: turns the `visible` first scores into weights
// relative to the new maximum, the rest up to `width` into zeros, and notes by how much earlier results shrink.
HWY_INLINE void SoftenRow(const BlockMemory& memory, int64_t row, int64_t visible, int64_t width) {
  float* s = memory.scores + row * kKeyBlock;
  const float before = memory.highest[row], maximum = Highest(s, visible, before);
  const F32 d;
  const Vector peak = Constant(maximum);
  Vector sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + Lanes() <= visible; i += Lanes()) {
    const Vector weight = Exp2(hn::Sub(hn::Load(d, s + i), peak));
    sums = hn::Add(sums, weight);
    hn::Store(weight, d, s + i);
  }
  if (i < visible) {
    const auto seen = hn::FirstN(d, static_cast<size_t>(visible - i));
    const Vector weight = hn::IfThenElseZero(seen, Exp2(hn::Sub(hn::Load(d, s + i), peak)));
    sums = hn::Add(sums, weight);
    hn::Store(weight, d, s + i);
    i += Lanes();
  }
  for (; i < width; i += Lanes()) hn::Store(hn::Zero(d), d, s + i);
  const float shrink = before == maximum ? 1.0f : std::exp2(before - maximum);
  memory.highest[row] = maximum;
  memory.total[row] = memory.total[row] * shrink + hn::GetLane(hn::SumOfLanes(d, sums));
  memory.shrink[row] = shrink;
}

// The queries of a block times the scale, rows up to a whole tile filled with zeros; the running state at its start.
inline void BeginBlock(const QueryBlock& block, int64_t padded_rows, const BlockMemory& memory) {
  const int64_t width = block.head.width;
  const Vector scale = Constant(block.scale);
  for (int64_t r = 0; r < block.rows; ++r)
    Map(block.q + r * block.q_stride, width, memory.q + r * width,
        [scale](Vector q) HWY_ATTR { return hn::Mul(q, scale); });
  std::fill(memory.q + block.rows * width, memory.q + padded_rows * width, 0.0f);
  std::fill_n(memory.highest, padded_rows, kLowestScore);
  std::fill_n(memory.total, padded_rows, 0.0f);
  std::fill_n(memory.shrink, padded_rows, 0.0f);
  std::fill_n(memory.y, padded_rows * units_of(width) * kUnit, 0.0f);
}

// Adds the keys [first, first + count) to the block's state.
inline void AddKeys(const QueryBlock& block, int64_t padded_rows, int64_t first, int64_t count,
                    const BlockMemory& memory) {
  const PackedHead& head = block.head;
  const int64_t width = head.width, key_units = units_of(first + count), value_units = units_of(width);
  const int64_t all_units = units_of(head.keys);
  for (int64_t panel = first / kUnit; panel < key_units; panel += kMaxUnits)
    Multiply(KeyPanelUnits(all_units, panel),
             {memory.q, width, padded_rows, width, head.packed_keys + panel * kUnit * width, nullptr,
              memory.scores + panel * kUnit - first, kKeyBlock});
  for (int64_t r = 0; r < block.rows; ++r) {
    const int64_t reach = block.causal ? block.first_query + r + 1 - first : count;
    const int64_t visible = std::clamp<int64_t>(reach, 0, count);
    if (head.mask) AddMask(head.mask + first, visible, memory.scores + r * kKeyBlock);
    if (block.bias) AddBias(block.bias + r * head.keys + first, visible, memory.scores + r * kKeyBlock);
    SoftenRow(memory, r, visible, count);
  }
  for (int64_t panel = 0, units; panel < value_units; panel += units) {
    units = ValuePanelUnits(value_units, panel);
    const float* values = head.packed_values + panel * kUnit * head.keys + first * units * kUnit;
    Multiply(units, {memory.scores, kKeyBlock, padded_rows, count, values, memory.shrink, memory.y + panel * kUnit,
                     value_units * kUnit});
  }
}

void Attend(const QueryBlock& block, const BlockMemory& memory) {
  const int64_t padded_rows = (block.rows + kRows - 1) / kRows * kRows;
  const int64_t keys = block.causal ? std::min(block.head.keys, block.first_query + block.rows) : block.head.keys;
  BeginBlock(block, padded_rows, memory);
  for (int64_t first = 0; first < keys; first += kKeyBlock)
    AddKeys(block, padded_rows, first, std::min(kKeyBlock, keys - first), memory);
  const int64_t y_stride = units_of(block.head.width) * kUnit;
  for (int64_t r = 0; r < block.rows; ++r) {
    const Vector inverse = Constant(1.0f / memory.total[r]);
    Map(memory.y + r * y_stride, block.head.width, block.y + r * block.y_stride,
        [inverse](Vector sum) HWY_ATTR { return hn::Mul(sum, inverse); });
  }
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_DEVICE_CPU_ATTENTION_INL_H_
