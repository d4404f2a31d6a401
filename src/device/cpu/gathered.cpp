// Rows of gathered inputs: [output pixel][channel][kernel row][kernel column], in the order in which weights lie.
#include "device/cpu/gathered.h"

#include <algorithm>
#include <array>
#include <vector>

#include "device/cpu/kernels.h"
#include "device/cpu/panel.h"
#include "device/cpu/parallel.h"

namespace veneer::device::cpu {
namespace {

// row[c][k] = taps[k][c].
void interleave(const float* const* taps, size_t count, int64_t channels, float* row) {
  for (int64_t c = 0; c < channels; ++c)
    for (size_t k = 0; k < count; ++k) *row++ = taps[k][c];
}

// The same for a count that the compiler knows, which takes less than half the time.
template <size_t kCount>
void interleave(const float* const* taps, int64_t channels, float* row) {
  std::array<const float*, kCount> from;
  std::copy_n(taps, kCount, from.begin());
  for (int64_t c = 0; c < channels; ++c, row += kCount)
    for (size_t k = 0; k < kCount; ++k) row[k] = from[k][c];
}

// Where one output pixel's inputs come from.
class Gatherer {
 public:
  explicit Gatherer(const Conv& conv)
      : conv_(conv),
        channels_(conv.w->shape[1]),
        kernel_(conv.w->shape[2]),
        columns_(conv.w->shape[3]),
        out_height_(conv.geometry.out_height(conv.height, kernel_)),
        out_width_(conv.geometry.out_width(conv.width, columns_)),
        zeros_(static_cast<size_t>(channels_)) {}

  int64_t pixels() const { return conv_.batch * out_height_ * out_width_; }
  int64_t width() const { return channels_ * kernel_ * columns_; }

  void gather(int64_t pixel, float* row) const {
    const int64_t image = pixel / (out_height_ * out_width_);
    const int64_t top = pixel / out_width_ % out_height_ * conv_.geometry.stride - conv_.geometry.pad_top;
    const int64_t left = pixel % out_width_ * conv_.geometry.stride - conv_.geometry.pad_left;
    std::vector<const float*> taps(static_cast<size_t>(kernel_ * columns_));
    for (int64_t k = 0; k < kernel_ * columns_; ++k) {
      const int64_t y = top + k / columns_, x = left + k % columns_;
      const bool inside = y >= 0 && y < conv_.height && x >= 0 && x < conv_.width;
      taps[static_cast<size_t>(k)] =
          inside ? conv_.x + ((image * conv_.height + y) * conv_.width + x) * channels_ : zeros_.data();
    }
    if (taps.size() == 9)
      interleave<9>(taps.data(), channels_, row);
    else
      interleave(taps.data(), taps.size(), channels_, row);
  }

 private:
  const Conv& conv_;
  int64_t channels_, kernel_, columns_, out_height_, out_width_;
  std::vector<float> zeros_;
};

}  // namespace

bool is_best_gathered(const PackConv& pack) {
  return pack.geometry.groups == 1 && pack.batch * pack.height * pack.width < kGatheredBelow;
}

void pack_gathered(CpuDevice& device, const PackConv& pack) {
  const int64_t width = pack.shape[1] * pack.shape[2] * pack.shape[3];
  pack_matmul(device, {pack.weight, pack.shape[0], width, pack.panel, pack.compute});
  packed(pack.panel).gathered = true;
  pack.panel->shape = pack.shape;
  pack.panel->most_pixels = kGatheredBelow - 1;
}

void conv_gathered(CpuDevice& device, const Conv& conv) {
  const Gatherer gatherer(conv);
  const int64_t width = gatherer.width(), pixels = gatherer.pixels();
  float* rows = device.components.floats(pixels * width);
  parallel_for(pixels, [&](int64_t pixel) { gatherer.gather(pixel, rows + pixel * width); });
  Panel flat = *conv.w;
  flat.shape = {conv.w->shape[0], width};
  matmul(device, {rows, pixels, width, &flat, conv.y, conv.y_stride, conv.accumulate});
}

}  // namespace veneer::device::cpu
