// Operations that treat each value for itself. The vector code below is compiled once for each instruction set; the
// operations at the end cut the work into pieces and pick the best one at run time.
#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"
#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

void ActivateValues(Activation kind, const float* x, int64_t count, float* y) {
  switch (kind) {
    case Activation::kSilu: return Map(x, count, y, [](Vector v) HWY_ATTR { return Silu(v); });
    case Activation::kGelu: return Map(x, count, y, [](Vector v) HWY_ATTR { return Gelu(v); });
    case Activation::kGeluTanh: return Map(x, count, y, [](Vector v) HWY_ATTR { return GeluTanh(v); });
    case Activation::kQuickGelu: return Map(x, count, y, [](Vector v) HWY_ATTR { return QuickGelu(v); });
    case Activation::kRelu: return Map(x, count, y, [](Vector v) HWY_ATTR { return hn::Max(Constant(0.0f), v); });
    case Activation::kTanhThird:
      return Map(x, count, y, [](Vector v) HWY_ATTR {
        return hn::Mul(Constant(3.0f), hn::Tanh(F32(), hn::Mul(v, Constant(1.0f / 3.0f))));
      });
  }
}

void GegluRow(const float* x, int64_t channels, float* y) {
  Map(x, x + channels, channels, y, [](Vector value, Vector gate) HWY_ATTR { return hn::Mul(value, Gelu(gate)); });
}

void AddValues(const float* x, int64_t count, float scale, float* y) {
  const Vector factor = Constant(scale);
  Map(x, y, count, y, [factor](Vector value, Vector sum) HWY_ATTR { return hn::MulAdd(factor, value, sum); });
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(ActivateValues);
HWY_EXPORT(GegluRow);
HWY_EXPORT(AddValues);

}  // namespace

void copy_rows(Rows<const float> x, int64_t rows, int64_t columns, Rows<float> y, bool accumulate) {
  parallel_ranges(rows, rows_per_piece(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x.data + row * x.stride;
      float* to = y.data + row * y.stride;
      if (accumulate)
        HWY_DYNAMIC_DISPATCH(AddValues)(from, columns, 1.0f, to);
      else
        std::copy_n(from, columns, to);
    }
  });
}

void activate(Device&, const Activate& activate) {
  parallel_ranges(activate.count, kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(ActivateValues)(activate.kind, activate.x + begin, end - begin, activate.y + begin);
  });
}

void geglu(Device&, const Geglu& geglu) {
  parallel_ranges(geglu.rows, rows_per_piece(geglu.channels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(GegluRow)
    (geglu.x + row * 2 * geglu.channels, geglu.channels, geglu.y + row * geglu.channels);
  });
}

void add_scaled(Device&, const AddScaled& add) {
  parallel_ranges(add.count, kGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(AddValues)(add.x + begin, end - begin, add.scale, add.y + begin);
  });
}

void add_vector(Device&, const AddVector& add) {
  parallel_ranges(add.batch * add.pixels, rows_per_piece(add.channels), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x = add.x + row / add.pixels * add.channels;
      HWY_DYNAMIC_DISPATCH(AddValues)(x, add.channels, 1.0f, add.y + row * add.y_stride);
    }
  });
}

void upsample(Device&, const Upsample& upsample) {
  const int64_t channels = upsample.channels, out_row = upsample.out_width * channels;
  parallel_ranges(upsample.batch * upsample.out_height, rows_per_piece(out_row), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / upsample.out_height, h = row % upsample.out_height;
      const float* x = upsample.x + (image * upsample.height + h / 2) * upsample.width * channels;
      for (int64_t w = 0; w < upsample.out_width; ++w)
        std::copy_n(x + w / 2 * channels, channels, upsample.y + row * out_row + w * channels);
    }
  });
}

void concat_channels(Device&, const Concat& concat) {
  const int64_t width = concat.a_channels + concat.b_channels;
  copy_rows({concat.a, concat.a_channels}, concat.rows, concat.a_channels, {concat.y, width}, false);
  copy_rows({concat.b, concat.b_channels}, concat.rows, concat.b_channels, {concat.y + concat.a_channels, width},
            false);
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
