// Encoded weights written to a file with their records, and read back by the reader of such files: the same numbers.
#include "io/quant_metadata.h"

#include <random>

#include "io/assemble.h"
#include "io/container.h"
#include "io/sdnq_config.h"
#include "test_files.h"

namespace veneer::io {
namespace {

struct Layer {
  std::string name;
  Shape shape;
};

std::vector<float> values_of(const Layer& layer) {
  std::mt19937 random(static_cast<unsigned>(layer.shape.elements()));
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(static_cast<size_t>(layer.shape.elements()));
  for (float& value : values) value = normal(random);
  return values;
}

const std::vector<Layer> kLayers = {{"a.to_q", {32, 96}},
                                    {"a.proj_in", {16, 32, 1, 1}},
                                    {"conv", {8, 64, 3, 3}},
                                    {"groups", {12, 640}},
                                    {"conv_groups", {8, 128, 3, 1}}};

// The layers in a file of this form, read back and joined.
Assembled written_and_read(const codec::Form& form, const Json& config,
                           const std::map<std::string, std::string>& metadata) {
  const ScratchFolder scratch;
  std::vector<TensorPlan> plans;
  std::vector<std::vector<std::byte>> contents;
  for (const Layer& layer : kLayers) {
    auto bytes = codec::encode(form, values_of(layer), layer.shape, layer.name);
    EXPECT_TRUE(bytes) << bytes.error().message;
    for (const codec::StoredTensor& tensor : codec::stored_tensors(form, layer.shape))
      plans.push_back({concat(layer.name, tensor.suffix), tensor.type, tensor.shape});
    for (auto& content : *bytes) contents.push_back(std::move(content));
  }
  auto layout = safetensors_layout(plans, metadata);
  EXPECT_TRUE(layout) << layout.error().message;
  const auto writer = TensorFileWriter::create(scratch / "x.safetensors", *std::move(layout));
  for (size_t i = 0; i < contents.size(); ++i) EXPECT_TRUE((*writer)->write(i, 0, contents[i]));
  EXPECT_TRUE((*writer)->commit());
  const auto store = open_weights(scratch / "x.safetensors", MappedFile::Mode::kRead);
  EXPECT_TRUE(store) << store.error().message;
  auto assembled = assemble_quantized(*store, config, "x");
  EXPECT_TRUE(assembled) << assembled.error().message;
  return assembled ? *std::move(assembled) : Assembled{};
}

void expect_same_numbers(const codec::Form& form, const Assembled& assembled) {
  EXPECT_TRUE(assembled.warnings.empty());
  EXPECT_EQ(assembled.weights.entries().size(), kLayers.size());
  for (const Layer& layer : kLayers) {
    const Entry* entry = assembled.weights.find(layer.name + ".weight");
    ASSERT_NE(entry, nullptr) << layer.name;
    codec::Weight weight = entry->weight;
    if (weight.shape_is_open()) weight.shape = layer.shape;
    EXPECT_EQ(weight.shape, layer.shape) << layer.name;
    ASSERT_TRUE(weight.codec->check(weight)) << layer.name;
    auto bytes = codec::encode(form, values_of(layer), layer.shape, layer.name);
    EXPECT_EQ(weight.decode_all(), codec::decodable(form, *std::move(bytes), layer.shape, layer.name).decode_all())
        << layer.name;
  }
}

class SdnqFiles : public testing::TestWithParam<const char*> {};

TEST_P(SdnqFiles, ReadBackAsTheyWereEncoded) {
  const codec::Form form = *codec::find_form(GetParam());
  const std::vector<std::string> plain = {"conv_in.weight"};
  const Json config = sdnq_config(std::get<codec::SdnqForm>(form), plain);
  EXPECT_EQ(config["quant_method"], "sdnq");
  EXPECT_EQ(config["modules_to_not_convert"], Json(plain));
  const auto layer = sdnq_layer_config(config, "a.to_q.weight", "x");
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->weights, std::get<codec::SdnqForm>(form).type);
  expect_same_numbers(form, written_and_read(form, config, {{"format", "pt"}}));
}

INSTANTIATE_TEST_SUITE_P(Forms, SdnqFiles,
                         testing::Values("sdnq_int8", "sdnq_uint8", "sdnq_int4", "sdnq_uint4", "sdnq_int8_svd",
                                         "sdnq_uint4_svd"),
                         [](const auto& form) { return std::string(form.param); });

TEST(SdnqConfig, TellsTheLowRankPart) {
  const auto form = std::get<codec::SdnqForm>(*codec::find_form("sdnq_uint4_svd"));
  EXPECT_EQ(sdnq_config(form, {})["use_svd"], true);
  EXPECT_EQ(sdnq_config(form, {})["svd_rank"], 32);
  EXPECT_EQ(sdnq_config(form, {})["is_unsigned"], true);
  const auto without = std::get<codec::SdnqForm>(*codec::find_form("sdnq_int8"));
  EXPECT_EQ(sdnq_config(without, {})["use_svd"], false);
  EXPECT_EQ(sdnq_config(without, {})["is_unsigned"], false);
}

// With records and without them: names alone tell scaled F8.
TEST(ScaledFiles, ReadBackAsTheyWereEncoded) {
  std::vector<std::string> names;
  for (const Layer& layer : kLayers) names.push_back(layer.name);
  for (const char* name : {"f8_e4m3_scaled", "f8_e4m3_scaled_rows", "f8_e5m2_scaled", "f8_e5m2_scaled_rows"}) {
    const codec::Form form = *codec::find_form(name);
    const std::string records = scaled_records(std::get<codec::ScaledForm>(form), names);
    expect_same_numbers(form, written_and_read(form, {}, {{kQuantizationMetadata, records}}));
    expect_same_numbers(form, written_and_read(form, {}, {}));
  }
}

}  // namespace
}  // namespace veneer::io
