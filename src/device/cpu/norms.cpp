// Group and layer normalization. Sums are carried in double precision, where the square of the mean can be taken off
// the mean of the squares without harm, and are cut into chunks that depend on the shape alone.
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"
#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/norms.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

using F64 = hn::ScalableTag<double>;
using Half = hn::Rebind<float, F64>;
inline int64_t DoubleLanes() { return static_cast<int64_t>(hn::Lanes(F64())); }

// sum[c] += x[p, c] and squares[c] += x[p, c]^2 over kPixels pixels.
template <int kPixels>
HWY_INLINE void AddMoments(const float* x, int64_t channels, double* sum, double* squares) {
  const F64 d;
  int64_t c = 0;
  for (; c + DoubleLanes() <= channels; c += DoubleLanes()) {
    auto s = hn::LoadU(d, sum + c), q = hn::LoadU(d, squares + c);
    for (int p = 0; p < kPixels; ++p) {
      const auto value = hn::PromoteTo(d, hn::LoadU(Half(), x + p * channels + c));
      s = hn::Add(s, value);
      q = hn::MulAdd(value, value, q);
    }
    hn::StoreU(s, d, sum + c);
    hn::StoreU(q, d, squares + c);
  }
  for (; c < channels; ++c)
    for (int p = 0; p < kPixels; ++p) {
      const double value = x[p * channels + c];
      sum[c] += value;
      squares[c] += value * value;
    }
}

// Sums and sums of squares of each channel over `pixels` pixels.
void Moments(const float* x, int64_t pixels, int64_t channels, double* sum, double* squares) {
  std::fill_n(sum, channels, 0.0);
  std::fill_n(squares, channels, 0.0);
  constexpr int kTogether = 4;
  int64_t p = 0;
  for (; p + kTogether <= pixels; p += kTogether) AddMoments<kTogether>(x + p * channels, channels, sum, squares);
  for (; p < pixels; ++p) AddMoments<1>(x + p * channels, channels, sum, squares);
}

// y[p, c] = (x[p, c] - mean[c]) * scale[c] + bias[c], then silu where asked for, for `pixels` pixels from the value
// `first` on.
void Normalize(const GroupNorm& norm, int64_t first, int64_t pixels, const float* mean, const float* scale) {
  const int64_t channels = norm.channels;
  const float* x = norm.x + first;
  float* y = norm.y + first;
  for (int64_t p = 0; p < pixels; ++p, x += channels, y += channels)
    for (int64_t c = 0; c < channels; c += Lanes()) {
      const int64_t left = channels - c;
      const Vector centred = hn::Sub(LoadFirst(x + c, left), LoadFirst(mean + c, left));
      const Vector value = hn::MulAdd(centred, LoadFirst(scale + c, left), LoadFirst(norm.bias + c, left));
      StoreFirst(norm.silu ? Silu(value) : value, left, y + c);
    }
}

void NormalizeRow(const LayerNorm& norm, int64_t row) {
  const F64 d;
  const int64_t channels = norm.channels;
  const float* x = norm.x + row * channels;
  float* y = norm.y + row * channels;
  auto sums = hn::Zero(d), squares = hn::Zero(d);
  int64_t c = 0;
  for (; c + DoubleLanes() <= channels; c += DoubleLanes()) {
    const auto value = hn::PromoteTo(d, hn::LoadU(Half(), x + c));
    sums = hn::Add(sums, value);
    squares = hn::MulAdd(value, value, squares);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, sums)), square = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; c < channels; ++c) {
    const double value = x[c];
    sum += value;
    square += value * value;
  }
  const double mean = sum / static_cast<double>(channels);
  const double variance = std::max(0.0, square / static_cast<double>(channels) - mean * mean);
  const Vector centre = Constant(static_cast<float>(mean));
  const Vector scale = Constant(static_cast<float>(1 / std::sqrt(variance + norm.epsilon)));
  for (c = 0; c < channels; c += Lanes()) {
    const int64_t left = channels - c;
    Vector value = hn::Mul(hn::Sub(LoadFirst(x + c, left), centre), scale);
    if (norm.gain) value = hn::Mul(value, LoadFirst(norm.gain + c, left));
    if (norm.bias) value = hn::Add(value, LoadFirst(norm.bias + c, left));
    StoreFirst(value, left, y + c);
  }
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(Moments);
HWY_EXPORT(Normalize);
HWY_EXPORT(NormalizeRow);

constexpr int64_t kChunkFloats = int64_t{1} << 16;  // 256 KiB: a part of the second-level cache

// From the moments of the chunks of one image to mean and scale of each channel.
void finish_statistics(const GroupNorm& norm, const double* moments, int64_t chunks, float* mean, float* scale) {
  const int64_t width = norm.channels / norm.groups;
  const double count = static_cast<double>(norm.pixels * width);
  for (int64_t g = 0; g < norm.groups; ++g) {
    double sum = 0, square = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t c = g * width; c < (g + 1) * width; ++c) {
        sum += moments[chunk * 2 * norm.channels + c];
        square += moments[(chunk * 2 + 1) * norm.channels + c];
      }
    const double average = sum / count;
    const double variance = std::max(0.0, square / count - average * average);
    const double inverse = 1 / std::sqrt(variance + norm.epsilon);
    for (int64_t c = g * width; c < (g + 1) * width; ++c) {
      mean[c] = static_cast<float>(average);
      scale[c] = static_cast<float>(inverse * norm.gain[c]);
    }
  }
}

}  // namespace

void group_norm(Device& device, const GroupNorm& norm) {
  CpuDevice& cpu = CpuDevice::of(device);
  const int64_t channels = norm.channels;
  const int64_t chunk_pixels = std::max<int64_t>(1, kChunkFloats / channels);
  const int64_t chunks = (norm.pixels + chunk_pixels - 1) / chunk_pixels;  // of one image
  double* moments = cpu.moments.doubles(norm.batch * chunks * 2 * channels);
  float* affine = cpu.affine.floats(norm.batch * 2 * channels);
  // Chunk `i` of all images: its offset in x and y, and its length in pixels.
  const auto offset = [&](int64_t i) { return (i / chunks * norm.pixels + i % chunks * chunk_pixels) * channels; };
  const auto pixels = [&](int64_t i) { return std::min(chunk_pixels, norm.pixels - i % chunks * chunk_pixels); };

  parallel_for(norm.batch * chunks, [&](int64_t i) {
    double* sum = moments + i * 2 * channels;
    HWY_DYNAMIC_DISPATCH(Moments)(norm.x + offset(i), pixels(i), channels, sum, sum + channels);
  });
  for (int64_t b = 0; b < norm.batch; ++b) {
    float* mean = affine + b * 2 * channels;
    finish_statistics(norm, moments + b * chunks * 2 * channels, chunks, mean, mean + channels);
  }
  parallel_for(norm.batch * chunks, [&](int64_t i) {
    const float* mean = affine + i / chunks * 2 * channels;
    HWY_DYNAMIC_DISPATCH(Normalize)(norm, offset(i), pixels(i), mean, mean + channels);
  });
}

void layer_norm(Device&, const LayerNorm& norm) {
  const int64_t piece = std::max<int64_t>(1, kChunkFloats / norm.channels / 4);
  parallel_ranges(norm.rows, piece, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(NormalizeRow)(norm, row);
  });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
