// Matrix products and convolutions of every device against the reference.
//
// Tolerance: float32 sums of n products of unit normals have a relative error of some sqrt(n) 2^-25; with n up to 1200
// 1e-6 as root mean square and ten times that for the worst of some thousand values leave a factor of about two.
#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{1e-6, 1e-5};

class ProductTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Products, ProductTest, testing::ValuesIn(tested_devices()));

struct MatmulCase {
  int64_t rows, in, out, x_gap, y_gap;
  bool accumulate;
};

// The whole of y is compared, so that a store into a gap between rows is seen.
void check(Device& device, Device& reference, const MatmulCase& c, uint64_t seed) {
  SCOPED_TRACE(concat("matmul ", c.rows, " x ", c.in, " -> ", c.out, " gaps ", c.x_gap, " ", c.y_gap, " accumulate ",
                      c.accumulate));
  Random random(seed);
  const Values w = random.normal(c.out * c.in), x = random.normal(c.rows * (c.in + c.x_gap));
  const Values before = random.normal(c.rows * (c.out + c.y_gap));
  const auto run = [&](Device& on) {
    Panel panel;
    on.run(PackMatmul{w.data(), c.out, c.in, &panel});
    EXPECT_EQ(panel.shape, (Shape{c.out, c.in}));
    EXPECT_GE(panel.bytes, w.size() * sizeof(float));
    Values y = before;
    on.run(Matmul{x.data(), c.rows, c.in + c.x_gap, &panel, y.data(), c.out + c.y_gap, c.accumulate});
    return y;
  };
  expect_close(run(device), run(reference), kTolerance);
}

TEST_P(ProductTest, MatmulOfChosenShapes) {
  const MatmulCase cases[] = {
      {1, 1, 1, 0, 0, false},         {1, 1280, 320, 0, 0, false},
      {2, 320, 1280, 0, 0, true},     {77, 768, 64, 0, 0, false},
      {256, 320, 4, 0, 0, false},     {256, 4, 320, 0, 0, true},
      {33, 17, 33, 0, 0, false},      {5, 64, 48, 64, 96, true},
      {1500, 320, 96, 320, 0, false},  // several slices of strided rows
      {1500, 96, 320, 0, 640, true},
  };
  for (const MatmulCase& c : cases) check(*device, *reference, c, 1);
}

TEST_P(ProductTest, MatmulOfRandomShapes) {
  Random random(2);
  for (uint64_t i = 0; i < 60; ++i) {
    const int64_t x_gap = random.chance() ? 0 : random.integer(1, 40),
                  y_gap = random.chance() ? 0 : random.integer(1, 40);
    check(*device, *reference,
          {random.integer(1, 130), random.integer(1, 200), random.integer(1, 200), x_gap, y_gap, random.chance()}, i);
  }
}

TEST_P(ProductTest, OnePanelServesAnyNumberOfRows) {
  Random random(3);
  const Values w = random.normal(65 * 50), x = random.normal(300 * 50);
  Panel panel, expected_panel;
  device->run(PackMatmul{w.data(), 65, 50, &panel});
  reference->run(PackMatmul{w.data(), 65, 50, &expected_panel});
  for (const int64_t rows : {1, 300, 2, 77}) {
    Values y(static_cast<size_t>(rows * 65)), expected(y.size());
    device->run(Matmul{x.data(), rows, 50, &panel, y.data(), 65});
    reference->run(Matmul{x.data(), rows, 50, &expected_panel, expected.data(), 65});
    expect_close(y, expected, kTolerance);
  }
}

struct ConvCase {
  int64_t batch, height, width, in, out, kernel_height, kernel_width;
  ConvGeometry geometry;
  int64_t y_gap;
  bool accumulate;
  int64_t hint_size = 0;  // square size that the panel is packed for; 0: the true one
};

void check(Device& device, Device& reference, const ConvCase& c, uint64_t seed) {
  const ConvGeometry& g = c.geometry;
  SCOPED_TRACE(concat("conv ", c.batch, "x", c.height, "x", c.width, " ", c.in, " -> ", c.out, " kernel ",
                      c.kernel_height, "x", c.kernel_width, " stride ", g.stride, " padding ", g.pad_top, " ",
                      g.pad_left, " ", g.pad_bottom, " ", g.pad_right, " groups ", g.groups, " gap ", c.y_gap,
                      " accumulate ", c.accumulate, " hint ", c.hint_size));
  Random random(seed);
  const Shape shape{c.out, c.in / g.groups, c.kernel_height, c.kernel_width};
  const Values w = random.normal(shape.elements()), x = random.normal(c.batch * c.height * c.width * c.in);
  const int64_t pixels = c.batch * g.out_height(c.height, c.kernel_height) * g.out_width(c.width, c.kernel_width);
  const Values before = random.normal(pixels * (c.out + c.y_gap));
  const auto run = [&](Device& on) {
    const int64_t height = c.hint_size ? c.hint_size : c.height, width = c.hint_size ? c.hint_size : c.width;
    Panel panel;
    on.run(PackConv{w.data(), shape, g, c.batch, height, width, &panel});
    EXPECT_EQ(panel.shape, shape);
    EXPECT_GE(panel.bytes, w.size() * sizeof(float));
    Values y = before;
    on.run(Conv{x.data(), c.batch, c.height, c.width, &panel, g, y.data(), c.out + c.y_gap, c.accumulate});
    return y;
  };
  expect_close(run(device), run(reference), kTolerance);
}

TEST_P(ProductTest, ConvOfChosenShapes) {
  const ConvGeometry same = ConvGeometry::same(3), halving = ConvGeometry::same(3, 2);
  const ConvGeometry bottom_right{2, 0, 0, 1, 1, 1}, patches{4, 0, 0, 0, 0, 1}, none{};
  const ConvGeometry grouped{1, 1, 1, 1, 1, 4}, depthwise{1, 1, 1, 1, 1, 16};
  const ConvCase cases[] = {
      {1, 1, 1, 3, 5, 1, 1, none, 0, false},
      {1, 1, 1, 3, 5, 3, 3, same, 0, false},
      {2, 16, 16, 32, 32, 3, 3, same, 0, false},
      {2, 15, 9, 20, 36, 3, 3, halving, 0, false},
      {1, 16, 16, 4, 64, 3, 3, same, 0, false},
      {1, 16, 16, 64, 4, 3, 3, same, 0, true},
      {2, 15, 17, 8, 24, 3, 3, bottom_right, 0, true},
      {1, 16, 16, 3, 40, 4, 4, patches, 0, false},
      {2, 9, 7, 33, 65, 1, 1, none, 0, true},
      {2, 9, 7, 33, 65, 1, 1, none, 31, false},
      {2, 9, 7, 33, 65, 3, 3, same, 31, true},
      {2, 8, 8, 16, 32, 3, 3, grouped, 0, false},
      {1, 8, 9, 16, 16, 3, 3, depthwise, 0, true},
      {1, 8, 8, 128, 128, 3, 3, same, 0, false},
      {1, 10, 10, 6, 7, 1, 1, {2, 0, 0, 0, 0, 1}, 0, false},
      {1, 7, 12, 5, 6, 1, 3, {1, 0, 1, 0, 1, 1}, 0, false},
  };
  for (const ConvCase& c : cases) check(*device, *reference, c, 1);
}

TEST_P(ProductTest, ConvOfRandomShapes) {
  Random random(4);
  for (uint64_t i = 0; i < 60; ++i) {
    const int64_t kernel = random.integer(1, 4), groups = random.integer(0, 3) == 0 ? random.integer(2, 4) : 1;
    const auto padding = [&] { return random.integer(0, kernel - 1); };
    const ConvGeometry geometry{random.integer(1, 2), padding(), padding(), padding(), padding(), groups};
    check(*device, *reference,
          {random.integer(1, 2), random.integer(kernel, 20), random.integer(kernel, 20), groups * random.integer(1, 24),
           groups * random.integer(1, 24), kernel, kernel, geometry, random.chance() ? 0 : random.integer(1, 20),
           random.chance()},
          i);
  }
}

TEST_P(ProductTest, ConvOfAnotherSizeThanTheHint) {
  for (const int64_t hint : {1, 8, 64})
    for (const int64_t size : {1, 5, 16, 40})
      check(*device, *reference, {1, size, size, 12, 20, 3, 3, ConvGeometry::same(3), 0, false, hint}, 6);
}

}  // namespace
}  // namespace veneer::device
