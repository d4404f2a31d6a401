// The transforms of Winograd's convolutions, compiled once for each instruction set. Each is the same linear map along
// both sides of a square, for as many channels at a time as a vector has lanes. The points of interpolation are 0, 1,
// -1 and infinity for tiles of 2x2, and 2 and -2 besides for tiles of 4x4.
#if defined(VENEER_DEVICE_CPU_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_DEVICE_CPU_WINOGRAD_INL_H_
#undef VENEER_DEVICE_CPU_WINOGRAD_INL_H_
#else
#define VENEER_DEVICE_CPU_WINOGRAD_INL_H_
#endif

#include "device/cpu/bf16-inl.h"
#include "device/cpu/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

HWY_INLINE Vector Times(float factor, Vector x) { return hn::Mul(Constant(factor), x); }
HWY_INLINE Vector AddTimes(float factor, Vector x, Vector y) { return hn::MulAdd(Constant(factor), x, y); }

// Rows of values `step` vectors apart.
struct Line {
  const Vector* values;
  int step;
  HWY_INLINE Vector operator[](int i) const { return values[i * step]; }
};
struct OutLine {
  Vector* values;
  int step;
  HWY_INLINE Vector& operator[](int i) const { return values[i * step]; }
};

template <int kTile>
struct Maps;

template <>
struct Maps<2> {
  static HWY_INLINE void Input(Line d, OutLine v) {
    v[0] = hn::Sub(d[0], d[2]);
    v[1] = hn::Add(d[1], d[2]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[1], d[3]);
  }
  static HWY_INLINE void Filter(Line g, OutLine u) {
    const Vector ends = Times(0.5f, hn::Add(g[0], g[2]));
    u[0] = g[0];
    u[1] = AddTimes(0.5f, g[1], ends);
    u[2] = AddTimes(-0.5f, g[1], ends);
    u[3] = g[2];
  }
  static HWY_INLINE void Output(Line m, OutLine y) {
    y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
};

template <>
struct Maps<4> {
  static HWY_INLINE void Input(Line d, OutLine v) {
    const Vector even1 = AddTimes(-4.0f, d[2], d[4]), odd1 = AddTimes(-4.0f, d[1], d[3]);
    const Vector even2 = hn::Sub(d[4], d[2]), odd2 = Times(2.0f, hn::Sub(d[3], d[1]));
    v[0] = AddTimes(4.0f, d[0], AddTimes(-5.0f, d[2], d[4]));
    v[1] = hn::Add(even1, odd1);
    v[2] = hn::Sub(even1, odd1);
    v[3] = hn::Add(even2, odd2);
    v[4] = hn::Sub(even2, odd2);
    v[5] = AddTimes(4.0f, d[1], AddTimes(-5.0f, d[3], d[5]));
  }
  static HWY_INLINE void Filter(Line g, OutLine u) {
    const Vector ends1 = Times(-1.0f / 6, hn::Add(g[0], g[2]));
    const Vector ends2 = AddTimes(1.0f / 24, g[0], Times(1.0f / 6, g[2]));
    u[0] = Times(0.25f, g[0]);
    u[1] = AddTimes(-1.0f / 6, g[1], ends1);
    u[2] = AddTimes(1.0f / 6, g[1], ends1);
    u[3] = AddTimes(1.0f / 12, g[1], ends2);
    u[4] = AddTimes(-1.0f / 12, g[1], ends2);
    u[5] = g[2];
  }
  static HWY_INLINE void Output(Line m, OutLine y) {
    const Vector sum1 = hn::Add(m[1], m[2]), difference1 = hn::Sub(m[1], m[2]);
    const Vector sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(sum1, sum2));
    y[1] = AddTimes(2.0f, difference2, difference1);
    y[2] = AddTimes(4.0f, sum2, sum1);
    y[3] = hn::Add(m[5], AddTimes(8.0f, difference2, difference1));
  }
};

template <int kTile, typename Component>
void TransformInput(const InputSquare& square) {
  auto* components = static_cast<Component*>(square.components);
  constexpr int kSide = kTile + 2;
  for (int64_t c = 0; c < square.channels; c += Lanes()) {
    const int64_t left = square.channels - c;
    Vector half[kSide * kSide], line[kSide];
    for (int column = 0; column < kSide; ++column) {
      for (int row = 0; row < kSide; ++row) line[row] = LoadFirst(square.pixels[row * kSide + column] + c, left);
      Maps<kTile>::Input({line, 1}, {half + column, kSide});
    }
    for (int row = 0; row < kSide; ++row) {
      Maps<kTile>::Input({half + row * kSide, 1}, {line, 1});
      for (int column = 0; column < kSide; ++column)
        StoreFirst(line[column], left, components + (row * kSide + column) * square.plane + c);
    }
  }
}

template <int kTile>
void TransformOutput(const OutputTile& tile) {
  constexpr int kSide = kTile + 2;
  for (int64_t c = 0; c < tile.channels; c += Lanes()) {
    const int64_t left = tile.channels - c;
    Vector half[kTile * kSide], line[kSide];
    for (int column = 0; column < kSide; ++column) {
      for (int row = 0; row < kSide; ++row)
        line[row] = LoadFirst(tile.components + (row * kSide + column) * tile.plane + c, left);
      Maps<kTile>::Output({line, 1}, {half + column, kSide});
    }
    for (int row = 0; row < kTile; ++row) {
      Maps<kTile>::Output({half + row * kSide, 1}, {line, 1});
      for (int column = 0; column < kTile; ++column) {
        float* y = tile.pixels[row * kTile + column];
        if (!y) continue;
        if (tile.accumulate) line[column] = hn::Add(line[column], LoadFirst(y + c, left));
        StoreFirst(line[column], left, y + c);
      }
    }
  }
}

template <int kTile, typename Component>
void TransformFilters(const FilterRow& filter) {
  auto* components = static_cast<Component*>(filter.components);
  constexpr int kSide = kTile + 2, kValues = kKernel * kKernel;
  const F32 d;
  const hn::RebindToSigned<F32> indices;
  const auto positions = hn::Mul(hn::Iota(indices, 0), hn::Set(indices, kValues));
  HWY_ALIGN float tail[kValues * hn::MaxLanes(d)];
  for (int64_t c = 0; c < filter.channels; c += Lanes()) {
    const int64_t left = filter.channels - c;
    const float* from = filter.weights + c * kValues;
    if (left < Lanes()) {
      std::fill(std::copy_n(from, left * kValues, tail), std::end(tail), 0.0f);
      from = tail;
    }
    Vector half[kSide * kKernel], line[kSide];
    for (int column = 0; column < kKernel; ++column) {
      for (int row = 0; row < kKernel; ++row) line[row] = hn::GatherIndex(d, from + row * kKernel + column, positions);
      Maps<kTile>::Filter({line, 1}, {half + column, kKernel});
    }
    for (int row = 0; row < kSide; ++row) {
      Maps<kTile>::Filter({half + row * kKernel, 1}, {line, 1});
      for (int column = 0; column < kSide; ++column)
        StoreFirst(line[column], left, components + (row * kSide + column) * filter.plane + c);
    }
  }
}

void TransformInputOfTile(int64_t tile, const InputSquare& square) {
  if (tile == 4) return TransformInput<4, float>(square);
  square.compute == Compute::kBf16 ? TransformInput<2, uint16_t>(square) : TransformInput<2, float>(square);
}
void TransformOutputOfTile(int64_t tile, const OutputTile& outputs) {
  tile == 2 ? TransformOutput<2>(outputs) : TransformOutput<4>(outputs);
}
void TransformFiltersOfTile(int64_t tile, const FilterRow& filter) {
  if (tile == 4) return TransformFilters<4, float>(filter);
  filter.compute == Compute::kBf16 ? TransformFilters<2, uint16_t>(filter) : TransformFilters<2, float>(filter);
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_DEVICE_CPU_WINOGRAD_INL_H_
