// The tiny T5 encoder against transformers in float32 (tests/data/tiny-t5). Tolerance: 2e-5 of the largest value for
// one network call; an independent evaluation in float32 differs by 1.5e-5 of it.
#include "model/t5.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/devices.h"
#include "pipeline/memory.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5;

io::ModelPart open_part() {
  io::ModelPaths paths;
  paths.t5xxl = test::data_path("tiny-t5/text_encoder");
  const auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  const io::ModelPart* part = files ? files->find(io::Part::kTextEncoder3) : nullptr;
  EXPECT_NE(part, nullptr);
  return part ? *part : io::ModelPart();
}

// 0 where `kept` is 1, minus infinity elsewhere.
Tensor key_mask(const std::vector<int32_t>& kept) {
  Tensor mask = Tensor::zeros({1, static_cast<int64_t>(kept.size())});
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] == 0) mask.f32()[i] = -std::numeric_limits<float>::infinity();
  return mask;
}

class T5 : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = device::open_device(GetParam(), 2, true);
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = *std::move(opened);
  }

  Tensor encode(const io::ModelPart& part, const model::TextEncoder::Input& input) {
    const auto encoder = model::build_t5(part, "text_encoder");
    EXPECT_TRUE(encoder) << encoder.error().message;
    Tensor states;
    nn::PanelCache panels(size_t{1} << 30);  // of this network
    pipeline::Workplace(*device_, panels).run([&](nn::Context& context) {
      const auto out = (*encoder)->encode(context, input);
      if (!context.measuring()) states = out.states.clone();
    });
    return states;
  }

  test::Golden golden_{"tiny-t5/golden.safetensors"};
  std::unique_ptr<device::Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Devices, T5, testing::Values("ref", "cpu"));

TEST_P(T5, StatesOfAShortAndALongText) {
  const io::ModelPart part = open_part();
  for (const std::string text : {"short", "long"}) {
    const auto ids = golden_.ids(text + "/ids");
    const Tensor mask = key_mask(golden_.ids(text + "/mask"));
    const Tensor masked = encode(part, {.ids = ids, .key_mask = mask}), all = encode(part, {.ids = ids});
    EXPECT_TRUE(test::close_to(masked, golden_.tensor(text + "/masked/last"), kTolerance)) << text;
    EXPECT_TRUE(test::close_to(all, golden_.tensor(text + "/unmasked/last"), kTolerance)) << text;
  }
}

TEST_P(T5, StatesAfterEveryLayer) {
  const io::ModelPart part = open_part();
  const auto ids = golden_.ids("short/ids");
  const Tensor mask = key_mask(golden_.ids("short/mask"));
  for (const int64_t layers : {0, 1, 2}) {
    const Tensor states = encode(part, {.ids = ids, .skip = 3 - layers, .final_norm = false, .key_mask = mask});
    EXPECT_TRUE(test::close_to(states, golden_.tensor(concat("short/masked/hidden.", layers)), kTolerance)) << layers;
  }
}

// Tokens that a mask hides change nothing for the others, so that padding need not be computed.
TEST_P(T5, MaskedTokensMayBeLeftOut) {
  const io::ModelPart part = open_part();
  const auto ids = golden_.ids("short/ids"), kept = golden_.ids("short/mask");
  const auto count = static_cast<int64_t>(std::count(kept.begin(), kept.end(), 1));
  ASSERT_LT(count, static_cast<int64_t>(ids.size()));
  const Tensor states = encode(part, {.ids = std::span(ids).first(static_cast<size_t>(count))});
  const Tensor golden = golden_.tensor("short/masked/last");
  EXPECT_TRUE(test::close_to(states, Tensor::view(const_cast<float*>(golden.f32()), states.shape), kTolerance));
}

TEST_P(T5, GgufSpellingIsTheSame) {
  io::ModelPart part = open_part();
  const auto ids = golden_.ids("short/ids");
  const Tensor expected = encode(part, {.ids = ids});
  const model::NameMap from_gguf = model::t5_names({"enc.blk.0.x", "enc.blk.1.x", "enc.blk.2.x", "shared.weight"});
  const model::NameMap back = from_gguf.inverted();
  part.weights = back.apply(part.weights);
  ASSERT_TRUE(part.weights.contains("enc.blk.2.ffn_gate.weight"));
  ASSERT_TRUE(part.weights.contains("token_embd.weight"));
  const Tensor states = encode(part, {.ids = ids});
  EXPECT_TRUE(std::ranges::equal(states.values(), expected.values()));
}

TEST(T5Bucket, OfEveryDistance) {
  const test::Golden golden("tiny-t5/golden.safetensors");
  const auto buckets = golden.ids("bucket");
  ASSERT_EQ(buckets.size(), 601u);
  for (int64_t distance = -300; distance <= 300; ++distance)
    EXPECT_EQ(model::t5_bucket(distance), buckets[static_cast<size_t>(distance + 300)]) << distance;
}

TEST(T5Names, AreThoseOfTheGoldenTable) {
  const model::NameSet names{"enc.blk.0.attn_q.weight", "enc.blk.1.attn_q.weight", "enc.blk.2.attn_q.weight"};
  const model::NameMap map = model::t5_names(names);
  const auto text = read_text_file(test::data_path("tiny-t5/golden.index.json"));
  ASSERT_TRUE(text) << text.error().message;
  const auto index = parse_json(*text, "golden.index.json");
  ASSERT_TRUE(index) << index.error().message;
  const Json& table = (*index)["gguf_names"];
  ASSERT_EQ(table.size(), 30u);
  for (const auto& [canonical, gguf] : table.items()) EXPECT_EQ(map(gguf.get<std::string>()), canonical);
}

TEST(T5Build, Version10IsRefused) {
  io::ModelPart part = open_part();
  part.weights = part.weights.renamed([](std::string_view name) {
    const size_t at = name.find("wi_0");
    return at == std::string_view::npos ? std::string(name) : concat(name.substr(0, at), "wi", name.substr(at + 4));
  });
  const auto built = model::build_t5(part, "text_encoder");
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(built.error().message.find("version 1.0"), std::string::npos) << built.error().message;
}

TEST(T5Build, MissingAndMisshapenTensorsAreNamed) {
  const auto problem_without = [](std::string_view gone) {
    io::ModelPart part = open_part();
    part.weights =
        part.weights.renamed([gone](std::string_view name) { return name == gone ? "" : std::string(name); });
    const auto built = model::build_t5(part, "text_encoder");
    EXPECT_FALSE(built) << gone;
    return built ? Error() : built.error();
  };
  for (const char* name : {"shared.weight", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                           "encoder.block.2.layer.1.DenseReluDense.wo.weight", "encoder.final_layer_norm.weight"}) {
    const Error error = problem_without(name);
    EXPECT_EQ(error.code, ErrorCode::kBadFile);
    EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
  }
  EXPECT_EQ(problem_without("encoder.block.0.layer.0.SelfAttention.q.weight").code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace veneer
