// Products that oneDNN does not take as they come: strided rows, and float32 where it wants bfloat16, go through dense
// copies of a slice that stays in the cache; a 1x1 convolution is a product of pixels and weights; those with larger
// kernels are Winograd's, gathered or direct, by their shapes.
#include <algorithm>
#include <utility>

#include "device/cpu/bf16.h"
#include "device/cpu/blocked.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/gathered.h"
#include "device/cpu/kernels.h"
#include "device/cpu/panel.h"
#include "device/cpu/row_blocks.h"
#include "device/cpu/winograd.h"

namespace veneer::device::cpu {
namespace {

constexpr int64_t kSliceFloats = int64_t{1} << 18;  // 1 MiB, unless it takes more for
constexpr int64_t kFewestRows = 256;                // so many; with 80, products ran at three quarters of their speed

bool is_matmul(const Shape& shape, const ConvGeometry& g) {
  return shape[2] == 1 && shape[3] == 1 && g.stride == 1 && g.groups == 1 && g.pad_top == 0 && g.pad_left == 0 &&
         g.pad_bottom == 0 && g.pad_right == 0;
}

// x as oneDNN takes it: dense, and of the panel's type.
const void* operand(CpuDevice& device, Rows<const float> x, int64_t rows, int64_t columns, const Panel* w) {
  const auto count = static_cast<size_t>(rows * columns);
  if (packed(w).compute == Compute::kBf16) {
    auto* rounded = static_cast<uint16_t*>(device.slice_x.reserve(count * sizeof(uint16_t)));
    round_to_bf16(x, rows, columns, rounded);
    return rounded;
  }
  if (x.stride == columns) return x.data;
  float* dense = device.slice_x.floats(rows * columns);
  copy_rows(x, rows, columns, {dense, columns}, false);
  return dense;
}

// One slice of rows; x and y are made dense where they are not.
void multiply_slice(CpuDevice& device, Matmul product) {
  const int64_t out = product.w->shape[0], in = product.w->shape[1];
  const void* x = operand(device, {product.x, product.x_stride}, product.rows, in, product.w);
  if (product.y_stride == out) return device.onednn.run(product, x);
  const Rows<float> y{product.y, product.y_stride};
  const bool accumulate = std::exchange(product.accumulate, false);
  product.y = device.slice_y.floats(product.rows * out);
  product.y_stride = out;
  device.onednn.run(product, x);
  copy_rows({product.y, out}, product.rows, out, y, accumulate);
}

// y is dense.
void convolve(CpuDevice& device, const Conv& conv) {
  const int64_t channels = conv.w->shape[1] * conv.geometry.groups;
  const int64_t pixels = conv.batch * conv.height * conv.width;
  device.onednn.run(conv, operand(device, {conv.x, channels}, pixels, channels, conv.w));
}

void pack_direct(CpuDevice& device, const PackConv& pack) {
  device.onednn.pack(pack, all_rows(device, pack.weight, pack.shape[0], pack.shape.elements() / pack.shape[0]));
}

}  // namespace

void pack_matmul(Device& device, const PackMatmul& pack) {
  CpuDevice& cpu = CpuDevice::of(device);
  if (const auto layout = cpu.onednn.reserve_blocked(pack)) return pack_blocked(cpu, pack, *layout);
  if (float* rows = cpu.onednn.reserve_plain(pack)) return put_rows(pack.rows, pack.out, pack.in, rows);
  cpu.onednn.pack(pack, all_rows(cpu, pack.rows, pack.out, pack.in));
}

void matmul(Device& device, const Matmul& product) {
  const int64_t out = product.w->shape[0], in = product.w->shape[1];
  const bool dense = product.x_stride == in && product.y_stride == out;
  if (dense && packed(product.w).compute == Compute::kF32) return CpuDevice::of(device).onednn.run(product, product.x);
  const int64_t slice = std::max(kFewestRows, kSliceFloats / std::max(in, out));
  for (int64_t row = 0; row < product.rows; row += slice) {
    Matmul part = product;
    part.x += row * product.x_stride;
    part.y += row * product.y_stride;
    part.rows = std::min(slice, product.rows - row);
    multiply_slice(CpuDevice::of(device), part);
  }
}

void pack_conv(Device& device, const PackConv& pack) {
  if (is_matmul(pack.shape, pack.geometry)) {
    pack_matmul(device, {pack.weight, pack.shape[0], pack.shape[1], pack.panel, pack.compute});
    pack.panel->shape = pack.shape;
    return;
  }
  CpuDevice& cpu = CpuDevice::of(device);
  if (cpu.strict()) return pack_direct(cpu, pack);
  if (is_best_gathered(pack)) return pack_gathered(cpu, pack);
  const WinogradRange range = winograd_range(pack);
  if (range.tile == 0)
    pack_direct(cpu, pack);
  else
    pack_winograd(cpu, pack, range.tile);
  pack.panel->fewest_pixels = range.fewest_pixels;
  pack.panel->most_pixels = range.most_pixels;
}

void conv(Device& device, const Conv& conv) {
  const Shape& shape = conv.w->shape;
  if (is_matmul(shape, conv.geometry)) {
    const int64_t pixels = conv.batch * conv.height * conv.width;
    return matmul(device, {conv.x, pixels, shape[1], conv.w, conv.y, conv.y_stride, conv.accumulate});
  }
  CpuDevice& cpu = CpuDevice::of(device);
  if (packed(conv.w).winograd_tile > 0) return conv_winograd(cpu, conv);
  if (packed(conv.w).gathered) return conv_gathered(cpu, conv);
  if (conv.y_stride == shape[0]) return convolve(cpu, conv);
  // One image at a time through a dense copy.
  const int64_t pixels =
      conv.geometry.out_height(conv.height, shape[2]) * conv.geometry.out_width(conv.width, shape[3]);
  Conv part = conv;
  part.batch = 1;
  part.y = cpu.slice_y.floats(pixels * shape[0]);
  part.y_stride = shape[0];
  part.accumulate = false;
  for (int64_t b = 0; b < conv.batch; ++b) {
    part.x = conv.x + b * conv.height * conv.width * shape[1] * conv.geometry.groups;
    convolve(cpu, part);
    copy_rows({part.y, shape[0]}, pixels, shape[0], {conv.y + b * pixels * conv.y_stride, conv.y_stride},
              conv.accumulate);
  }
}

}  // namespace veneer::device::cpu
