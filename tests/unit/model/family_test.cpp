// Families told from names and shapes, and models that are refused with a reason.
#include "model/family.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::model {
namespace {

using Tensors = std::map<std::string, Shape>;

io::ModelPart part_of(const Tensors& tensors, Json config = {}) {
  io::WeightStore::Entries entries;
  for (const auto& [name, shape] : tensors) {
    io::Entry& entry = entries[name];
    entry.weight.name = name;
    entry.weight.shape = shape;
  }
  return {{std::move(entries), {}, {}}, std::move(config), "model.safetensors"};
}

std::string family_of(const io::ModelPart& part) {
  const Family* family = recognised(part);
  return family ? std::string(family->name) : "none";
}

// The signs of a UNet with this text width; `added` inputs of its added embedding, 0 for none.
Tensors unet(int64_t text, int64_t added, bool original, bool linear_projection = false) {
  const std::string block = original ? "input_blocks.1.1." : "down_blocks.0.attentions.0.";
  Tensors tensors{{block + "transformer_blocks.0.attn2.to_k.weight", {320, text}},
                  {block + "proj_in.weight", linear_projection ? Shape{320, 320} : Shape{320, 320, 1, 1}}};
  if (original) {
    tensors["input_blocks.0.0.weight"] = {320, 4, 3, 3};
    if (added > 0) tensors["label_emb.0.0.weight"] = {1280, added};
  } else {
    tensors["conv_in.weight"] = {320, 4, 3, 3};
    tensors["down_blocks.0.resnets.0.conv1.weight"] = {320, 320, 3, 3};
    if (added > 0) tensors["add_embedding.linear_1.weight"] = {1280, added};
  }
  return tensors;
}

TEST(Families, PublishedUNetsByTheirTextWidth) {
  for (const bool original : {false, true}) {
    EXPECT_EQ(family_of(part_of(unet(768, 0, original))), "SD 1.x");
    EXPECT_EQ(family_of(part_of(unet(1024, 0, original, true))), "SD 2.x");
    EXPECT_EQ(family_of(part_of(unet(2048, 2816, original, true))), "SDXL");
    EXPECT_EQ(family_of(part_of(unet(1280, 2560, original, true))), "SDXL refiner");
  }
}

TEST(Families, SmallUNetsByTheirStructure) {
  const Json config = {{"addition_time_embed_dim", 8}};
  EXPECT_EQ(family_of(part_of(unet(32, 0, false), config)), "SD 1.x");
  EXPECT_EQ(family_of(part_of(unet(32, 0, false, true), config)), "SD 2.x");
  EXPECT_EQ(family_of(part_of(unet(64, 80, false, true), config)), "SDXL");
  EXPECT_EQ(family_of(part_of(unet(32, 72, false, true), config)), "SDXL refiner");
}

TEST(Families, OthersByASignOfTheirOwn) {
  EXPECT_EQ(family_of(part_of({{"joint_blocks.0.x_block.attn.qkv.weight", {9, 3}}})).substr(0, 3), "SD3");
  EXPECT_EQ(family_of(part_of({{"transformer_blocks.0.img_mod.1.weight", {9, 3}}})), "Qwen-Image");
  EXPECT_EQ(family_of(part_of({{"some.weight", {9, 3}}})), "none");
}

std::string refusal(const io::ModelPart& part) {
  const auto family = identify(part);
  EXPECT_FALSE(family);
  EXPECT_EQ(family.error().code, ErrorCode::kUnsupported);
  return family.error().message;
}

TEST(Families, RefusalsSayWhatWasFound) {
  EXPECT_TRUE(contains(refusal(part_of({{"transformer_blocks.0.img_mod.1.weight", {9, 3}}})),
                       "model.safetensors: Qwen-Image: not supported yet; supported: "));
  EXPECT_TRUE(contains(refusal(part_of({{"some.weight", {9, 3}}})), "of no model family that is known here"));
  EXPECT_TRUE(contains(refusal(part_of(unet(640, 0, true))), "a UNet with a text width of 640"));
  EXPECT_TRUE(
      contains(refusal(part_of(unet(1024, 2048, true))), "a text width of 1024 and an added embedding of 2048"));
}

}  // namespace
}  // namespace veneer::model
