// Generation parameters as text and JSON: the layout that other programs read, and printing followed by parsing.
#include "pipeline/parameters.h"

#include <gtest/gtest.h>

#include <random>

#include "pipeline/version.h"

namespace veneer::pipeline {
namespace {

Parameters example() {
  Parameters p;
  p.prompt = "a red fox, (sharp:1.2)";
  p.negative_prompt = "blurry";
  p.steps = 20;
  p.cfg_scale = 7.0;
  p.eta = 1.0;
  p.seed = 42;
  p.width = 512;
  p.height = 256;
  p.sampler = "euler_a";
  p.schedule = "discrete";
  p.rng = "cuda";
  p.sampler_rng = "cuda";
  p.prediction = "eps";
  p.model = "fox.safetensors";
  p.compute = "f32";
  return p;
}

std::string without_json(const std::string& text) { return text.substr(0, text.find("Veneer: ")); }
std::string version_key() { return "Version: veneer " + std::string(version()) + ", "; }

TEST(ParametersText, HasTheKeysInOrder) {
  EXPECT_EQ(
      without_json(parameters_text(example())),
      "a red fox, (sharp:1.2)\n"
      "Negative prompt: blurry\n"
      "Steps: 20, CFG scale: 7.000000, Eta: 1.000000, Seed: 42, Size: 512x256, Model: fox.safetensors, RNG: cuda, "
      "Sampler: euler_a discrete, " +
          version_key());
}

TEST(ParametersText, AddsKeysOnlyWhereTheyApply) {
  Parameters p = example();
  p.negative_prompt.clear();
  p.sigmas = {14.61464119, 3.25, 0};
  p.schedule = "custom";
  p.sampler_rng = "cpu";
  p.vae = "vae, new.safetensors";
  p.clip_skip = 2;
  p.t5_length = 32;
  p.cfg_scale = 1.5;
  p.image_cfg_scale = 1.25;
  p.guidance = 3.5;
  p.eta = 0;
  EXPECT_EQ(without_json(parameters_text(p)),
            "a red fox, (sharp:1.2)\n"
            "Steps: 20, CFG scale: 1.500000, Image CFG scale: 1.250000, Guidance: 3.500000, Eta: 0.000000, Seed: 42, "
            "Size: 512x256, Model: fox.safetensors, RNG: cuda, Sampler RNG: cpu, Sampler: euler_a, Custom Sigmas: "
            "[14.6146, 3.2500, 0.0000], "
            "VAE: \"vae, new.safetensors\", Clip skip: 2, T5 length: 32, " +
                version_key());
}

TEST(ParametersText, CarriesItsJson) {
  Parameters p = example();
  p.prompt = "a sign that says\nVeneer: {\"seed\": 1}, SDCPP: {}";
  const auto json = parse_json(embedded_json(parameters_text(p)), "text");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(*json, parameters_json(p));
}

TEST(ParametersText, SurvivesTextThatIsNotUtf8) {
  Parameters p = example();
  p.prompt = "\xc3(";
  const auto json = parse_json(embedded_json(parameters_text(p)), "text");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ((*json)["prompt"]["positive"], "\xef\xbf\xbd(");
}

TEST(EmbeddedJson, ReadsBothKeysAndOnlyTheLastLine) {
  EXPECT_EQ(embedded_json("a fox\nSteps: 1, SDCPP: {\"a\": {}}"), "{\"a\": {}}");
  EXPECT_EQ(embedded_json("a fox\nSteps: 1, Veneer: {\"a\": 1}\n"), "{\"a\": 1}");
  EXPECT_EQ(embedded_json("Veneer: {}\nSteps: 1"), "");
  EXPECT_EQ(embedded_json(""), "");
}

TEST(ParametersJson, HasTheSchemaAndOnlyWhatApplies) {
  Parameters p = example();
  Json json = parameters_json(p);
  EXPECT_EQ(json["schema"], "veneer.image.params/v1");
  EXPECT_EQ(json["mode"], "img_gen");
  EXPECT_EQ(json["generator"]["name"], "veneer");
  EXPECT_EQ(json["sampling"]["method"], "euler_a");
  EXPECT_EQ(json["sampling"]["guidance"]["txt_cfg"], 7.0);
  EXPECT_EQ(json["models"], (Json{{"model", "fox.safetensors"}}));
  for (const char* key : {"strength", "vae_tiling"}) EXPECT_FALSE(json.contains(key)) << key;
  EXPECT_FALSE(json["sampling"].contains("custom_sigmas"));
  p.strength = 0.5;
  p.tiling = TilingOptions{.enabled = true};
  json = parameters_json(p);
  EXPECT_EQ(json["strength"], 0.5);
  EXPECT_EQ(json["vae_tiling"]["tile_size_x"], 32);
}

// Any parameters, through the printed form of the JSON; doubles keep every bit, because they are printed in the
// shortest form that reads back the same.
TEST(ParametersJson, PrintedAndParsedIsTheSame) {
  std::mt19937_64 random(7);
  const auto number = [&] {
    return std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 200) - 160);
  };
  const auto integer = [&] { return static_cast<int>(random()); };
  const auto words = [&] {
    constexpr const char* kPieces[] = {"fox", "\"", "\\", "\n",  "\xc3\xa9", "\xf0\x9f\x8e\xa8",
                                       "{",   ", ", ": ", "\x01"};
    std::string out;
    for (uint64_t n = random() % 6; n > 0; --n) out += kPieces[random() % std::size(kPieces)];
    return out;
  };
  for (int round = 0; round < 200; ++round) {
    Parameters p;
    for (std::string* text : {&p.prompt, &p.negative_prompt, &p.sampler, &p.schedule, &p.extra_sample_args, &p.rng,
                              &p.sampler_rng, &p.prediction, &p.model, &p.vae, &p.tiny_vae, &p.compute})
      *text = words();
    for (int* value : {&p.steps, &p.width, &p.height, &p.clip_skip, &p.t5_length}) *value = integer();
    for (double* value : {&p.cfg_scale, &p.cfg_rescale, &p.eta}) *value = number();
    p.seed = static_cast<int64_t>(random());
    for (uint64_t n = random() % 4; n > 0; --n) p.sigmas.push_back(number());
    for (auto* value : {&p.image_cfg_scale, &p.guidance, &p.flow_shift})
      if (random() % 2) *value = number();
    if (random() % 2) p.strength = number();
    if (random() % 2) p.tiling = TilingOptions{random() % 2 == 0, integer(), integer(), number(), number(), number()};
    const auto json = parse_json(parameters_json(p).dump(), "round trip");
    ASSERT_TRUE(json) << json.error().message;
    const auto read = parameters_from_json(*json, "round trip");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, p) << json->dump();
  }
}

TEST(ParametersJson, RefusesWhatItIsNot) {
  struct Case {
    const char* change;  // a JSON merge patch over a good object; null removes
    const char* complaint;
  };
  constexpr Case kCases[] = {
      {R"({"schema": "other/v9"})", "found \"other/v9\""},
      {R"({"schema": null})", "expected \"schema\" veneer.image.params/v1"},
      {R"({"seed": "42"})", "\"seed\" must be"},
      {R"({"width": 4294967296})", "\"width\" is out of range"},
      {R"({"prompt": "a fox"})", "\"prompt\" must be an object"},
      {R"({"sampling": {"custom_sigmas": [1, "x"]}})", "\"custom_sigmas\" must be a list of numbers"},
      {R"({"sampling": {"eta": true}})", "\"eta\" must be"},
      {R"({"sampling": {"guidance": 7}})", "\"guidance\" must be an object"},
      {R"({"models": {"model": 3}})", "\"model\" must be"},
      {R"({"strength": []})", "\"strength\" must be"},
      {R"({"vae_tiling": {"enabled": 1}})", "\"enabled\" must be"},
  };
  for (const Case& c : kCases) {
    Json json = parameters_json(example());
    json.merge_patch(Json::parse(c.change));
    const auto read = parameters_from_json(json, "fox.png");
    ASSERT_FALSE(read) << c.change;
    EXPECT_EQ(read.error().code, ErrorCode::kBadFile) << c.change;
    EXPECT_EQ(read.error().message.find("fox.png: "), 0u) << read.error().message;
    EXPECT_NE(read.error().message.find(c.complaint), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(parameters_from_json(Json::array(), "fox.png"));
}

}  // namespace
}  // namespace veneer::pipeline
