// What transformers of images do between their products: root-mean-square norms, modulation by vectors, gated sums, and
// rotary positions. The vector code below is compiled once for each instruction set.
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"
#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/modulation.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

// In double precision, lane by lane, so that the sum does not depend on the length of what follows.
double SumOfSquares(const float* x, int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto squares = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::PromoteTo(d, hn::LoadU(half, x + i));
    squares = hn::MulAdd(value, value, squares);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; i < count; ++i) sum += double{x[i]} * x[i];
  return sum;
}

void RmsNormRow(const RmsNorm& norm, int64_t row) {
  for (int64_t head = 0; head < norm.heads; ++head) {
    const int64_t first = row * norm.stride + head * norm.channels;
    const float* x = norm.x + first;
    const double mean = SumOfSquares(x, norm.channels) / static_cast<double>(norm.channels);
    const Vector scale = Constant(static_cast<float>(1 / std::sqrt(mean + norm.epsilon)));
    Map(x, norm.gain, norm.channels, norm.y + first,
        [scale](Vector value, Vector gain) HWY_ATTR { return hn::Mul(hn::Mul(value, scale), gain); });
  }
}

void ModulateRow(const float* x, const float* scale, const float* shift, int64_t channels, float* y) {
  for (int64_t c = 0; c < channels; c += Lanes()) {
    const int64_t left = channels - c;
    const Vector factor = hn::Add(Constant(1.0f), LoadFirst(scale + c, left));
    StoreFirst(hn::MulAdd(LoadFirst(x + c, left), factor, LoadFirst(shift + c, left)), left, y + c);
  }
}

void AddGatedRow(const float* x, const float* gate, int64_t channels, float* y) {
  for (int64_t c = 0; c < channels; c += Lanes()) {
    const int64_t left = channels - c;
    StoreFirst(hn::MulAdd(LoadFirst(x + c, left), LoadFirst(gate + c, left), LoadFirst(y + c, left)), left, y + c);
  }
}

void MultiplyValues(const float* a, const float* b, int64_t count, float* y) {
  Map(a, b, count, y, [](Vector left, Vector right) HWY_ATTR { return hn::Mul(left, right); });
}

// `pairs` pairs of x turned by as many angles.
void RotateHead(const float* x, const float* cosines, const float* sines, int64_t pairs, float* y) {
  const F32 d;
  int64_t k = 0;
  for (; k + Lanes() <= pairs; k += Lanes()) {
    Vector even, odd;
    hn::LoadInterleaved2(d, x + 2 * k, even, odd);
    const Vector cosine = hn::LoadU(d, cosines + k), sine = hn::LoadU(d, sines + k);
    hn::StoreInterleaved2(hn::NegMulAdd(odd, sine, hn::Mul(even, cosine)), hn::MulAdd(even, sine, hn::Mul(odd, cosine)),
                          d, y + 2 * k);
  }
  for (; k < pairs; ++k) {
    const float even = x[2 * k], odd = x[2 * k + 1];
    y[2 * k] = even * cosines[k] - odd * sines[k];
    y[2 * k + 1] = odd * cosines[k] + even * sines[k];
  }
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(RmsNormRow);
HWY_EXPORT(ModulateRow);
HWY_EXPORT(AddGatedRow);
HWY_EXPORT(MultiplyValues);
HWY_EXPORT(RotateHead);

// Calls body(row) for all rows of `width` values, in pieces of about kGrain values.
template <typename Body>
void for_rows(int64_t rows, int64_t width, const Body& body) {
  parallel_ranges(rows, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace

void rms_norm(Device&, const RmsNorm& norm) {
  for_rows(norm.rows, norm.heads * norm.channels, [&](int64_t row) { HWY_DYNAMIC_DISPATCH(RmsNormRow)(norm, row); });
}

void modulate(Device&, const Modulate& op) {
  for_rows(op.batch * op.tokens, op.channels, [&](int64_t row) {
    const int64_t vector = row / op.tokens * op.vector_stride, first = row * op.channels;
    HWY_DYNAMIC_DISPATCH(ModulateRow)
    (op.x + first, op.scale + vector, op.shift + vector, op.channels, op.y + first);
  });
}

void add_gated(Device&, const AddGated& op) {
  for_rows(op.batch * op.tokens, op.channels, [&](int64_t row) {
    const int64_t gate = row / op.tokens * op.gate_stride, first = row * op.channels;
    HWY_DYNAMIC_DISPATCH(AddGatedRow)(op.x + first, op.gate + gate, op.channels, op.y + first);
  });
}

void multiply(Device&, const Multiply& op) {
  parallel_ranges(op.count, kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(MultiplyValues)(op.a + begin, op.b + begin, end - begin, op.y + begin);
  });
}

void rotate_pairs(Device&, const RotatePairs& op) {
  const int64_t pairs = op.head_width / 2;
  for_rows(op.batch * op.tokens, op.heads * op.head_width, [&](int64_t row) {
    const float *cosines = op.cosines + row % op.tokens * pairs, *sines = op.sines + row % op.tokens * pairs;
    for (int64_t head = 0; head < op.heads; ++head) {
      const int64_t first = row * op.stride + head * op.head_width;
      HWY_DYNAMIC_DISPATCH(RotateHead)(op.x + first, cosines, sines, pairs, op.y + first);
    }
  });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
