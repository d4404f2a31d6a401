// The original spelling: what a published tool wrote for the same model, and names of single modules.
#include "model/original_names.h"

#include <gtest/gtest.h>

#include "io/container.h"

namespace veneer::model {
namespace {

std::filesystem::path tiny(const char* name) {
  return std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data/tiny-sd1" / name;
}

NameSet names_in(const std::filesystem::path& file) {
  const auto store = io::open_weights(file);
  EXPECT_TRUE(store) << store.error().message;
  return store ? names_of(*store) : NameSet();
}

NameSet originals(io::Part part, const NameSet& names) {
  const OriginalNames original(part, names);
  NameSet out;
  for (const std::string& name : names) out.insert(original(name));
  EXPECT_EQ(out.size(), names.size());  // no two names become one
  return out;
}

// The same model in both spellings, the second made by the reference's own conversion.
TEST(OriginalNames, AreThoseOfTheOriginalFile) {
  const NameSet original = names_in(tiny("tiny-sd1-ldm.safetensors"));
  const std::pair<io::Part, const char*> kParts[] = {{io::Part::kDenoiser, "unet/diffusion_pytorch_model.safetensors"},
                                                     {io::Part::kVae, "vae/diffusion_pytorch_model.safetensors"},
                                                     {io::Part::kTextEncoder, "text_encoder/model.safetensors"}};
  for (const auto& [part, file] : kParts)
    for (const std::string& name : originals(part, names_in(tiny(file)))) {
      if (name.ends_with("position_ids")) continue;  // an index that only one of the files has
      EXPECT_TRUE(original.contains(name)) << name;
    }
}

// A name in the original spelling is one already.
TEST(OriginalNames, LeaveTheOriginalSpellingAsItIs) {
  NameSet bare;
  for (const std::string& name : names_in(tiny("tiny-sd1-ldm.safetensors")))
    if (name.starts_with("first_stage_model.")) bare.insert(name.substr(18));
  ASSERT_FALSE(bare.empty());
  const OriginalNames original(io::Part::kVae, bare);
  for (const std::string& name : bare) EXPECT_EQ(original(name), "first_stage_model." + name);
}

// Modules without ".weight", as adapters name them, are numbered by what is there.
TEST(OriginalNames, NumberTheBlocksOfModules) {
  const NameSet modules = {"conv_in",
                           "down_blocks.0.resnets.0.conv1",
                           "down_blocks.0.resnets.1.conv1",
                           "down_blocks.0.downsamplers.0.conv",
                           "down_blocks.1.resnets.0.conv_shortcut",
                           "down_blocks.1.attentions.0.proj_in",
                           "mid_block.resnets.0.conv1",
                           "mid_block.attentions.0.proj_in",
                           "mid_block.resnets.1.conv1",
                           "up_blocks.0.resnets.0.conv1",
                           "up_blocks.0.attentions.0.proj_in",
                           "up_blocks.0.upsamplers.0.conv",
                           "up_blocks.1.resnets.0.conv1",
                           "up_blocks.1.resnets.1.conv1",
                           "up_blocks.1.upsamplers.0.conv",
                           "conv_out"};
  const std::string unet = "model.diffusion_model.";
  const std::pair<const char*, const char*> kNames[] = {
      {"conv_in", "input_blocks.0.0"},
      {"down_blocks.0.resnets.1.conv1", "input_blocks.2.0.in_layers.2"},
      {"down_blocks.0.downsamplers.0.conv", "input_blocks.3.0.op"},
      {"down_blocks.1.resnets.0.conv_shortcut", "input_blocks.4.0.skip_connection"},
      {"down_blocks.1.attentions.0.proj_in", "input_blocks.4.1.proj_in"},
      {"mid_block.resnets.0.conv1", "middle_block.0.in_layers.2"},
      {"mid_block.attentions.0.proj_in", "middle_block.1.proj_in"},
      {"mid_block.resnets.1.conv1", "middle_block.2.in_layers.2"},
      {"up_blocks.0.upsamplers.0.conv", "output_blocks.0.2.conv"},
      {"up_blocks.1.resnets.1.conv1", "output_blocks.2.0.in_layers.2"},
      {"up_blocks.1.upsamplers.0.conv", "output_blocks.2.1.conv"},
      {"conv_out", "out.2"},
      {"conv_out.weight", "out.2.weight"},
      {"down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q",
       "input_blocks.4.1.transformer_blocks.0.attn1.to_q"},
      {"no_such_layer.weight", "no_such_layer.weight"}};
  const OriginalNames original(io::Part::kDenoiser, modules);
  for (const auto& [from, to] : kNames) EXPECT_EQ(original(from), unet + to);
}

// Rules are written over one spelling, whichever a text encoder comes in.
TEST(OriginalNames, OfOpenClipAreThoseOfItsLayers) {
  const NameSet modules = {"token_embedding.weight",
                           "positional_embedding",
                           "ln_final.weight",
                           "text_projection",
                           "transformer.resblocks.0.ln_1.weight",
                           "transformer.resblocks.0.mlp.c_fc.weight"};
  const OriginalNames original(io::Part::kTextEncoder2, modules);
  const std::string prefix = "cond_stage_model.1.transformer.";
  EXPECT_EQ(original("positional_embedding"), prefix + "text_model.embeddings.position_embedding.weight");
  EXPECT_EQ(original("text_projection"), prefix + "text_projection.weight");
  EXPECT_EQ(original("transformer.resblocks.0.mlp.c_fc.weight"), prefix + "text_model.encoder.layers.0.mlp.fc1.weight");
}

TEST(OriginalNames, PutThePrefixOfThePartInFront) {
  EXPECT_EQ(OriginalNames(io::Part::kTextEncoder, {"encoder.layers.0.mlp.fc1"})("encoder.layers.0.mlp.fc1.weight"),
            "cond_stage_model.transformer.text_model.encoder.layers.0.mlp.fc1.weight");
  EXPECT_EQ(OriginalNames(io::Part::kTextEncoder2, {"text_model.encoder.layers.0.mlp.fc1"})("text_model.x"),
            "cond_stage_model.1.transformer.text_model.x");
  EXPECT_EQ(OriginalNames(io::Part::kTinyVae, {})("decoder.layers.0.weight"), "tae.decoder.layers.0.weight");
  EXPECT_EQ(OriginalNames(io::Part::kTextEncoder3, {})("shared.weight"),
            "text_encoders.t5xxl.transformer.shared.weight");
}

}  // namespace
}  // namespace veneer::model
