// Tiny autoencoders for latents of 16 channels (SD3, FLUX.1), whose layout is that of the first ones, which tiny-sd1
// tests, and for the 32 channels of FLUX.2, whose blocks have a branch more.
#include "model/tiny_autoencoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/format.h"
#include "device/devices.h"

namespace veneer::model {
namespace {

class Layers {
 public:
  void conv(const std::string& name, int64_t out, int64_t in, bool bias = true) {
    add(name + ".weight", {out, in, 3, 3});
    if (bias) add(name + ".bias", {out});
  }
  void blocks(const std::string& prefix, int first, int last) {
    for (int n = first; n <= last; ++n)
      for (const char* part : {".conv.0", ".conv.2", ".conv.4"}) conv(concat(prefix, n, part), 8, 8);
  }
  void add(const std::string& name, const Shape& shape) {
    add(name, shape, std::vector<float>(static_cast<size_t>(shape.elements()), 0.01f));
  }
  void add(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    entries_.emplace(name, io::Entry{codec::weight_from(values, shape, *codec::find_codec("f32"), name), "F32"});
  }
  io::ModelPart part() const { return {io::WeightStore(entries_, {}, {}), {}, "tiny.safetensors"}; }

 private:
  io::WeightStore::Entries entries_;
};

// A decoder with the numbers of the published files: 1 and 2 are the first convolution and its ReLU.
Layers decoder(int64_t channels) {
  Layers layers;
  layers.conv("decoder.1", 8, channels);
  layers.blocks("decoder.", 3, 5);
  for (const int up : {7, 12, 17}) layers.conv(concat("decoder.", up), 8, 8, false);
  layers.blocks("decoder.", 8, 10);
  layers.blocks("decoder.", 13, 15);
  layers.blocks("decoder.", 18, 18);
  layers.conv("decoder.19", 3, 8);
  return layers;
}

TEST(TinyAutoencoder, SixteenChannels) {
  const auto built = build_tiny_autoencoder(decoder(16).part());
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ((*built)->latent_channels(), 16);
  EXPECT_EQ((*built)->factor(), 8);
  EXPECT_TRUE((*built)->can_decode());
  EXPECT_FALSE((*built)->can_encode());
  EXPECT_TRUE((*built)->unused_tensors().empty());
}

// Weights that hand on the first channels of a pixel: [out, in, 3, 3].
std::vector<float> identity(int64_t out, int64_t in) {
  std::vector<float> values(static_cast<size_t>(out * in * 9));
  for (int64_t c = 0; c < std::min(out, in); ++c) values[static_cast<size_t>((c * in + c) * 9 + 4)] = 1;
  return values;
}

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// FLUX.2's blocks begin with x + conv(relu(group norm(conv x))). With all other convolutions handing on what they get
// or giving nothing, that is what the decoder shows.
TEST(TinyAutoencoder, PoolingBranchOfFlux2) {
  constexpr int64_t kWidth = 8, kInner = 16, kGroups = 4, kPixels = 5 * 3;
  const std::vector<float> widen = random_values(kInner * kWidth, 1), narrow = random_values(kWidth * kInner, 2);
  const std::vector<float> gain = random_values(kInner, 3), shift = random_values(kInner, 4);
  Layers layers;
  layers.add("decoder.layers.0.weight", {kWidth, 32, 3, 3}, identity(kWidth, 32));
  layers.add("decoder.layers.2.pool.0.weight", {kInner, kWidth, 1, 1}, widen);
  layers.add("decoder.layers.2.pool.1.weight", {kInner}, gain);
  layers.add("decoder.layers.2.pool.1.bias", {kInner}, shift);
  layers.add("decoder.layers.2.pool.3.weight", {kWidth, kInner, 1, 1}, narrow);
  for (const char* conv : {"conv.0", "conv.2", "conv.4"}) {
    layers.add(concat("decoder.layers.2.", conv, ".weight"), {kWidth, kWidth, 3, 3},
               std::vector<float>(kWidth * kWidth * 9));
    layers.add(concat("decoder.layers.2.", conv, ".bias"), {kWidth}, std::vector<float>(kWidth));
  }
  layers.add("decoder.layers.3.weight", {3, kWidth, 3, 3}, identity(3, kWidth));
  const auto built = build_tiny_autoencoder(layers.part());
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ((*built)->latent_channels(), 32);
  EXPECT_FALSE((*built)->reach());
  EXPECT_TRUE((*built)->unused_tensors().empty());

  const Tensor latent = Tensor::from(random_values(kPixels * 32, 5), {1, 5, 3, 32});
  std::vector<double> x(kPixels * kWidth), inner(kPixels * kInner);
  for (int64_t p = 0; p < kPixels; ++p)
    for (int64_t c = 0; c < kWidth; ++c)
      x[p * kWidth + c] = std::max(0.0, 3 * std::tanh(static_cast<double>(latent.f32()[p * 32 + c]) / 3));
  for (int64_t p = 0; p < kPixels; ++p)
    for (int64_t o = 0; o < kInner; ++o)
      for (int64_t c = 0; c < kWidth; ++c) inner[p * kInner + o] += widen[o * kWidth + c] * x[p * kWidth + c];
  constexpr int64_t kEach = kInner / kGroups;
  for (int64_t group = 0; group < kGroups; ++group) {
    double sum = 0, squares = 0;
    for (int64_t p = 0; p < kPixels; ++p)
      for (int64_t o = group * kEach; o < (group + 1) * kEach; ++o) sum += inner[p * kInner + o];
    const double mean = sum / (kPixels * kEach);
    for (int64_t p = 0; p < kPixels; ++p)
      for (int64_t o = group * kEach; o < (group + 1) * kEach; ++o)
        squares += std::pow(inner[p * kInner + o] - mean, 2);
    const double scale = 1 / std::sqrt(squares / (kPixels * kEach) + 1e-5);
    for (int64_t p = 0; p < kPixels; ++p)
      for (int64_t o = group * kEach; o < (group + 1) * kEach; ++o)
        inner[p * kInner + o] = std::max(0.0, (inner[p * kInner + o] - mean) * scale * gain[o] + shift[o]);
  }

  const auto device = *device::open_device("ref", 1, true);
  device::Arena arena(size_t{1} << 20);
  nn::PanelCache panels(0);
  nn::Context context{*device, arena, panels};
  const Tensor picture = (*built)->decode(context, latent);
  ASSERT_EQ(picture.shape, (Shape{1, 5, 3, 3}));
  for (int64_t p = 0; p < kPixels; ++p)
    for (int64_t c = 0; c < 3; ++c) {
      double expected = x[p * kWidth + c];
      for (int64_t o = 0; o < kInner; ++o) expected += narrow[c * kInner + o] * inner[p * kInner + o];
      EXPECT_NEAR(picture.f32()[p * 3 + c], std::max(0.0, expected), 1e-4) << p << ' ' << c;
    }
}

TEST(TinyAutoencoder, ThirtyTwoChannels) {
  Layers layers = decoder(32);
  for (const int n : {3, 4, 5}) {
    const std::string pool = concat("decoder.", n, ".pool.");
    layers.add(pool + "0.weight", {32, 8, 1, 1});
    layers.add(pool + "1.weight", {32});
    layers.add(pool + "1.bias", {32});
    layers.add(pool + "3.weight", {8, 32, 1, 1});
  }
  const auto built = build_tiny_autoencoder(layers.part());
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ((*built)->latent_channels(), 32);
  EXPECT_EQ((*built)->factor(), 8);
  EXPECT_TRUE((*built)->unused_tensors().empty());
}

}  // namespace
}  // namespace veneer::model
