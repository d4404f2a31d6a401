// Tiny autoencoders for latents of 16 channels (SD3, FLUX.1), whose layout is that of the first ones, and of FLUX.2,
// which have more. What they compute is tested on tiny-sd1.
#include "model/tiny_autoencoder.h"

#include <gtest/gtest.h>

#include "core/format.h"

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
    const std::vector<float> values(static_cast<size_t>(shape.elements()), 0.01f);
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

TEST(TinyAutoencoder, ThatOfFlux2IsRefusedByName) {
  Layers layers = decoder(32);
  layers.add("decoder.3.pool.0.weight", {32, 8, 1, 1});
  const auto built = build_tiny_autoencoder(layers.part());
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(built.error().message.find("FLUX.2"), std::string::npos) << built.error().message;
}

}  // namespace
}  // namespace veneer::model
