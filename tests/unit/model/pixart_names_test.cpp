// PixArt's original names: which layers they stand for, and how a file's tensors are renamed and taken apart.
#include "model/pixart_names.h"

#include <gtest/gtest.h>

namespace veneer::model {
namespace {

constexpr int64_t kWidth = 4;

nn::LayerList layers_of(const std::vector<std::string>& names) {
  nn::LayerList layers;
  for (const std::string& name : names) {
    nn::Layer layer;
    layer.name = "transformer." + name;
    layer.weight.shape = {kWidth, kWidth};
    layers.add(std::move(layer));
  }
  return layers;
}

std::vector<std::string> ranges_of(const std::vector<nn::Spelling>& spellings, std::string_view name) {
  std::vector<std::string> names;
  for (const nn::Spelling& spelling : spellings)
    if (spelling.name == name)
      for (const nn::RowRange& range : spelling.ranges) names.push_back(range.layer->name);
  return names;
}

TEST(PixArtNames, FusedModulesStandForTheirLayersInOrder) {
  const std::string self = "transformer_blocks.0.attn1.", cross = "transformer_blocks.0.attn2.";
  const nn::LayerList layers = layers_of({"adaln_single.linear", "proj_out", self + "to_v", self + "to_k",
                                          self + "to_q", cross + "to_k", cross + "to_q", cross + "to_v"});
  const auto spellings = pixart_spellings(layers);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ranges_of(spellings, "blocks.0.attn.qkv"),
            (Names{"transformer." + self + "to_q", "transformer." + self + "to_k", "transformer." + self + "to_v"}));
  EXPECT_EQ(ranges_of(spellings, "blocks.0.cross_attn.kv_linear"),
            (Names{"transformer." + cross + "to_k", "transformer." + cross + "to_v"}));
  EXPECT_EQ(ranges_of(spellings, "blocks.0.cross_attn.q_linear"), Names{"transformer." + cross + "to_q"});
  EXPECT_EQ(ranges_of(spellings, "t_block.1"), Names{"transformer.adaln_single.linear"});
  EXPECT_EQ(ranges_of(spellings, "final_layer.linear"), Names{"transformer.proj_out"});
}

TEST(PixArtNames, OtherNetworksHaveNone) {
  EXPECT_TRUE(pixart_spellings(layers_of({"pos_embed.proj", "proj_out", "transformer_blocks.0.attn2.to_q"})).empty());
}

TEST(PixArtNames, AFileIsTakenApart) {
  io::WeightStore::Entries entries;
  const auto add = [&entries](const std::string& name, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    entries[name] = {codec::weight_from(values, shape, *codec::find_codec("f32"), name), "F32"};
  };
  add("x_embedder.proj.weight", {kWidth, 4, 2, 2});
  add("blocks.0.cross_attn.kv_linear.weight", {2 * kWidth, kWidth});
  add("blocks.0.cross_attn.kv_linear.bias", {2 * kWidth});
  add("blocks.0.scale_shift_table", {6, kWidth});
  add("final_layer.scale_shift_table", {2, kWidth});
  add("y_embedder.y_embedding", {120, 8});
  const io::WeightStore file(std::move(entries), {}, {});
  ASSERT_TRUE(is_original_pixart(file));
  const io::WeightStore canonical = original_pixart_names(file).apply(file);
  EXPECT_EQ(
      names_of(canonical),
      (NameSet{"pos_embed.proj.weight", "transformer_blocks.0.attn2.to_k.weight",
               "transformer_blocks.0.attn2.to_k.bias", "transformer_blocks.0.attn2.to_v.weight",
               "transformer_blocks.0.attn2.to_v.bias", "transformer_blocks.0.scale_shift_table", "scale_shift_table"}));
  EXPECT_FALSE(is_original_pixart(canonical));
  EXPECT_EQ(canonical.weight("transformer_blocks.0.attn2.to_v.bias")->decode_all(), (std::vector<float>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace veneer::model
