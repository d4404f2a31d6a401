// Weights by block: the orders, the presets and the messages.
#include "adapt/block_weights.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::adapt {
namespace {

using io::Part;

BlockWeights parse(std::string_view text) {
  auto weights = BlockWeights::parse(text);
  EXPECT_TRUE(weights) << weights.error().message;
  return *std::move(weights);
}

// "0,1,2,..." of so many numbers.
std::string counted(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += concat(i == 0 ? "" : ",", i);
  return text;
}

TEST(BlockWeights, BlocksOfOriginalNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"input_blocks.4.1.proj_in", "input_blocks.4"},
      {"input_blocks.11.0.in_layers.2", "input_blocks.11"},
      {"middle_block.1.proj_in", "middle_block.1"},
      {"output_blocks.8.2.conv", "output_blocks.8"},
      {"double_blocks.18.img_attn.qkv", "double_blocks.18"},
      {"single_blocks.3.linear1", "single_blocks.3"},
      {"final_layer.linear", "final_layer"},
      {"img_in", "img_in"},
      {"time_embed.0", ""},
      {"down_blocks.0.resnets.0.conv1", ""},
      {"input_blocks", ""},
      {":12", ""},
      {"", ""},
  };
  for (const auto& [name, block] : cases) EXPECT_EQ(original_block(name), block) << name;
}

TEST(BlockWeights, EveryOrder) {
  // Each number is its own place in the order.
  const std::tuple<int, const char*, double> cases[] = {
      {17, "", 0},
      {17, "input_blocks.1", 1},
      {17, "input_blocks.2", 2},
      {17, "input_blocks.4", 3},
      {17, "input_blocks.8", 6},
      {17, "middle_block.1", 7},
      {17, "output_blocks.3", 8},
      {17, "output_blocks.11", 16},
      {17, "input_blocks.3", 0},  // left out of the order
      {26, "input_blocks.0", 1},
      {26, "input_blocks.11", 12},
      {26, "middle_block.0", 13},
      {26, "output_blocks.0", 14},
      {26, "output_blocks.11", 25},
      {12, "input_blocks.4", 1},
      {12, "input_blocks.8", 4},
      {12, "middle_block.2", 5},
      {12, "output_blocks.5", 11},
      {20, "input_blocks.0", 1},
      {20, "middle_block.1", 10},
      {20, "output_blocks.8", 19},
      {61, "img_in", 2},
      {61, "double_blocks.0", 3},
      {61, "double_blocks.18", 21},
      {61, "single_blocks.0", 22},
      {61, "single_blocks.37", 59},
      {61, "final_layer", 60},
  };
  for (const auto& [count, block, factor] : cases)
    EXPECT_EQ(parse(counted(count)).factor(Part::kDenoiser, block), factor) << count << " " << block;
}

TEST(BlockWeights, OtherComponents) {
  const BlockWeights unet = parse("0.5,1,1,1,1,1,1,1,1,1,1,1");
  EXPECT_EQ(unet.factor(Part::kTextEncoder, ""), 0.5);
  EXPECT_EQ(unet.factor(Part::kTextEncoder2, ""), 0.5);
  EXPECT_EQ(unet.factor(Part::kDenoiser, ""), 0.5);  // time embedding, last convolution
  EXPECT_EQ(unet.factor(Part::kVae, ""), 1);
  const BlockWeights flux = parse(counted(61));
  EXPECT_EQ(flux.factor(Part::kTextEncoder, ""), 0);
  EXPECT_EQ(flux.factor(Part::kTextEncoder3, ""), 1);
}

TEST(BlockWeights, Presets) {
  const std::pair<const char*, const char*> cases[] = {
      {"NONE", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"},   {"ALL", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"},
      {"INS", "1,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0"},    {"IND", "1,0,0,0,1,1,1,0,0,0,0,0,0,0,0,0,0"},
      {"INALL", "1,1,1,1,1,1,1,0,0,0,0,0,0,0,0,0,0"},  {"MIDD", "1,0,0,0,1,1,1,1,1,1,1,1,0,0,0,0,0"},
      {"OUTD", "1,0,0,0,0,0,0,0,1,1,1,1,0,0,0,0,0"},   {"OUTS", "1,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1"},
      {"OUTALL", "1,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1"},
  };
  const char* blocks[] = {"",
                          "input_blocks.1",
                          "input_blocks.2",
                          "input_blocks.4",
                          "input_blocks.5",
                          "input_blocks.7",
                          "input_blocks.8",
                          "middle_block.1",
                          "output_blocks.3",
                          "output_blocks.4",
                          "output_blocks.5",
                          "output_blocks.6",
                          "output_blocks.7",
                          "output_blocks.8",
                          "output_blocks.9",
                          "output_blocks.10",
                          "output_blocks.11"};
  for (const auto& [preset, list] : cases)
    for (const char* block : blocks)
      EXPECT_EQ(parse(preset).factor(Part::kDenoiser, block), parse(list).factor(Part::kDenoiser, block))
          << preset << " " << block;
}

TEST(BlockWeights, NumbersAsUsersWriteThem) {
  EXPECT_EQ(parse(" -0.5, 1e1 ,0,0,0,0,0,0,0,0,0,.25").factor(Part::kTextEncoder, ""), -0.5);
  EXPECT_EQ(parse(" -0.5, 1e1 ,0,0,0,0,0,0,0,0,0,.25").factor(Part::kDenoiser, "input_blocks.4"), 10);
}

TEST(BlockWeights, WithoutAListAllAreOne) {
  const BlockWeights plain;
  EXPECT_EQ(plain.factor(Part::kDenoiser, "input_blocks.4"), 1);
  EXPECT_EQ(plain.factor(Part::kTextEncoder, ""), 1);
  EXPECT_EQ(plain.to_string(), "");
}

TEST(BlockWeights, SidesMultiplyTheList) {
  BlockWeights sides;
  sides.scale_sides(2, 3, 5);
  BlockWeights both = parse("0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5");
  both.scale_sides(2, 3, 5);
  const std::tuple<Part, const char*, double> cases[] = {
      {Part::kDenoiser, "input_blocks.4", 2},  {Part::kDenoiser, "middle_block.1", 3},
      {Part::kDenoiser, "output_blocks.5", 5}, {Part::kDenoiser, "", 1},
      {Part::kDenoiser, "final_layer", 1},     {Part::kTextEncoder, "", 1},
  };
  for (const auto& [part, block, factor] : cases) EXPECT_EQ(sides.factor(part, block), factor) << block;
  EXPECT_EQ(both.factor(Part::kDenoiser, "input_blocks.4"), 1);
  EXPECT_EQ(both.factor(Part::kDenoiser, "output_blocks.5"), 2.5);
  EXPECT_EQ(both.factor(Part::kDenoiser, "input_blocks.3"), 0);
  EXPECT_EQ(both.factor(Part::kTextEncoder, ""), 0.5);
  EXPECT_EQ(both.factor(Part::kVae, ""), 1);
}

TEST(BlockWeights, AsArgumentsOfATag) {
  BlockWeights weights = parse("0.1,1e-3,1,0,-1,1,1,1,1,1,1,1");
  EXPECT_EQ(weights.to_string(), "lbw=0.1,0.001,1,0,-1,1,1,1,1,1,1,1");
  EXPECT_EQ(parse(weights.to_string().substr(4)), weights);
  weights.scale_sides(1, 0.25, 1);
  EXPECT_EQ(weights.to_string(), "lbw=0.1,0.001,1,0,-1,1,1,1,1,1,1,1:mid=0.25");
  EXPECT_EQ(parse("INS"), parse(parse("INS").to_string().substr(4)));
}

TEST(BlockWeights, Errors) {
  for (const std::string text : {"", "1", "1,2,3", "outall", "FOO", "1,,1", "1,nan,1", "inf", "1;2"}) {
    const auto weights = BlockWeights::parse(text);
    ASSERT_FALSE(weights) << text;
    EXPECT_EQ(weights.error().code, ErrorCode::kUsage);
    EXPECT_TRUE(contains(weights.error().message, "17 (BASE IN01-IN02 IN04-IN05 IN07-IN08 MID OUT03-OUT11)"));
    EXPECT_TRUE(contains(weights.error().message, "OUTALL"));
  }
  EXPECT_TRUE(contains(BlockWeights::parse(counted(18)).error().message, "no order has 18 numbers"));
  EXPECT_FALSE(BlockWeights::parse(counted(16)));
  EXPECT_FALSE(BlockWeights::parse(counted(62)));
}

}  // namespace
}  // namespace veneer::adapt
