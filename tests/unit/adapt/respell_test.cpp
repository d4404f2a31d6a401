// Other programs' names for the same adapter: keys, scales, what cannot be named, and the proof.
#include "adapt/respell.h"

#include <gtest/gtest.h>

#include "core/format.h"
#include "tests/unit/adapt/family_support.h"
#include "tests/unit/io/test_files.h"

namespace veneer::adapt {
namespace {

using io::Part;
using io::ScratchFolder;
using io::write_f32;
using test::random_layer;

// Two layers of a denoiser and one of a text encoder, each 3 x 2.
class Model {
 public:
  Model() {
    table_.parts = {Part::kDenoiser, Part::kTextEncoder};
    spell(Part::kDenoiser, "unet.", "down_blocks.0.conv1", "input_blocks.1.0.in_layers.2");
    spell(Part::kDenoiser, "unet.", "conv_in", "input_blocks.0.0");
    spell(Part::kTextEncoder, "text_encoder.", "text_model.fc1", "");
    auto built = Resolver::build(table_);
    EXPECT_TRUE(built) << built.error().message;
    resolver_ = *std::move(built);
  }

  std::shared_ptr<const Fitted> fitted(const std::filesystem::path& file) const {
    const auto adapter = open_adapter(file);
    EXPECT_TRUE(adapter) << adapter.error().message;
    if (!adapter) return nullptr;
    const auto made = fit(*adapter, *resolver_, {}, "SD 1.x");
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
  }

  Result<Respelled> respelled(const Fitted& fitted, KeyStyle style) const {
    return respell(*fitted.adapter, *resolver_, table_, style);
  }

 private:
  void spell(Part part, const std::string& prefix, const char* name, const char* original) {
    nn::Layer layer = random_layer({3, 2});
    layer.name = prefix + name;
    const nn::Layer* added = layers_[part].add(std::move(layer));
    table_.spellings.push_back({part, name, {{added, 0, 3}}});
    if (*original) table_.spellings.push_back({part, original, {{added, 0, 3}}});
  }

  std::map<Part, nn::LayerList> layers_;
  nn::NameTable table_;
  std::optional<Resolver> resolver_;
};

std::vector<std::string> keys_of(const Respelled& respelled) {
  std::vector<std::string> keys;
  for (const auto& [key, part] : respelled.keys) keys.push_back(key);
  return keys;
}

// Rank 1 with alpha 0.5 on the first layer, rank 2 without alpha on the encoder's.
std::filesystem::path write_lora(const ScratchFolder& folder, const char* name = "a.safetensors") {
  return write_f32(folder / name, {{"lora_unet_down_blocks_0_conv1.lora_down.weight", {1, 2}, {1, 2}},
                                   {"lora_unet_down_blocks_0_conv1.lora_up.weight", {3, 4, 5}, {3, 1}},
                                   {"lora_unet_down_blocks_0_conv1.alpha", {0.5f}, {}},
                                   {"lora_te_text_model_fc1.lora_down.weight", {1, 2, 3, 4}, {2, 2}},
                                   {"lora_te_text_model_fc1.lora_up.weight", {1, 2, 3, 4, 5, 6}, {3, 2}}});
}

TEST(Respell, EachStyleHasItsNames) {
  const Model model;
  const ScratchFolder folder;
  const auto lora = model.fitted(write_lora(folder));
  ASSERT_TRUE(lora);
  const auto kohya = model.respelled(*lora, KeyStyle::kKohya);
  ASSERT_TRUE(kohya) << kohya.error().message;
  EXPECT_EQ(
      keys_of(*kohya),
      (std::vector<std::string>{"lora_te_text_model_fc1.lora_down.weight", "lora_te_text_model_fc1.lora_up.weight",
                                "lora_unet_down_blocks_0_conv1.alpha", "lora_unet_down_blocks_0_conv1.lora_down.weight",
                                "lora_unet_down_blocks_0_conv1.lora_up.weight"}));
  const auto comfy = model.respelled(*lora, KeyStyle::kComfy);
  ASSERT_TRUE(comfy) << comfy.error().message;
  EXPECT_EQ(keys_of(*comfy),
            (std::vector<std::string>{"diffusion_model.input_blocks.1.0.in_layers.2.alpha",
                                      "diffusion_model.input_blocks.1.0.in_layers.2.lora_down.weight",
                                      "diffusion_model.input_blocks.1.0.in_layers.2.lora_up.weight",
                                      "text_encoders.clip_l.transformer.text_model.fc1.lora_down.weight",
                                      "text_encoders.clip_l.transformer.text_model.fc1.lora_up.weight"}));
  const auto diffusers = model.respelled(*lora, KeyStyle::kDiffusers);
  ASSERT_TRUE(diffusers) << diffusers.error().message;
  EXPECT_EQ(keys_of(*diffusers),
            (std::vector<std::string>{
                "text_encoder.text_model.fc1.lora_A.weight", "text_encoder.text_model.fc1.lora_B.weight",
                "unet.down_blocks.0.conv1.lora_A.weight", "unet.down_blocks.0.conv1.lora_B.weight"}));
}

TEST(Respell, PeftKeepsScalesInItsConfiguration) {
  const Model model;
  const ScratchFolder folder;
  const auto path =
      write_f32(folder / "a.safetensors", {{"unet.conv_in.lora_A.weight", {1, 2}, {1, 2}},
                                           {"unet.conv_in.lora_B.weight", {3, 4, 5}, {3, 1}},
                                           {"unet.conv_in.alpha", {4}, {}},
                                           {"unet.down_blocks.0.conv1.lora_A.weight", {1, 2, 3, 4}, {2, 2}},
                                           {"unet.down_blocks.0.conv1.lora_B.weight", {1, 2, 3, 4, 5, 6}, {3, 2}}});
  const auto lora = model.fitted(path);
  ASSERT_TRUE(lora);
  const auto peft = model.respelled(*lora, KeyStyle::kPeft);
  ASSERT_TRUE(peft) << peft.error().message;
  EXPECT_EQ(keys_of(*peft).front(), "base_model.model.conv_in.lora_A.weight");
  EXPECT_EQ(peft->peft_config["r"], 1);
  EXPECT_EQ(peft->peft_config["lora_alpha"], 4.0);
  EXPECT_EQ(peft->peft_config["rank_pattern"], Json({{"down_blocks.0.conv1", 2}}));
  EXPECT_EQ(peft->peft_config["alpha_pattern"], Json({{"down_blocks.0.conv1", 2.0}}));  // no alpha: scale 1
}

TEST(Respell, RefusesWhatTheNamesCannotSay) {
  const Model model;
  const ScratchFolder folder;
  const auto both = model.fitted(write_lora(folder));
  ASSERT_TRUE(both);
  const auto peft = model.respelled(*both, KeyStyle::kPeft);
  ASSERT_FALSE(peft);
  test::expect_says(peft.error(), ErrorCode::kUnsupported, {"one component", "diffusers"});

  const auto difference =
      model.fitted(write_f32(folder / "b.safetensors", {{"lora_unet_conv_in.diff", {1, 2, 3, 4, 5, 6}, {3, 2}}}));
  ASSERT_TRUE(difference);
  const auto named = model.respelled(*difference, KeyStyle::kDiffusers);
  ASSERT_FALSE(named);
  test::expect_says(named.error(), ErrorCode::kUnsupported, {"lora_unet_conv_in.diff", "diff"});
  EXPECT_TRUE(model.respelled(*difference, KeyStyle::kComfy));
}

TEST(Respell, AModuleOfAnotherModelIsAnError) {
  const Model model;
  const ScratchFolder folder;
  const auto other =
      model.fitted(write_f32(folder / "a.safetensors", {{"lora_unet_conv_in.diff", {1, 2, 3, 4, 5, 6}, {3, 2}},
                                                        {"lora_unet_conv_out.diff", {1}, {1}}}));
  ASSERT_TRUE(other);
  const auto respelled = model.respelled(*other, KeyStyle::kComfy);
  ASSERT_FALSE(respelled);
  test::expect_says(respelled.error(), ErrorCode::kMismatch, {"lora_unet_conv_out", "-m"});
}

TEST(FirstDifference, SeesOneBitOfATermAndAMissingLayer) {
  const Model model;
  const ScratchFolder folder;
  const auto first = model.fitted(write_lora(folder)), same = model.fitted(write_lora(folder, "b.safetensors"));
  const auto other = model.fitted(
      write_f32(folder / "c.safetensors", {{"unet.down_blocks.0.conv1.lora_A.weight", {1, 2.0000002f}, {1, 2}},
                                           {"unet.down_blocks.0.conv1.lora_B.weight", {3, 4, 5}, {3, 1}},
                                           {"unet.down_blocks.0.conv1.alpha", {0.5f}, {}},
                                           {"lora_te_text_model_fc1.lora_down.weight", {1, 2, 3, 4}, {2, 2}},
                                           {"lora_te_text_model_fc1.lora_up.weight", {1, 2, 3, 4, 5, 6}, {3, 2}}}));
  ASSERT_TRUE(first && same && other);
  EXPECT_EQ(first_difference(*first, *same), std::nullopt);
  EXPECT_EQ(first_difference(*first, *other), "unet.down_blocks.0.conv1");
  const auto fewer =
      model.fitted(write_f32(folder / "d.safetensors", {{"lora_unet_conv_in.diff", {1, 2, 3, 4, 5, 6}, {3, 2}}}));
  ASSERT_TRUE(fewer);
  EXPECT_EQ(first_difference(*first, *fewer), "2 layers against 1");
}

}  // namespace
}  // namespace veneer::adapt
