// Winograd's convolutions: cuts images into tiles, takes so many of them at a time that their components stay in the
// cache, and leaves the products to oneDNN.
#include "device/cpu/winograd.h"

#include <algorithm>
#include <limits>

#include "device/cpu/gathered.h"
#include "device/cpu/panel.h"
#include "device/cpu/row_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/winograd.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/winograd-inl.h"

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(TransformInputOfTile);
HWY_EXPORT(TransformOutputOfTile);
HWY_EXPORT(TransformFiltersOfTile);

constexpr int64_t kMostTiles = 256;    // in work at a time: measured, 128 to 512 are much the same
constexpr int64_t kTilesPerPiece = 4;  // of one thread

size_t bytes_of(Compute compute) { return compute == Compute::kBf16 ? sizeof(uint16_t) : sizeof(float); }
int64_t components_of(int64_t tile) { return (tile + kKernel - 1) * (tile + kKernel - 1); }

// How the outputs of a convolution are cut into tiles, all images one after the other.
struct Tiling {
  const Conv& conv;
  int64_t tile, out_height, out_width, rows, columns;

  Tiling(const Conv& of, int64_t tile_side)
      : conv(of),
        tile(tile_side),
        out_height(of.geometry.out_height(of.height, kKernel)),
        out_width(of.geometry.out_width(of.width, kKernel)),
        rows((out_height + tile - 1) / tile),
        columns((out_width + tile - 1) / tile) {}

  int64_t count() const { return conv.batch * rows * columns; }
  int64_t image(int64_t i) const { return i / (rows * columns); }
  int64_t top(int64_t i) const { return i / columns % rows * tile; }
  int64_t left(int64_t i) const { return i % columns * tile; }

  // Into square.pixels.
  void find_inputs(int64_t i, const float* zeros, InputSquare& square) const {
    const int64_t side = tile + kKernel - 1;
    const int64_t first_row = top(i) - conv.geometry.pad_top, first_column = left(i) - conv.geometry.pad_left;
    for (int64_t k = 0; k < side * side; ++k) {
      const int64_t row = first_row + k / side, column = first_column + k % side;
      const bool inside = row >= 0 && row < conv.height && column >= 0 && column < conv.width;
      square.pixels[k] =
          inside ? conv.x + ((image(i) * conv.height + row) * conv.width + column) * square.channels : zeros;
    }
  }
  void find_outputs(int64_t i, OutputTile& outputs) const {
    for (int64_t k = 0; k < tile * tile; ++k) {
      const int64_t row = top(i) + k / tile, column = left(i) + k % tile;
      const bool inside = row < out_height && column < out_width;
      outputs.pixels[k] =
          inside ? conv.y + ((image(i) * out_height + row) * out_width + column) * conv.y_stride : nullptr;
    }
  }
};

// The components of tiles [first, first + count).
void transform_inputs(CpuDevice& device, const Tiling& tiling, int64_t first, int64_t count, void* components) {
  const Compute compute = packed(tiling.conv.w).compute;
  const int64_t in = tiling.conv.w->shape[1];
  float* zeros = device.slice_x.floats(in);
  std::fill_n(zeros, in, 0.0f);
  parallel_ranges(count, kTilesPerPiece, [&](int64_t begin, int64_t end) {
    InputSquare square{{}, in, compute, nullptr, count * in};
    for (int64_t i = begin; i < end; ++i) {
      tiling.find_inputs(first + i, zeros, square);
      square.components = static_cast<std::byte*>(components) + static_cast<size_t>(i * in) * bytes_of(compute);
      HWY_DYNAMIC_DISPATCH(TransformInputOfTile)(tiling.tile, square);
    }
  });
}

void transform_outputs(const Tiling& tiling, int64_t first, int64_t count, const float* components) {
  const int64_t out = tiling.conv.w->shape[0];
  parallel_ranges(count, kTilesPerPiece, [&](int64_t begin, int64_t end) {
    OutputTile outputs{nullptr, count * out, {}, out, tiling.conv.accumulate};
    for (int64_t i = begin; i < end; ++i) {
      tiling.find_outputs(first + i, outputs);
      outputs.components = components + i * out;
      HWY_DYNAMIC_DISPATCH(TransformOutputOfTile)(tiling.tile, outputs);
    }
  });
}

}  // namespace

WinogradRange winograd_range(const PackConv& pack) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kFewestChannels = 32;
  const Shape& shape = pack.shape;
  const bool fits = shape[2] == kKernel && shape[3] == kKernel && pack.geometry.stride == 1 &&
                    pack.geometry.groups == 1 && shape[0] >= kFewestChannels && shape[1] >= kFewestChannels;
  const int64_t fewest = pack.geometry.groups == 1 ? kGatheredBelow : 0;
  if (!fits) return {0, fewest, kMost};
  if (pack.compute == Compute::kBf16) return {2, fewest, kMost};
  const int64_t pixels = pack.batch * pack.height * pack.width;
  return pixels < 1024 ? WinogradRange{2, fewest, 1023} : WinogradRange{4, 1024, kMost};
}

void pack_winograd(CpuDevice& device, const PackConv& pack, int64_t tile) {
  const int64_t out = pack.shape[0], in = pack.shape[1], plane = out * in;
  const auto bytes = static_cast<int64_t>(bytes_of(pack.compute));
  PackedWeight& weight = reserve(pack.panel, static_cast<size_t>(components_of(tile) * plane * bytes), pack.compute);
  weight.winograd_tile = tile;
  pack.panel->shape = pack.shape;
  const int64_t width = in * kKernel * kKernel;
  for_row_blocks(device, pack.weight, out, width, rows_together(width),
                 [&](int64_t begin, int64_t end, const float* rows) {
                   for (int64_t n = begin; n < end; ++n) HWY_DYNAMIC_DISPATCH(TransformFiltersOfTile)
                   (tile, {rows + (n - begin) * width, in, pack.compute, weight.bytes.get() + n * in * bytes, plane});
                 });
}

void conv_winograd(CpuDevice& device, const Conv& conv) {
  const PackedWeight& weight = packed(conv.w);
  const Tiling tiling(conv, weight.winograd_tile);
  const int64_t components = components_of(tiling.tile), tiles = tiling.count();
  const int64_t out = conv.w->shape[0], in = conv.w->shape[1];
  // Chunks of one size, so that few primitives are needed.
  const int64_t chunks = (tiles + kMostTiles - 1) / kMostTiles, chunk = (tiles + chunks - 1) / chunks;
  void* inputs = device.components.reserve(static_cast<size_t>(components * chunk * in) * bytes_of(weight.compute));
  float* sums = device.sums.floats(components * chunk * out);
  for (int64_t first = 0; first < tiles; first += chunk) {
    const int64_t count = std::min(chunk, tiles - first);
    transform_inputs(device, tiling, first, count, inputs);
    device.onednn.run(BatchedMatmul{components, count, out, in, weight.compute, inputs, weight.bytes.get(), sums});
    transform_outputs(tiling, first, count, sums);
  }
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
