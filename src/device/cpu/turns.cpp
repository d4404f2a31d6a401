// What overlays do to rows of activations: gains, rotations, the outer half of a Kronecker product, differences. A few
// rows go together, so that a vector of a matrix is loaded once for all of them.
#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"
#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/turns.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

constexpr int64_t kRowsAtOnce = 4;

void ScaleRow(const float* x, const float* factors, int64_t count, float* y) {
  Map(x, factors, count, y, [](Vector value, Vector factor) HWY_ATTR { return hn::Mul(value, factor); });
}

void AddDifferences(const float* a, const float* b, int64_t count, float scale, float* y) {
  const Vector factor = Constant(scale);
  for (int64_t i = 0; i < count; i += Lanes()) {
    const int64_t left = count - i;
    const Vector difference = hn::Sub(LoadFirst(a + i, left), LoadFirst(b + i, left));
    StoreFirst(hn::MulAdd(factor, difference, LoadFirst(y + i, left)), left, y + i);
  }
}

// `count` lanes to y at the channels that follow `channel` in `order`.
HWY_INLINE void StoreOrdered(Vector value, int64_t count, const int32_t* order, int64_t channel, float* y) {
  if (!order) return StoreFirst(value, count, y + channel);
  const F32 d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(value, d, lanes);
  for (int64_t i = 0; i < std::min(count, Lanes()); ++i) y[order[channel + i]] = lanes[i];
}

template <int64_t kRows>
HWY_INLINE void RotateBlock(const RotateColumns& rotate, int64_t first, const float* x, float* y) {
  const int64_t n = rotate.n;
  const int32_t* order = rotate.order;
  for (int64_t i = 0; i < n; i += Lanes()) {
    Vector sums[kRows];
    for (Vector& sum : sums) sum = Constant(0.0f);
    for (int64_t j = 0; j < n; ++j) {
      const Vector column = LoadFirst(rotate.blocks + (first + j) * n + i, n - i);
      const int64_t channel = order ? order[first + j] : first + j;
      for (int64_t r = 0; r < kRows; ++r)
        sums[r] = hn::MulAdd(Constant(x[r * rotate.stride + channel]), column, sums[r]);
    }
    for (int64_t r = 0; r < kRows; ++r) StoreOrdered(sums[r], n - i, order, first + i, y + r * rotate.stride);
  }
}

void RotateRows(const RotateColumns& rotate, int64_t begin, int64_t end) {
  int64_t row = begin;
  for (; row + kRowsAtOnce <= end; row += kRowsAtOnce)
    for (int64_t first = 0; first < rotate.channels; first += rotate.n)
      RotateBlock<kRowsAtOnce>(rotate, first, rotate.x + row * rotate.stride, rotate.y + row * rotate.stride);
  for (; row < end; ++row)
    for (int64_t first = 0; first < rotate.channels; first += rotate.n)
      RotateBlock<1>(rotate, first, rotate.x + row * rotate.stride, rotate.y + row * rotate.stride);
}

void MixRow(const MixGroups& mix, int64_t row) {
  const float* x = mix.x + row * mix.in_groups * mix.width;
  const Vector scale = Constant(mix.scale);
  for (int64_t p = 0; p < mix.out_groups; ++p) {
    float* y = mix.y + row * mix.y_stride + p * mix.width;
    for (int64_t u = 0; u < mix.width; u += Lanes()) {
      Vector sum = Constant(0.0f);
      for (int64_t q = 0; q < mix.in_groups; ++q)
        sum =
            hn::MulAdd(Constant(mix.left[p * mix.in_groups + q]), LoadFirst(x + q * mix.width + u, mix.width - u), sum);
      StoreFirst(hn::MulAdd(scale, sum, LoadFirst(y + u, mix.width - u)), mix.width - u, y + u);
    }
  }
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(ScaleRow);
HWY_EXPORT(AddDifferences);
HWY_EXPORT(RotateRows);
HWY_EXPORT(MixRow);

constexpr int64_t kRowGrain = 16;  // rows to a piece of heavier work; a whole number of those that go together

}  // namespace

void scale_columns(Device&, const ScaleColumns& scale) {
  parallel_ranges(scale.rows, std::max<int64_t>(1, kGrain / scale.channels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(ScaleRow)
    (scale.x + row * scale.stride, scale.factors, scale.channels, scale.y + row * scale.stride);
  });
}

void rotate_columns(Device&, const RotateColumns& rotate) {
  parallel_ranges(rotate.rows, kRowGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(RotateRows)(rotate, begin, end);
  });
}

void mix_groups(Device&, const MixGroups& mix) {
  parallel_ranges(mix.rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(MixRow)(mix, row);
  });
}

void add_difference(Device&, const AddDifference& add) {
  parallel_ranges(add.count, kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(AddDifferences)(add.a + begin, add.b + begin, end - begin, add.scale, add.y + begin);
  });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
