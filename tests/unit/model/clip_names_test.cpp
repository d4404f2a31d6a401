// OpenCLIP's names of an encoder's layers, as adapters may use them.
#include "model/clip_names.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace veneer::model {
namespace {

TEST(ClipNames, OpenClipsStandForTheSameLayers) {
  nn::LayerList layers;
  for (const char* name : {"layers.0.self_attn.k_proj", "layers.0.self_attn.v_proj", "layers.0.self_attn.q_proj",
                           "layers.0.self_attn.out_proj", "layers.0.mlp.fc1", "layers.0.layer_norm2"}) {
    nn::Layer layer;
    layer.name = std::string("text_encoder_2.text_model.encoder.") + name;
    layer.weight.shape = {4, 4};
    layers.add(std::move(layer));
  }
  const std::vector<nn::Spelling> spellings = open_clip_spellings(io::Part::kTextEncoder2, layers);
  const auto layers_of = [&](std::string_view name) {
    std::vector<std::string> names;
    const auto found = std::ranges::find(spellings, name, &nn::Spelling::name);
    if (found == spellings.end()) return names;
    EXPECT_EQ(found->part, io::Part::kTextEncoder2);
    for (const nn::RowRange& range : found->ranges) names.push_back(range.layer->name.substr(43));
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(layers_of("transformer.resblocks.0.attn.in_proj"),
            (Names{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}));
  EXPECT_EQ(layers_of("transformer.resblocks.0.attn.out_proj"), Names{"self_attn.out_proj"});
  EXPECT_EQ(layers_of("transformer.resblocks.0.mlp.c_fc"), Names{"mlp.fc1"});
  EXPECT_EQ(layers_of("transformer.resblocks.0.ln_2"), Names{"layer_norm2"});
  EXPECT_EQ(layers_of("transformer.resblocks.0.mlp.c_proj"), Names{});  // not among the layers
}

}  // namespace
}  // namespace veneer::model
