// PEFT configurations: which module gets which scale, and what is refused.
#include "adapt/peft_config.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::adapt {
namespace {

PeftConfigs parse(std::string_view text) {
  auto configs = PeftConfigs::parse(text, "config");
  EXPECT_TRUE(configs) << configs.error().message;
  return configs ? *std::move(configs) : PeftConfigs();
}

double alpha_of(const PeftConfigs& configs, std::string_view module, std::string_view prefix = "unet.") {
  return configs.settings(prefix, module).alpha.value_or(-1);
}

TEST(PeftConfig, SettingsOfOneConfiguration) {
  const PeftConfigs configs = parse(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 6, "use_rslora": true,
      "use_cayley_neumann": false, "num_cayley_neumann_terms": 7, "block_share": true, "fan_in_fan_out": false})");
  const GroupSettings settings = configs.settings("unet.", "conv_in");
  EXPECT_TRUE(settings.is_peft);
  EXPECT_EQ(settings.alpha, 6);
  EXPECT_EQ(settings.rank, 8);
  EXPECT_TRUE(settings.rank_stabilised);
  EXPECT_FALSE(settings.cayley_neumann);
  EXPECT_EQ(settings.cayley_neumann_terms, 7);
  EXPECT_TRUE(settings.block_share);
  EXPECT_EQ(parse(R"({"alpha": 3})").settings("", "x").alpha, 3);  // LoHa, LoKr
  EXPECT_FALSE(parse(R"({"r": 0})").settings("", "x").rank);       // OFT by block size
}

TEST(PeftConfig, NoConfigurationIsNoScale) {
  const GroupSettings settings = PeftConfigs().settings("unet.", "conv_in");
  EXPECT_FALSE(settings.is_peft);
  EXPECT_FALSE(settings.alpha);
}

TEST(PeftConfig, EachComponentHasItsOwn) {
  const PeftConfigs configs =
      parse(R"({"unet.lora_alpha": 4, "unet.r": 2, "text_encoder.lora_alpha": 5, "text_encoder_2.lora_alpha": 6})");
  EXPECT_EQ(alpha_of(configs, "x", "unet."), 4);
  EXPECT_EQ(alpha_of(configs, "x", "text_encoder."), 5);
  EXPECT_EQ(alpha_of(configs, "x", "text_encoder_2."), 6);
  EXPECT_FALSE(configs.settings("transformer.", "x").is_peft);
  EXPECT_FALSE(configs.settings("", "x").is_peft);  // which of them would it be?
  EXPECT_EQ(alpha_of(parse(R"({"unet.lora_alpha": 4})"), "x", ""), 4);
}

TEST(PeftConfig, PatternsNameModulesOrMatchTheirEnds) {
  const PeftConfigs configs = parse(R"({"lora_alpha": 1, "alpha_pattern": {
      "attn2.to_k": 2, "mid_block.attn2.to_k": 3, "down_blocks\\.[01]\\..*\\.to_v": 4, "to_v": 5, "ff|proj_in": 6}})");
  EXPECT_EQ(alpha_of(configs, "up_blocks.0.attn2.to_k"), 2);
  EXPECT_EQ(alpha_of(configs, "mid_block.attn2.to_k"), 3);    // the exact name before earlier patterns
  EXPECT_EQ(alpha_of(configs, "x.mid_block.attn2.to_k"), 2);  // else the first in the order of the file
  EXPECT_EQ(alpha_of(configs, "down_blocks.1.attn1.to_v"), 4);
  EXPECT_EQ(alpha_of(configs, "down_blocks.2.attn1.to_v"), 5);
  EXPECT_EQ(alpha_of(configs, "to_v"), 5);
  EXPECT_EQ(alpha_of(configs, "a.ff"), 6);
  EXPECT_EQ(alpha_of(configs, "a.proj_in"), 6);
  EXPECT_EQ(alpha_of(configs, "a.not_to_v"), 1);  // from a dot on only
  EXPECT_EQ(alpha_of(configs, "to_v.lora"), 1);   // to the end only
  EXPECT_EQ(alpha_of(configs, "xattn2.to_k"), 1);
  EXPECT_EQ(alpha_of(configs, "a.attn2xto_k"), 2);  // a dot of a pattern is any character, as in the original
}

TEST(PeftConfig, HostilePatternsTakeNoTime) {
  // By trying and going back, the first of these takes 2^60 steps and the last one the stack.
  std::string optional, long_name(1 << 20, 'a');
  for (int i = 0; i < 60; ++i) optional += "a?";
  for (const std::string& pattern :
       {optional + "b", std::string("(a+)+$b"), std::string("(a|a|.)*b"), std::string("a*")})
    alpha_of(parse(concat(R"({"alpha_pattern": {")", pattern, R"(": 2}})")), long_name.substr(0, 4000));
  EXPECT_EQ(alpha_of(parse(R"({"alpha_pattern": {"a*": 2}})"), long_name), 2);
}

TEST(PeftConfig, RankPatterns) {
  const PeftConfigs configs = parse(R"({"r": 4, "rank_pattern": {"to_q": 2}})");
  EXPECT_EQ(configs.settings("unet.", "a.to_q").rank, 2);
  EXPECT_EQ(configs.settings("unet.", "a.to_k").rank, 4);
}

TEST(PeftConfig, Refusals) {
  const std::tuple<const char*, ErrorCode, const char*> cases[] = {
      {"{", ErrorCode::kBadFile, "config"},
      {"[]", ErrorCode::kBadFile, "no JSON object"},
      {R"({"lora_alpha": "six"})", ErrorCode::kBadFile, "lora_alpha"},
      {R"({"use_rslora": 1})", ErrorCode::kBadFile, "use_rslora"},
      {R"({"num_cayley_neumann_terms": 100000})", ErrorCode::kBadFile, "100000"},
      {R"({"fan_in_fan_out": true})", ErrorCode::kUnsupported, "fan_in_fan_out"},
      {R"({"unet.fan_in_fan_out": true})", ErrorCode::kUnsupported, "fan_in_fan_out"},
      {R"({"init_lora_weights": "pissa_niter_16"})", ErrorCode::kUnsupported, "pissa_niter_16"},
      {R"({"init_lora_weights": "OLoRA"})", ErrorCode::kUnsupported, "changed base"},
      {R"({"init_lora_weights": "loftq"})", ErrorCode::kUnsupported, "loftq"},
      {R"({"alpha_pattern": []})", ErrorCode::kBadFile, "alpha_pattern"},
      {R"({"alpha_pattern": {"x": "1"}})", ErrorCode::kBadFile, "\"x\""},
      {R"({"alpha_pattern": {"(": 1}})", ErrorCode::kBadFile, "regular expression"},
      {R"({"alpha_pattern": {"a)(b": 1}})", ErrorCode::kBadFile, "regular expression"},
      {R"({"alpha_pattern": {"(a)\\1": 1}})", ErrorCode::kBadFile, "regular expression"},
      {R"({"alpha_pattern": {"a{1000}": 1}})", ErrorCode::kUnsupported, "complicated"},
      {R"({"rank_pattern": {"x": null}})", ErrorCode::kBadFile, "rank_pattern"},
  };
  for (const auto& [text, code, words] : cases) {
    const auto configs = PeftConfigs::parse(text, "config");
    ASSERT_FALSE(configs) << text;
    EXPECT_EQ(configs.error().code, code) << text;
    EXPECT_TRUE(configs.error().message.starts_with("config")) << configs.error().message;
    EXPECT_TRUE(contains(configs.error().message, words)) << configs.error().message;
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += concat(i == 0 ? "" : ",", "\"a*", i, "\": 1");
  const auto configs = PeftConfigs::parse(concat(R"({"alpha_pattern": {)", many, "}}"), "config");
  ASSERT_FALSE(configs);
  EXPECT_TRUE(contains(configs.error().message, "more than 64 regular expressions"));
  EXPECT_TRUE(PeftConfigs::parse(R"({"init_lora_weights": true, "init": "gaussian"})", "config"));
  EXPECT_TRUE(PeftConfigs::parse(R"({"init_lora_weights": "gaussian"})", "config"));
}

}  // namespace
}  // namespace veneer::adapt
