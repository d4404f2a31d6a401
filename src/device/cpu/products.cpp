// Products that oneDNN does not take as they come: strided rows go through dense copies of a slice that stays in the
// cache, and a 1x1 convolution is a product of pixels and weights.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"

namespace veneer::device::cpu {
namespace {

constexpr int64_t kSliceFloats = int64_t{1} << 18;  // 1 MiB

bool is_matmul(const Shape& shape, const ConvGeometry& g) {
  return shape[2] == 1 && shape[3] == 1 && g.stride == 1 && g.groups == 1 && g.pad_top == 0 && g.pad_left == 0 &&
         g.pad_bottom == 0 && g.pad_right == 0;
}

// One slice of rows; x and y are made dense where they are not.
void multiply_slice(CpuDevice& device, Matmul product) {
  const int64_t out = product.w->shape[0], in = product.w->shape[1];
  float* y = product.y;
  const int64_t y_stride = product.y_stride;
  const bool accumulate = product.accumulate;
  if (product.x_stride != in) {
    float* dense = device.slice_x.floats(product.rows * in);
    copy_rows({product.x, product.x_stride}, product.rows, in, {dense, in}, false);
    product.x = dense;
    product.x_stride = in;
  }
  if (y_stride != out) {
    product.y = device.slice_y.floats(product.rows * out);
    product.y_stride = out;
    product.accumulate = false;
  }
  device.onednn.run(product);
  if (y_stride != out) copy_rows({product.y, out}, product.rows, out, {y, y_stride}, accumulate);
}

}  // namespace

void pack_matmul(Device& device, const PackMatmul& pack) { CpuDevice::of(device).onednn.pack(pack); }

void matmul(Device& device, const Matmul& product) {
  const int64_t out = product.w->shape[0], in = product.w->shape[1];
  if (product.x_stride == in && product.y_stride == out) return CpuDevice::of(device).onednn.run(product);
  const int64_t slice = std::max<int64_t>(64, kSliceFloats / std::max(in, out));
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
    pack_matmul(device, {pack.weight, pack.shape[0], pack.shape[1], pack.panel});
    pack.panel->shape = pack.shape;
  } else {
    CpuDevice::of(device).onednn.pack(pack);
  }
}

void conv(Device& device, const Conv& conv) {
  const Shape& shape = conv.w->shape;
  if (is_matmul(shape, conv.geometry)) {
    const int64_t pixels = conv.batch * conv.height * conv.width;
    return matmul(device, {conv.x, pixels, shape[1], conv.w, conv.y, conv.y_stride, conv.accumulate});
  }
  CpuDevice& cpu = CpuDevice::of(device);
  if (conv.y_stride == shape[0]) return cpu.onednn.run(conv);
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
    cpu.onednn.run(part);
    copy_rows({part.y, shape[0]}, pixels, shape[0], {conv.y + b * pixels * conv.y_stride, conv.y_stride},
              conv.accumulate);
  }
}

}  // namespace veneer::device::cpu
