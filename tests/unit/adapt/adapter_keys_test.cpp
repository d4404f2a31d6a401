// Reading of key names: prefixes, endings, and the spellings that rewrite a module's name.
#include "adapt/adapter_keys.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::adapt {
namespace {

struct Case {
  const char* key;
  const char* prefix;
  const char* module;
  const char* part;
  bool is_peft = false;
};

void expect_parsed(const Case& expected) {
  const ParsedKey key = parse_key(expected.key);
  EXPECT_EQ(key.prefix, expected.prefix) << expected.key;
  EXPECT_EQ(key.module, expected.module) << expected.key;
  EXPECT_EQ(key.part, expected.part) << expected.key;
  EXPECT_EQ(key.is_peft, expected.is_peft) << expected.key;
}

TEST(AdapterKeys, Prefixes) {
  const Case cases[] = {
      {"lora_unet_down_blocks_0_conv.alpha", "lora_unet_", "down_blocks_0_conv", "alpha"},
      {"lora_te_text_model_x.alpha", "lora_te_", "text_model_x", "alpha"},
      {"lora_te1_x.alpha", "lora_te1_", "x", "alpha"},
      {"lora_te2_x.alpha", "lora_te2_", "x", "alpha"},
      {"lora_transformer_x.alpha", "lora_transformer_", "x", "alpha"},
      {"lora_prior_unet_x.alpha", "lora_prior_unet_", "x", "alpha"},
      {"lora_vae_decoder_conv_in.alpha", "lora_vae_", "decoder_conv_in", "alpha"},
      {"lycoris_x.alpha", "lycoris_", "x", "alpha"},
      {"oft_unet_x.oft_blocks", "oft_unet_", "x", "oft_blocks"},
      {"unet.conv_in.alpha", "unet.", "conv_in", "alpha"},
      {"transformer.proj_out.alpha", "transformer.", "proj_out", "alpha"},
      {"transformer_blocks.0.ff.net.2.alpha", "", "transformer_blocks.0.ff.net.2", "alpha"},
      {"text_encoder.text_model.x.alpha", "text_encoder.", "text_model.x", "alpha"},
      {"text_encoder_2.text_model.x.alpha", "text_encoder_2.", "text_model.x", "alpha"},
      {"diffusion_model.out.2.alpha", "diffusion_model.", "out.2", "alpha"},
      {"model.diffusion_model.out.2.alpha", "model.diffusion_model.", "out.2", "alpha"},
      {"text_encoders.clip_l.transformer.text_model.x.alpha", "text_encoders.clip_l.transformer.", "text_model.x",
       "alpha"},
      {"clip_l.transformer.text_model.x.alpha", "clip_l.transformer.", "text_model.x", "alpha"},
      {"conditioner.embedders.1.model.transformer.resblocks.0.ln_1.w_norm", "conditioner.embedders.1.model.",
       "transformer.resblocks.0.ln_1", "w_norm"},
      {"base_model.model.conv_in.alpha", "", "conv_in", "alpha", true},
      {"base_model.model.unet.conv_in.alpha", "unet.", "conv_in", "alpha", true},
      {"tae.decoder.1.diff", "tae.", "decoder.1", "diff"},
  };
  for (const Case& expected : cases) expect_parsed(expected);
}

TEST(AdapterKeys, ComponentsOfPrefixes) {
  using io::Part;
  const auto parts = [](std::string_view prefix) {
    const auto span = parts_of(prefix);
    return std::vector<Part>(span.begin(), span.end());
  };
  EXPECT_EQ(parts("lora_unet_"), std::vector{Part::kDenoiser});
  EXPECT_EQ(parts("lora_transformer_"), std::vector{Part::kDenoiser});
  EXPECT_EQ(parts("lora_te_"), (std::vector{Part::kTextEncoder, Part::kTextEncoder3}));
  EXPECT_EQ(parts("text_encoder_2."), (std::vector{Part::kTextEncoder2, Part::kTextEncoder3}));
  EXPECT_EQ(parts("lycoris_"),
            (std::vector{Part::kDenoiser, Part::kTextEncoder, Part::kTextEncoder2, Part::kTextEncoder3}));
  EXPECT_EQ(parts(""), parts("lycoris_"));
  EXPECT_EQ(parts("first_stage_model."), std::vector{Part::kVae});
  EXPECT_TRUE(parts("lora_prior_unet_").empty());
  EXPECT_TRUE(parts("no_such_prefix").empty());
}

TEST(AdapterKeys, Endings) {
  const std::pair<const char*, const char*> cases[] = {
      {".lora_down.weight", "down"},
      {".lora.down.weight", "down"},
      {"_lora.down.weight", "down"},
      {".lora_linear_layer.down.weight", "down"},
      {".down.weight", "down"},
      {".lora_up.weight", "up"},
      {".lora.up.weight", "up"},
      {"_lora.up.weight", "up"},
      {".lora_linear_layer.up.weight", "up"},
      {".up.weight", "up"},
      {".lora_mid.weight", "mid"},
      {".lora.mid.weight", "mid"},
      {"_lora.mid.weight", "mid"},
      {".lora_up.bias", "up_bias"},
      {".dora_scale", "magnitude"},
      {".alpha", "alpha"},
      {".lora.alpha", "alpha"},
      {"_lora.alpha", "alpha"},
      {".a1.weight", "a1"},
      {".bm.weight", "bm"},
      {".q_layer.weight", "q_layer"},
      {".oft_blocks.2", "oft_blocks.2"},
      {".weight", "weight"},
      {".bias", "bias"},
  };
  for (const auto& [ending, part] : cases) {
    const std::string key = concat("unet.mid_block.attentions.0.proj_in", ending);
    expect_parsed({key.c_str(), "unet.", "mid_block.attentions.0.proj_in", part});
  }
  // Endings that are their own part.
  for (const char* part :
       {"scale",          "rescale",   "diff",      "diff_b",    "set_weight",   "w_norm",      "b_norm",
        "reshape_weight", "hada_w1_a", "hada_w1_b", "hada_w2_a", "hada_w2_b",    "hada_t1",     "hada_t2",
        "lokr_w1",        "lokr_w1_a", "lokr_w1_b", "lokr_w2",   "lokr_w2_a",    "lokr_w2_b",   "lokr_t2",
        "oft_blocks",     "oft_diag",  "on_input",  "bias_size", "bias_indices", "bias_values", "lambda_layer"}) {
    const std::string key = concat("lora_unet_mid_block_attentions_0_proj_in.", part);
    expect_parsed({key.c_str(), "lora_unet_", "mid_block_attentions_0_proj_in", part});
  }
}

TEST(AdapterKeys, PeftEndingsWithAndWithoutTheAdaptersName) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {".lora_A", ".weight", "down"},
      {".lora_B", ".weight", "up"},
      {".lora_B", ".bias", "up_bias"},
      {".lora_A", "", "down"},
      {".lora_magnitude_vector", "", "magnitude"},
      {".lora_magnitude_vector", ".weight", "magnitude"},
      {".oft_R", ".weight", "oft_R"},
      {".boft_R", "", "boft_R"},
      {".boft_s", "", "boft_s"},
      {".ia3_l", "", "ia3_l"},
      {".vera_lambda_b", "", "vera_lambda_b"},
      {".vera_lambda_d", "", "vera_lambda_d"},
      {".lora_E", "", "lora_E"},
      {".ranknum", "", "ranknum"},
  };
  for (const auto& [head, tail, part] : cases)
    for (const char* name : {"", ".default", ".my-style_2"}) {
      const std::string key = concat("unet.conv_in", head, name, tail);
      expect_parsed({key.c_str(), "unet.", "conv_in", part, true});
      EXPECT_EQ(parse_key(key).place, "unet.conv_in");
    }
  expect_parsed({"base_model.model.x.lokr_w1.default", "", "x", "lokr_w1", true});
  expect_parsed({"base_model.vera_A", "", "base_model", "vera_A", true});
  expect_parsed({"base_model.vera_B.default", "", "base_model", "vera_B", true});
  // A name can stand behind PEFT's parts only.
  expect_parsed({"unet.conv_in.alpha.default", "unet.", "conv_in.alpha.default", ""});
}

TEST(AdapterKeys, ProcessorsAndOldTextEncoders) {
  const Case cases[] = {
      {"unet.mid_block.attn1.processor.to_q_lora.down.weight", "unet.", "mid_block.attn1.to_q", "down"},
      {"mid_block.attn1.processor.to_out_lora.up.weight", "", "mid_block.attn1.to_out.0", "up"},
      {"text_encoder.text_model.encoder.layers.0.self_attn.to_q_lora.up.weight", "text_encoder.",
       "text_model.encoder.layers.0.self_attn.q_proj", "up"},
      {"text_encoder.text_model.encoder.layers.0.self_attn.to_out_lora.down.weight", "text_encoder.",
       "text_model.encoder.layers.0.self_attn.out_proj", "down"},
      {"text_encoder.text_model.encoder.layers.0.mlp.fc1.lora_linear_layer.up.weight", "text_encoder.",
       "text_model.encoder.layers.0.mlp.fc1", "up"},
      // XLabs
      {"double_blocks.3.processor.qkv_lora1.down.weight", "", "double_blocks.3.img_attn.qkv", "down"},
      {"double_blocks.3.processor.qkv_lora2.up.weight", "", "double_blocks.3.txt_attn.qkv", "up"},
      {"double_blocks.3.processor.proj_lora1.up.weight", "", "double_blocks.3.img_attn.proj", "up"},
      {"double_blocks.3.processor.proj_lora2.up.weight", "", "double_blocks.3.txt_attn.proj", "up"},
      {"single_blocks.9.processor.proj_lora.down.weight", "", "single_blocks.9.linear2", "down"},
      {"single_blocks.9.processor.qkv_lora.down.weight", "", "single_blocks.9.qkv", "down"},
  };
  for (const Case& expected : cases) expect_parsed(expected);
  EXPECT_EQ(parse_key("mid_block.attn1.processor.to_out_lora.up.weight").place, "mid_block.attn1.processor.to_out");
}

TEST(AdapterKeys, ModulesByNumber) {
  expect_parsed({"unet:12:up", "unet", ":12", "up"});
  expect_parsed({"text_encoder:0:down", "text_encoder", ":0", "down"});
  EXPECT_TRUE(is_numbered(parse_key("unet:12:up").module));
  EXPECT_FALSE(is_numbered(parse_key("unet.conv_in.alpha").module));
  EXPECT_EQ(parts_of("unet").size(), 1u);
  // None of these is that layout.
  for (const char* key : {"unet:12", "unet:x:up", "unet:12:alpha", "vae:12:up", "unet:12:up:down", "unet::up"})
    EXPECT_EQ(parse_key(key).part, "") << key;
}

TEST(AdapterKeys, AnyTextIsAccepted) {
  for (const char* key : {"", ".", "..", ".weight", ".alpha", "lora_unet_", "x", "a.b.", "base_model.model.",
                          "\xFF.\x01", ".lora_A..weight", "a..lora_B", "_lora.up.weight"})
    EXPECT_LE(parse_key(key).place.size(), std::string_view(key).size()) << key;
  // Nothing but an ending is no part of anything.
  EXPECT_EQ(parse_key(".alpha").part, "");
}

}  // namespace
}  // namespace veneer::adapt
