// Weights held in other formats than their files have: the same numbers as a converted file gives, counted as held.
#include "pipeline/held.h"

#include <gtest/gtest.h>

#include "core/format.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"

namespace veneer::pipeline {
namespace {

io::ModelFiles open_tiny() {
  auto files = io::open_model_files({.model = test::data_path("tiny-sd1")});
  EXPECT_TRUE(files) << files.error().message;
  return files ? *std::move(files) : io::ModelFiles();
}

io::TypeRules rules(std::string_view type, std::string_view text = "") { return *io::TypeRules::parse(type, text); }

TEST(Held, NothingAskedForIsTheFilesThemselves) {
  const io::ModelFiles files = open_tiny();
  const auto held = hold_as(files, {}, 2);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->bytes, 0u);
  for (const auto& [part, content] : files.parts)
    for (const auto& [name, entry] : content.weights.entries())
      EXPECT_EQ(held->files.find(part)->weights.find(name)->weight.bytes.data(), entry.weight.bytes.data()) << name;
}

TEST(Held, RulesGoByOriginalNamesAndLeaveTheRestMapped) {
  const io::ModelFiles files = open_tiny();
  const std::string hash = files.find(io::Part::kDenoiser)->weights.content_hash();
  const auto held = hold_as(files, rules("", "input_blocks\\.1\\.0\\.in_layers\\.2=f8_e4m3"), 2);
  ASSERT_TRUE(held);
  uint64_t bytes = 0;
  for (const auto& [part, content] : files.parts)
    for (const auto& [name, entry] : content.weights.entries()) {
      const codec::Weight& weight = held->files.find(part)->weights.find(name)->weight;
      EXPECT_EQ(weight.shape, entry.weight.shape);
      if (part == io::Part::kDenoiser && name == "down_blocks.0.resnets.0.conv1.weight") {
        EXPECT_EQ(weight.codec->name, "f8_e4m3");
        bytes += weight.bytes.size();
      } else {
        EXPECT_EQ(weight.bytes.data(), entry.weight.bytes.data()) << name;
      }
    }
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(held->bytes, bytes);
  EXPECT_EQ(held->use.to_json()[0]["matched"], 2);
  EXPECT_EQ(files.find(io::Part::kDenoiser)->weights.content_hash(), hash);
}

// Every form can be held, and what it decodes to is near what the file has.
TEST(Held, EveryFormDecodes) {
  const io::ModelFiles files = open_tiny();
  for (const char* type : {"f32", "bf16", "f8_e4m3", "f8_e5m2_scaled", "f8_e4m3_scaled_rows", "q8_0", "q4_0",
                           "sdnq_int8", "sdnq_uint4", "sdnq_uint4_svd"}) {
    const auto held = hold_as(files, rules(type), 2);
    ASSERT_TRUE(held) << type;
    EXPECT_GT(held->bytes, 0u) << type;
    for (const auto& [part, content] : held->files.parts)
      for (const auto& [name, entry] : content.weights.entries()) {
        ASSERT_TRUE(content.weights.weight(name)) << type << " " << name;
        const std::vector<float> was = files.find(part)->weights.find(name)->weight.decode_all();
        const std::vector<float> is = entry.weight.decode_all();
        double errors = 0, values = 0;
        for (size_t i = 0; i < was.size(); ++i) {
          errors += (was[i] - is[i]) * (was[i] - is[i]);
          values += was[i] * was[i];
        }
        EXPECT_LE(errors, 0.04 * values) << type << " " << name;  // 0.2: the coarsest of them, 4 bits
      }
  }
}

TEST(Held, ASessionSaysWhatItHolds) {
  SessionOptions options;
  options.paths.model = test::data_path("tiny-sd1");
  options.threads = 2;
  options.types = rules("q8_0", "first_stage_model=f8_e5m2");
  const auto session = Session::open(options, Log());
  ASSERT_TRUE(session) << session.error().message;
  const Json json = (*session)->describe();
  EXPECT_GT(json["held"]["bytes"], 0);
  EXPECT_EQ(json["held"]["rules"].size(), 2u);
  bool q8 = false, f8 = false;
  for (const Json& part : json["parts"]) {
    q8 |= part["part"] == "denoiser" && part["types"].contains("q8_0");
    f8 |= part["part"] == "vae" && part["types"].contains("f8_e5m2");
  }
  EXPECT_TRUE(q8);
  EXPECT_TRUE(f8);
  Request request;
  request.prompt = "a";
  request.width = request.height = 32;
  request.steps = 1;
  const auto drawn = (*session)->generate(request, {}, CancelFlag());
  EXPECT_TRUE(drawn) << drawn.error().message;
}

}  // namespace
}  // namespace veneer::pipeline
