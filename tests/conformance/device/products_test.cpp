// Matrix products and convolutions of every device against the reference.
//
// Tolerance: float32 sums of n products of unit normals have a relative error of some sqrt(n) 2^-25; with n up to 1200
// 1e-6 as root mean square and ten times that for the worst of some thousand values leave a factor of about two.
#include "codec/convert.h"
#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{1e-6, 1e-5};

class ProductTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Products, ProductTest, testing::ValuesIn(tested_devices()));

struct MatmulCase {
  int64_t rows, in, out, x_gap, y_gap;
  bool accumulate;
  Compute compute = Compute::kF32;
};

// Factors as the device sees them: the reference multiplies the rounded ones exactly as it does all others.
Values factors(Values values, Compute compute) {
  if (compute == Compute::kBf16)
    for (float& value : values) value = codec::bf16_to_f32(codec::f32_to_bf16(value));
  return values;
}

// The whole of y is compared, so that a store into a gap between rows is seen.
void check(Device& device, Device& reference, const MatmulCase& c, uint64_t seed) {
  SCOPED_TRACE(concat("matmul ", c.rows, " x ", c.in, " -> ", c.out, " gaps ", c.x_gap, " ", c.y_gap, " accumulate ",
                      c.accumulate));
  Random random(seed);
  const Values w = random.normal(c.out * c.in), x = random.normal(c.rows * (c.in + c.x_gap));
  const Values before = random.normal(c.rows * (c.out + c.y_gap));
  const auto run = [&](Device& on, Compute compute, const Values& of_w, const Values& of_x) {
    Panel panel;
    on.run(PackMatmul{of_w.data(), c.out, c.in, &panel, compute});
    EXPECT_EQ(panel.shape, (Shape{c.out, c.in}));
    EXPECT_GE(panel.bytes, of_w.size() * (compute == Compute::kBf16 ? 2 : 4));
    Values y = before;
    on.run(Matmul{of_x.data(), c.rows, c.in + c.x_gap, &panel, y.data(), c.out + c.y_gap, c.accumulate});
    return y;
  };
  expect_close(run(device, c.compute, w, x),
               run(reference, Compute::kF32, factors(w, c.compute), factors(x, c.compute)), kTolerance);
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

// Rows that are made when the device asks for them, in whatever pieces it likes, give the panel that ready ones give.
TEST_P(ProductTest, RowsMadeOnDemandChangeNoBit) {
  Random random(4);
  const auto maker = [](const Values& w, int64_t width) {
    return RowSource::Make([&w, width](int64_t first, int64_t count, float* out) {
      std::copy_n(w.data() + first * width, count * width, out);
    });
  };
  for (const auto& [out, in] : {std::pair<int64_t, int64_t>{65, 50}, {7, 3}, {320, 96}, {1300, 70}, {48, 1283}}) {
    SCOPED_TRACE(concat("matmul ", in, " -> ", out));
    const Values w = random.normal(out * in), x = random.normal(5 * in);
    const RowSource::Make made = maker(w, in);
    const auto product_of = [&](const RowSource& rows) {
      Panel panel;
      device->run(PackMatmul{rows, out, in, &panel});
      Values y(static_cast<size_t>(5 * out));
      device->run(Matmul{x.data(), 5, in, &panel, y.data(), out});
      return y;
    };
    EXPECT_EQ(product_of(made), product_of(w.data()));
  }
  for (const int64_t size : {6, 16, 33})
    for (const int64_t groups : {1, 4}) {
      SCOPED_TRACE(concat("conv of ", size, " pixels a side, ", groups, " groups"));
      ConvGeometry geometry = ConvGeometry::same(3);
      geometry.groups = groups;
      const Shape shape{104, 40 / groups, 3, 3};
      const Values w = random.normal(shape.elements()), x = random.normal(size * size * 40);
      const RowSource::Make made = maker(w, shape.elements() / shape[0]);
      const auto product_of = [&](const RowSource& rows) {
        Panel panel;
        device->run(PackConv{rows, shape, geometry, 1, size, size, &panel});
        Values y(static_cast<size_t>(size * size * shape[0]));
        device->run(Conv{x.data(), 1, size, size, &panel, geometry, y.data(), shape[0]});
        return y;
      };
      EXPECT_EQ(product_of(made), product_of(w.data()));
    }
}

struct ConvCase {
  int64_t batch, height, width, in, out, kernel_height, kernel_width;
  ConvGeometry geometry;
  int64_t y_gap;
  bool accumulate;
  int64_t hint_size = 0;  // square size that the panel is packed for; 0: the true one
  Compute compute = Compute::kF32;
};

void check(Device& device, Device& reference, const ConvCase& c, uint64_t seed, Tolerance tolerance = kTolerance) {
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
  const auto run = [&](Device& on, Compute compute, const Values& of_w, const Values& of_x) {
    const int64_t height = c.hint_size ? c.hint_size : c.height, width = c.hint_size ? c.hint_size : c.width;
    Panel panel;
    on.run(PackConv{of_w.data(), shape, g, c.batch, height, width, &panel, compute});
    EXPECT_EQ(panel.shape, shape);
    EXPECT_GE(panel.bytes, of_w.size() * (compute == Compute::kBf16 ? 2 : 4));
    Values y = before;
    on.run(Conv{of_x.data(), c.batch, c.height, c.width, &panel, g, y.data(), c.out + c.y_gap, c.accumulate});
    return y;
  };
  expect_close(run(device, c.compute, w, x),
               run(reference, Compute::kF32, factors(w, c.compute), factors(x, c.compute)), tolerance);
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

// Large enough for tiles of 2x2 and 4x4 outputs (winograd.h), whose transforms cost precision: 0.4e-6 to 1.6e-6 and
// 2e-6 to 7e-6 as root mean square were seen for up to 1280 channels; a factor of 1.5 and ten times that for the worst.
constexpr Tolerance kTileTolerance{1e-5, 1e-4};

TEST_P(ProductTest, ConvInTiles) {
  const ConvGeometry same = ConvGeometry::same(3), none{}, uneven{1, 2, 0, 1, 2, 1};
  const ConvCase cases[] = {
      {2, 16, 16, 64, 64, 3, 3, same, 0, false},
      {1, 17, 19, 33, 65, 3, 3, same, 0, false},  // no side, no count of channels is whole
      {1, 17, 19, 33, 65, 3, 3, same, 31, true},
      {1, 1, 300, 32, 32, 3, 3, same, 0, false},  // one row
      {2, 32, 32, 64, 32, 3, 3, same, 0, true},
      {2, 33, 31, 40, 36, 3, 3, same, 0, false},
      {2, 33, 31, 40, 36, 3, 3, same, 17, true},
      {1, 73, 65, 32, 48, 3, 3, same, 0, false},  // 323 tiles: two chunks that are not of one size
      {1, 40, 38, 48, 32, 3, 3, none, 0, false},
      {1, 40, 38, 48, 32, 3, 3, uneven, 5, true},
      {1, 20, 18, 48, 32, 3, 3, uneven, 5, false},
      {1, 35, 35, 32, 32, 3, 3, same, 0, false, 20},  // panels made for other sizes
      {1, 20, 21, 32, 32, 3, 3, same, 0, true, 64},
      {1, 3, 2, 32, 32, 3, 3, same, 0, false, 64},
      {1, 35, 35, 32, 32, 3, 3, same, 0, false, 8},
  };
  for (const ConvCase& c : cases) check(*device, *reference, c, 1, kTileTolerance);
}

// The plainest arithmetic is more precise than tiles of 4x4 can be.
TEST_P(ProductTest, StrictDeviceConvolvesByTheDefinition) {
  const auto strict = open_device(GetParam(), 2, true);
  ASSERT_TRUE(strict);
  check(**strict, *reference, {1, 40, 40, 64, 64, 3, 3, ConvGeometry::same(3), 0, false}, 1);
}

TEST(CpuProducts, PanelOfTilesTellsItsSizeAndWhatItSuits) {
  const auto device = opened("cpu");
  const Values w(64 * 32 * 9);
  const auto panel_for = [&](int64_t size) {
    Panel panel;
    device->run(PackConv{w.data(), {64, 32, 3, 3}, ConvGeometry::same(3), 1, size, size, &panel});
    return panel;
  };
  const Panel large = panel_for(32), middle = panel_for(16), small = panel_for(15);
  EXPECT_EQ(large.bytes, 36 * 64 * 32 * sizeof(float));
  EXPECT_EQ(middle.bytes, 16 * 64 * 32 * sizeof(float));
  EXPECT_EQ(small.bytes, 9 * 64 * 32 * sizeof(float));
  EXPECT_TRUE(large.suits(32 * 32) && large.suits(int64_t{1} << 40));
  EXPECT_FALSE(large.suits(32 * 32 - 1));
  EXPECT_TRUE(middle.suits(16 * 16) && middle.suits(32 * 32 - 1));
  EXPECT_FALSE(middle.suits(16 * 16 - 1) || middle.suits(32 * 32));
  EXPECT_TRUE(small.suits(1));
  EXPECT_FALSE(small.suits(16 * 16));
}

// A processor without the instructions does not offer it, and says so.
bool offers_bf16(const Device& device) {
  const bool offers = device.can_compute(Compute::kBf16);
  if (!offers) {
    EXPECT_FALSE(contains(device.description(), "BF16"));
  }
  return offers;
}

// Products of two bfloat16 numbers are float32 numbers: what remains is the order of the sums, as for float32.
TEST_P(ProductTest, Bf16MatmulIsThatOfRoundedFactors) {
  if (!offers_bf16(*device)) return;
  constexpr Compute kBf16 = Compute::kBf16;
  const MatmulCase cases[] = {
      {1, 1280, 320, 0, 0, false, kBf16}, {77, 768, 64, 0, 0, true, kBf16},      {33, 17, 33, 0, 0, false, kBf16},
      {5, 64, 48, 64, 96, true, kBf16},   {1500, 320, 96, 320, 0, false, kBf16}, {1500, 321, 320, 0, 64, true, kBf16},
  };
  for (const MatmulCase& c : cases) check(*device, *reference, c, 1);
}

TEST_P(ProductTest, Bf16ConvIsThatOfRoundedFactors) {
  if (!offers_bf16(*device)) return;
  constexpr Compute kBf16 = Compute::kBf16;
  const ConvCase cases[] = {
      {1, 8, 9, 16, 36, 3, 3, ConvGeometry::same(3), 0, false, 0, kBf16},
      {2, 15, 9, 20, 36, 3, 3, ConvGeometry::same(3, 2), 0, true, 0, kBf16},
      {2, 16, 16, 4, 64, 3, 3, ConvGeometry::same(3), 31, true, 0, kBf16},
      {2, 9, 7, 33, 65, 1, 1, {}, 0, false, 0, kBf16},
      {1, 8, 8, 16, 32, 3, 3, {1, 1, 1, 1, 1, 4}, 0, false, 0, kBf16},
  };
  for (const ConvCase& c : cases) check(*device, *reference, c, 1);
}

// The components of tiles are rounded too, where a rounding (2^-9 at most) meets sums of four inputs and of nine
// weights; 4.2e-3 to 4.7e-3 were seen.
TEST_P(ProductTest, Bf16ConvInTiles) {
  if (!offers_bf16(*device)) return;
  const ConvCase cases[] = {
      {1, 17, 19, 33, 65, 3, 3, ConvGeometry::same(3), 31, true, 0, Compute::kBf16},
      {2, 33, 31, 40, 36, 3, 3, ConvGeometry::same(3), 0, false, 0, Compute::kBf16},
  };
  for (const ConvCase& c : cases) check(*device, *reference, c, 1, {6e-3, 5e-2});
}

}  // namespace
}  // namespace veneer::device
