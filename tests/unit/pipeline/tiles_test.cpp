// Tiles: where they lie, and that blending them gives what the whole gives.
#include "pipeline/tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/devices.h"
#include "io/model_files.h"
#include "model/model.h"
#include "pipeline/vision.h"
#include "tests/support/golden.h"

namespace veneer::pipeline {
namespace {

TEST(Tiles, CoverTheAxisAndOverlapAsAsked) {
  for (const int64_t length : {8, 31, 32, 33, 64, 96, 100, 1000}) {
    for (const double overlap : {0.0, 0.25, 0.5}) {
      const TileAxis axis = plan_axis(length, 32, overlap);
      EXPECT_EQ(axis.starts.front(), 0);
      EXPECT_EQ(axis.starts.back() + axis.tile, length);
      for (size_t i = 1; i < axis.starts.size(); ++i) {
        const int64_t shared = axis.starts[i - 1] + axis.tile - axis.starts[i];
        EXPECT_GE(static_cast<double>(shared), 32 * overlap) << length;
        EXPECT_LT(axis.starts[i - 1], axis.starts[i]);
      }
    }
  }
}

TEST(Tiles, RelativeSizesAreASharedOrANumber) {
  TilingOptions options;
  options.enabled = true;
  options.overlap = 0;
  options.relative_width = 0.5;
  options.relative_height = 4;
  const TilePlan plan = plan_tiles(options, 96, 64, false);
  EXPECT_EQ(plan.x.tile, 32);
  EXPECT_EQ(plan.y.tile, 24);
  EXPECT_EQ(plan.count(), 8u);
  options.enabled = false;
  EXPECT_TRUE(plan_tiles(options, 96, 64, false).is_whole());
}

// Work that looks at nothing but its own pixel: any blend of equal values is that value.
TEST(Tiles, BlendEqualValuesToThemselves) {
  const TilePlan plan{plan_axis(50, 16, 0.3), plan_axis(41, 16, 0.5)};
  const auto value = [](int64_t y, int64_t x) { return std::sin(static_cast<float>(3 * y + 7 * x)); };
  const auto blended = run_tiles(plan, 2, 1, std::nullopt, [&](int64_t top, int64_t left) -> Result<Tensor> {
    Tensor tile = Tensor::zeros({1, 32, 32, 1});
    for (int64_t y = 0; y < 32; ++y)
      for (int64_t x = 0; x < 32; ++x) tile.f32()[y * 32 + x] = value(2 * top + y, 2 * left + x);
    return tile;
  });
  ASSERT_TRUE(blended);
  for (int64_t y = 0; y < 100; ++y)
    for (int64_t x = 0; x < 82; ++x) ASSERT_NEAR(blended->f32()[y * 82 + x], value(y, x), 1e-6);
}

TEST(Tiles, AnErrorOfTheWorkEndsIt) {
  const TilePlan plan{plan_axis(64, 16, 0.5), plan_axis(64, 16, 0.5)};
  int calls = 0;
  const auto result = run_tiles(plan, 1, 1, std::nullopt, [&](int64_t, int64_t) -> Result<Tensor> {
    if (++calls == 3) return Error{ErrorCode::kCancelled, "cancelled", ""};
    return Tensor::zeros({1, 16, 16, 1});
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 3);
}

class DecodeInTiles : public testing::Test {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sd1");
    paths.tiny_vae = test::data_path("tiny-sd1/taesd");
    auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    auto model = model::build_model(*files);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    device_ = *device::open_device("cpu", 2, true);
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    latent_ = Tensor::zeros({1, 96, 96, 4});
    for (float& value : latent_.values()) value = normal(generator);
  }
  Tensor decode(const model::Autoencoder& autoencoder, const TilingOptions& tiling) {
    nn::PanelCache panels(size_t{1} << 28);
    Workplace place(*device_, panels);
    auto decoded = decode_latents(autoencoder, place, latent_, tiling, [](int, int) { return Status(); });
    EXPECT_TRUE(decoded) << decoded.error().message;
    return *std::move(decoded);
  }
  model::Model model_;
  std::unique_ptr<device::Device> device_;
  Tensor latent_;
};

// The tiny autoencoder is convolutions and upsampling only, and reaches 7 latent pixels to each side: an overlap of 16
// is enough for the tiles to give what the whole gives.
TEST_F(DecodeInTiles, ConvolutionsOnlyGiveTheWholePicture) {
  ASSERT_EQ(model_.tiny_vae->reach(), 7);
  const Tensor whole = decode(*model_.tiny_vae, {});
  const Tensor tiled = decode(*model_.tiny_vae, {.enabled = true, .tile_width = 32, .tile_height = 32, .overlap = 0.5});
  for (int64_t i = 0; i < whole.elements(); ++i) ASSERT_NEAR(tiled.f32()[i], whole.f32()[i], 1e-5) << i;
}

// Group norms and attention see the whole picture, so tiles differ from it everywhere; no edge may stand out.
TEST_F(DecodeInTiles, NoEdgeIsVisibleWhereNormsSeeTheWhole) {
  const TilingOptions tiling{.enabled = true, .tile_width = 32, .tile_height = 32, .overlap = 0.25};
  const Tensor whole = decode(*model_.vae, {}), tiled = decode(*model_.vae, tiling);
  const TileAxis axis = plan_axis(96, 32, 0.25);
  const auto near_border = [&](int64_t pixel) {
    for (const int64_t start : axis.starts)
      for (const int64_t border : {2 * start, 2 * (start + axis.tile)})
        if (border > 0 && border < 192 && std::abs(pixel - border) <= 8) return true;
    return false;
  };
  double near = 0, far = 0;
  int64_t near_count = 0, far_count = 0;
  for (int64_t y = 0; y < 192; ++y)
    for (int64_t x = 0; x < 192; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const double apart = std::abs(tiled.f32()[(y * 192 + x) * 3 + c] - whole.f32()[(y * 192 + x) * 3 + c]);
        (near_border(y) || near_border(x) ? near : far) += apart;
        ++(near_border(y) || near_border(x) ? near_count : far_count);
      }
  EXPECT_LE(near / static_cast<double>(near_count), 1.2 * far / static_cast<double>(far_count));
}

}  // namespace
}  // namespace veneer::pipeline
