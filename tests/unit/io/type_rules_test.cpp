// Type rules: what is understood, what is refused, which rule wins, and what no rule touches.
#include "io/type_rules.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::io {
namespace {

constexpr std::string_view kLinear = "model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q.weight";

Entry entry_of_shape(const Shape& shape, std::string_view codec = "f16", std::string_view type = "F16") {
  Entry entry;
  entry.type_name = type;
  entry.weight.codec = codec::find_codec(codec);
  entry.weight.shape = shape;
  return entry;
}

TypeRules rules(std::string_view type, std::string_view text) {
  auto parsed = TypeRules::parse(type, text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *std::move(parsed) : TypeRules();
}

TypeRules::Decision decide(std::string_view type, std::string_view text, std::string_view name,
                           const Entry& entry = entry_of_shape({64, 64})) {
  return rules(type, text).decide(name, entry);
}

TEST(TypeRules, NothingAskedForIsNothingDone) {
  EXPECT_TRUE(rules("", "").empty());
  const auto decision = decide("", "attn2=q8_0", kLinear);
  EXPECT_FALSE(decision.converts());
  EXPECT_EQ(decision.keep, KeepReason::kNoRule);
  EXPECT_EQ(decision.rule, TypeRules::kNoMatch);
}

TEST(TypeRules, RefuseMalformedEntriesAndQuoteThem) {
  const std::pair<const char*, const char*> kBad[] = {
      {"attn", "expected PATTERN=TYPE, found \"attn\""},
      {"=f16", "expected PATTERN=TYPE, found \"=f16\""},
      {"attn=f16,", "expected PATTERN=TYPE, found \"\""},
      {"attn=f16,,ff=f32", "expected PATTERN=TYPE, found \"\""},
      {"ff=f32,attn=", "in \"attn=\": expected one of f32, f16, "},
      {"attn=f17", "in \"attn=f17\": expected one of f32, f16, "},
      {"attn=q2_K", "found \"q2_K\", which is only read"},
      {"attn=f16=f32", "found \"f16=f32\""},
      {"(=f16", "in \"(=f16\": the pattern is no regular expression"},
      {"*=f16", "in \"*=f16\": the pattern is no regular expression"},
  };
  for (const auto& [text, message] : kBad) {
    const auto parsed = TypeRules::parse("", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage) << text;
    EXPECT_EQ(parsed.error().where, "--tensor-type-rules");
    EXPECT_TRUE(contains(parsed.error().message, message)) << parsed.error().message;
  }
  const auto parsed = TypeRules::parse("int3", "");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(parsed.error().message.starts_with("--type: expected one of f32, ")) << parsed.error().message;
}

TEST(TypeRules, KnowEveryTypeThatIsWritten) {
  for (const char* name : {"f32",
                           "f16",
                           "bf16",
                           "f8_e4m3",
                           "f8_e5m2",
                           "q4_0",
                           "q4_1",
                           "q5_0",
                           "q5_1",
                           "q8_0",
                           "q4_K",
                           "q6_K",
                           "f8_e4m3_scaled",
                           "f8_e4m3_scaled_rows",
                           "f8_e5m2_scaled",
                           "f8_e5m2_scaled_rows",
                           "sdnq_int8",
                           "sdnq_int8_svd",
                           "sdnq_uint4",
                           "sdnq_uint4_svd"}) {
    const auto type = target_named(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(type->name, name);
  }
  EXPECT_EQ(target_named("Q4_k")->name, "q4_K");
  EXPECT_EQ(target_named("SDNQ_UINT4")->name, "sdnq_uint4");
  EXPECT_TRUE(target_named("f8_e5m2_scaled")->is_f8());
  EXPECT_TRUE(target_named("f8_e4m3")->is_f8());
  EXPECT_FALSE(target_named("q8_0")->is_f8());
  EXPECT_TRUE(target_named("bf16")->is_float());
  EXPECT_FALSE(target_named("f8_e4m3")->is_float());
  EXPECT_TRUE(target_named("sdnq_int8")->is_sdnq());
}

TEST(TypeRules, TheFirstMatchWinsOverLaterOnesAndOverTheTypeForAll) {
  const char* const kText = "attn1=q8_0,attn=q4_0,^first_stage_model=bf16";
  EXPECT_EQ(decide("f32", kText, kLinear).type.name, "q8_0");
  EXPECT_EQ(decide("f32", kText, kLinear).rule, 0);
  EXPECT_EQ(decide("f32", kText, "model.diffusion_model.a.attn2.to_q.weight").type.name, "q4_0");
  EXPECT_EQ(decide("f32", kText, "first_stage_model.encoder.conv_in.weight").type.name, "bf16");
  EXPECT_EQ(decide("f32", kText, "x.first_stage_model.weight").type.name, "f32");
  EXPECT_EQ(decide("f32", kText, "x.first_stage_model.weight").rule, TypeRules::kForAll);
}

TEST(TypeRules, PatternsAreLookedForAnywhereInTheName) {
  EXPECT_TRUE(decide("", "to_[qk]\\.w=q8_0", kLinear).converts());
  EXPECT_FALSE(decide("", "^attn1=q8_0", kLinear).converts());
  EXPECT_FALSE(decide("", "TO_Q=q8_0", kLinear).converts());
}

TEST(TypeRules, NeverConvertByName) {
  for (const char* name :
       {"a.bias", "a.norm.scale", "a.weight_scale", "cond_stage_model.transformer.text_model.token_embedding.weight",
        "model.diffusion_model.time_embed.0.weight", "model.diffusion_model.label_emb.0.0.weight",
        "model.diffusion_model.x_embedder.proj.weight", "model.diffusion_model.t_embedder.mlp.0.weight",
        "model.diffusion_model.y_embedder.mlp.0.weight", "model.diffusion_model.pos_embed",
        "model.diffusion_model.context_embedder.weight", "model.diffusion_model.img_in.weight",
        "model.diffusion_model.txt_in.weight", "model.diffusion_model.time_in.in_layer.weight",
        "model.diffusion_model.vector_in.in_layer.weight", "model.diffusion_model.guidance_in.in_layer.weight",
        "model.diffusion_model.final_layer.linear.weight"}) {
    EXPECT_TRUE(is_never_converted(name)) << name;
    for (const char* type : {"f32", "q8_0", "f8_e4m3", "sdnq_uint4"}) {
      EXPECT_EQ(decide(type, "", name).keep, KeepReason::kName) << name;
      EXPECT_EQ(decide("", concat(".=", type), name).keep, KeepReason::kName) << name;
    }
  }
  for (const char* name :
       {"a.bias.weight", "a.scale.weight", "model.diffusion_model.time_embedder.weight",
        "model.diffusion_model.final_layers.weight", "model.diffusion_model.input_blocks.0.0.weight"})
    EXPECT_FALSE(is_never_converted(name)) << name;
}

TEST(TypeRules, RowsMustBeWholeBlocks) {
  const auto keep = [](const char* type, const Shape& shape) {
    return decide(type, "", kLinear, entry_of_shape(shape)).keep;
  };
  EXPECT_EQ(keep("q8_0", {3, 64}), KeepReason::kNone);
  EXPECT_EQ(keep("q8_0", {64, 33}), KeepReason::kRowLength);
  EXPECT_EQ(keep("q4_K", {64, 128}), KeepReason::kRowLength);
  EXPECT_EQ(keep("q4_K", {1, 256}), KeepReason::kNone);
  EXPECT_EQ(keep("q8_0", {64, 32, 3, 3}), KeepReason::kRowLength);
  EXPECT_EQ(keep("f8_e4m3", {64, 32, 3, 3}), KeepReason::kNone);
  EXPECT_EQ(keep("f8_e4m3_scaled", {5, 7}), KeepReason::kNone);
  EXPECT_EQ(keep("sdnq_uint4", {64, 32, 3, 3}), KeepReason::kNone);
  EXPECT_EQ(keep("q8_0", {32}), KeepReason::kVector);
  EXPECT_EQ(keep("f8_e4m3", {32}), KeepReason::kVector);
  EXPECT_EQ(keep("f32", {32}), KeepReason::kNone);
}

TEST(TypeRules, WhatHasTheTypeAlreadyStays) {
  EXPECT_EQ(decide("f16", "", kLinear).keep, KeepReason::kSameType);
  EXPECT_EQ(decide("q8_0", "", kLinear, entry_of_shape({4, 64}, "q8_0", "Q8_0")).keep, KeepReason::kSameType);
  Entry scaled = entry_of_shape({4, 64}, "f8_e4m3_scaled", "F8_E4M3");
  codec::SideParts side;
  side.tensors["scale"] = codec::weight_from(std::vector<float>{1, 1, 1, 1}, {4}, *codec::find_codec("f32"));
  scaled.weight.side = std::make_shared<codec::SideParts>(side);
  EXPECT_EQ(decide("f8_e4m3_scaled_rows", "", kLinear, scaled).keep, KeepReason::kSameType);
  EXPECT_TRUE(decide("f8_e4m3_scaled", "", kLinear, scaled).converts());
  EXPECT_TRUE(decide("f8_e5m2_scaled_rows", "", kLinear, scaled).converts());
}

TEST(TypeRules, Int8WithScalesAndIndicesStay) {
  EXPECT_EQ(decide("f16", "", kLinear, entry_of_shape({4, 64}, "int8_scaled", "I8")).keep, KeepReason::kInt8);
  Entry indices = entry_of_shape({1, 77}, "", "I64");
  EXPECT_EQ(decide("f16", "", kLinear, indices).keep, KeepReason::kNoWeight);
}

TEST(TypeRules, FormsOfSeveralTensorsNeedALayersName) {
  EXPECT_EQ(decide("f8_e4m3_scaled", "", "a.in_proj_weight").keep, KeepReason::kNoLayer);
  EXPECT_TRUE(decide("f8_e4m3", "", "a.in_proj_weight").converts());
}

// A name of a hostile file can be as long as the header allows; the matcher's depth follows it.
TEST(TypeRules, NamesOfAnyLengthAreMatched) {
  const std::string name(1 << 20, 'a');
  EXPECT_FALSE(decide("", ".*z=q8_0", name).converts());
  EXPECT_TRUE(decide("", ".*a=q8_0", name).converts());
}

}  // namespace
}  // namespace veneer::io
