// Joining of weights with their side tensors: what comes out, what is refused and how, and what is left alone.
#include "io/assemble.h"

#include "byte_builders.h"
#include "io/container.h"
#include "io/safetensors_header.h"
#include "io/sdnq_config.h"
#include "test_models.h"

namespace veneer::io {
namespace {

struct Stored {
  std::string name, type;
  Shape shape;
  std::string bytes;
};

Stored f32(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  return {name, "F32", shape, floats(values)};
}
Stored text(const std::string& name, const std::string& json) {
  return {name, "U8", {static_cast<int64_t>(json.size())}, json};
}

WeightStore store_of(const std::vector<Stored>& tensors, const WeightStore::Metadata& metadata = {}) {
  WeightStore::Entries entries;
  for (const Stored& tensor : tensors) {
    const auto memory = std::make_shared<std::string>(tensor.bytes);
    const SafetensorsType* type = find_safetensors_type(tensor.type);
    entries.emplace(tensor.name,
                    entry_of(tensor.name, {tensor.type, type->codec}, tensor.shape, bytes_of(*memory), memory));
  }
  return {std::move(entries), metadata, {}};
}

Assembled assembled(const WeightStore& store, const char* config = "null") {
  auto result = assemble_quantized(store, *parse_json(config, "config"), "m.safetensors");
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : Assembled{};
}

Error refusal(const WeightStore& store, const char* config = "null") {
  const auto result = assemble_quantized(store, *parse_json(config, "config"), "m.safetensors");
  EXPECT_FALSE(result);
  return result ? Error{ErrorCode::kBug, "accepted", ""} : result.error();
}

std::vector<float> values_of(const WeightStore& store, std::string_view name) {
  const auto weight = store.weight(name);
  EXPECT_TRUE(weight) << weight.error().message;
  return weight ? weight->decode_all() : std::vector<float>();
}

// 448, -448, 224, 0
Stored e4m3(const std::string& name) { return {name, "F8_E4M3", {2, 2}, std::string("\x7E\xFE\x76\0", 4)}; }

void expect_near(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
}

// One weight in three spellings (a scale that is lost would make pictures of noise).
TEST(AssembleFp8, ThreeSpellingsOfTheScale) {
  const float scale = 1.0f / 448;
  const std::vector<float> expected = {1, -1, 0.5f, 0};
  expect_near(
      values_of(assembled(store_of({e4m3("X.weight"), f32("X.scale_weight", {1}, {scale})})).weights, "X.weight"),
      expected);
  expect_near(
      values_of(assembled(store_of({e4m3("X.weight"), f32("X.weight_scale", {}, {scale})})).weights, "X.weight"),
      expected);
  const auto rows = store_of({e4m3("X.weight"), f32("X.weight_scale", {2}, {scale, 1.0f / 224})});
  expect_near(values_of(assembled(rows).weights, "X.weight"), {1, -1, 1, 0});
}

TEST(AssembleFp8, SideTensorsLeaveTheStore) {
  const auto store = store_of({e4m3("X.weight"),
                               f32("X.scale_weight", {1}, {1}),
                               f32("X.scale_input", {1}, {3}),
                               f32("X.bias", {2}, {1, 2}),
                               f32("Y.weight", {2, 2}, {1, 2, 3, 4}),
                               {"scaled_fp8", "F8_E4M3", {2}, "\1\1"}});
  const Assembled result = assembled(store);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_TRUE(contains(result.warnings[0], "m.safetensors: 1 input scale is not used"));
  std::vector<std::string> names;
  for (const auto& [name, entry] : result.weights.entries()) names.push_back(name);
  EXPECT_EQ(names, std::vector<std::string>({"X.bias", "X.weight", "Y.weight"}));
  EXPECT_EQ(values_of(result.weights, "X.weight"), std::vector<float>({448, -448, 224, 0}));
  EXPECT_EQ(values_of(result.weights, "Y.weight"), std::vector<float>({1, 2, 3, 4}));
}

TEST(AssembleFp8, SizeAndHashKnowTheScale) {
  const auto of = [](float scale) {
    return assembled(store_of({e4m3("X.weight"), f32("X.weight_scale", {}, {scale})})).weights;
  };
  EXPECT_EQ(of(1).bytes(), 8u);
  EXPECT_EQ(of(1).parameters(), 4);
  EXPECT_EQ(of(1).content_hash(), of(1).content_hash());
  EXPECT_NE(of(1).content_hash(), of(2).content_hash());
}

TEST(AssembleFp8, RefusesByName) {
  const auto sentence = [](const std::vector<Stored>& tensors, ErrorCode code) {
    const Error error = refusal(store_of(tensors));
    EXPECT_EQ(error.code, code) << error.message;
    return error.message;
  };
  const auto bad = [&](const std::vector<Stored>& tensors) { return sentence(tensors, ErrorCode::kBadFile); };
  const auto unsupported = [&](const std::vector<Stored>& tensors) {
    return sentence(tensors, ErrorCode::kUnsupported);
  };
  EXPECT_TRUE(contains(bad({e4m3("X.weight"), f32("Z.weight_scale", {}, {1})}),
                       "m.safetensors: tensor Z.weight_scale: belongs to no weight"));
  EXPECT_TRUE(contains(bad({e4m3("X.weight"), f32("Z.input_scale", {}, {1})}), "Z.input_scale: belongs to no weight"));
  EXPECT_TRUE(contains(bad({e4m3("X.weight"), f32("X.weight_scale", {}, {1}), f32("X.scale_weight", {1}, {1})}),
                       "belongs to no weight"));
  EXPECT_TRUE(contains(bad({e4m3("X.weight"), f32("X.weight_scale", {3}, {1, 2, 3})}),
                       "m.safetensors: tensor X.weight: f8_e4m3_scaled weight [2, 2]: expected a scale of one or 2"));
  EXPECT_TRUE(contains(bad({f32("X.weight", {1}, {1}), f32("X.weight_scale", {}, {1})}),
                       "X.weight: has a scale, expected F8_E4M3, F8_E5M2 or I8, found F32"));
  EXPECT_TRUE(contains(bad({e4m3("X.weight"), {"X.weight_scale", "I32", {}, std::string(4, '\0')}}),
                       "X.weight_scale: expected F32, F16 or BF16, found I32"));
  EXPECT_TRUE(contains(unsupported({e4m3("X.weight"), f32("X.pre_quant_scale", {2}, {1, 1})}),
                       "X.pre_quant_scale: smoothing of a layer's inputs is not supported"));
  EXPECT_TRUE(contains(unsupported({{"X.weight", "I8", {1, 1}, "\1"}, f32("X.SCB", {1}, {1})}), "bitsandbytes INT8"));
  EXPECT_TRUE(contains(unsupported({{"X.weight", "I8", {1, 1}, "\1"}, f32("X.weight_scale", {}, {1})}),
                       "X.weight: INT8 with a scale but without a record"));
}

TEST(AssembleRecords, MetadataNamesMayLackTheModelsPrefix) {
  const std::string name = "model.diffusion_model.X";
  const std::vector<Stored> tensors = {{name + ".weight", "I8", {1, 2}, "\2\4"},
                                       f32(name + ".weight_scale", {}, {0.5f})};
  const char* record = R"({"layers": {"X": {"format": "int8_tensorwise"}, "Y": {"format": "nvfp4"}}})";
  const Assembled result = assembled(store_of(tensors, {{"_quantization_metadata", record}}));
  EXPECT_EQ(values_of(result.weights, name + ".weight"), std::vector<float>({1, 2}));
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_TRUE(contains(result.warnings[0], "names a layer that is not there, Y"));
}

TEST(AssembleRecords, FieldsMayStandUnderParams) {
  const auto values = [](const std::string& record) {
    return values_of(assembled(store_of({{"X.weight", "I8", {1, 4}, std::string("\1\0\0\0", 4)},
                                         f32("X.weight_scale", {1, 1}, {2}),
                                         text("X.comfy_quant", record)}))
                         .weights,
                     "X.weight");
  };
  EXPECT_EQ(values(R"({"format": "int8_tensorwise"})"), std::vector<float>({2, 0, 0, 0}));
  EXPECT_EQ(values(R"({"format": "int8_tensorwise", "params": {"convrot": true, "convrot_groupsize": 4}})"),
            std::vector<float>({1, 1, 1, -1}));
}

TEST(AssembleRecords, RefusesByName) {
  const auto message = [](const std::string& record) {
    return refusal(store_of({{"X.weight", "I8", {1, 4}, "\1\1\1\1"},
                             f32("X.weight_scale", {}, {1}),
                             text("X.comfy_quant", record)}))
        .message;
  };
  for (const std::string format : {"convrot_w4a4", "asym_w4a8_int8", "svdquant_w4a4", "awq_w4a16", "later"})
    EXPECT_TRUE(contains(message(R"({"format": ")" + format + "\"}"),
                         "X.weight: the quantization format \"" + format + "\" is not supported"))
        << message(R"({"format": ")" + format + "\"}");
  EXPECT_TRUE(
      contains(message(R"({"format": "float8_e4m3fn"})"), "its record says float8_e4m3fn, expected F8_E4M3, found I8"));
  EXPECT_TRUE(contains(message(R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 8})"),
                       "a rotation in groups of 8 is not supported"));
  EXPECT_TRUE(contains(message(R"({"format": "int8_tensorwise", "convrot": true})"), "in groups of 256"));
  EXPECT_TRUE(contains(message("[1]"), "its quantization record is no object"));
  EXPECT_TRUE(contains(message("{"), "tensor X.comfy_quant"));
  EXPECT_TRUE(contains(message(R"({"format": 3})"), "record of X"));
  const Error lost = refusal(
      store_of({{"X.weight", "I8", {1, 4}, "\1\1\1\1"}, text("X.comfy_quant", R"({"format": "int8_tensorwise"})")}));
  EXPECT_TRUE(contains(lost.message, "X.weight_scale: is missing beside its layer's other tensors"));
}

const char* const kInt8Config = R"({"quant_method": "sdnq", "weights_dtype": "int8"})";

TEST(AssembleSdnq, OnlyLayersWithAScale) {
  const auto store = store_of({{"X.weight", "I8", {2, 2}, "\1\2\3\4"},
                               f32("X.scale", {2, 1}, {1, 10}),
                               f32("Y.weight", {1}, {5}),
                               f32("norm.scale", {1}, {7})});
  const WeightStore weights = assembled(store, kInt8Config).weights;
  EXPECT_EQ(values_of(weights, "X.weight"), std::vector<float>({1, 2, 30, 40}));
  EXPECT_EQ(values_of(weights, "Y.weight"), std::vector<float>({5}));
  EXPECT_EQ(values_of(weights, "norm.scale"), std::vector<float>({7}));
  EXPECT_FALSE(weights.contains("X.scale"));
}

TEST(AssembleSdnq, ShapeFollowsFromTheScale) {
  const auto shape = [](const Shape& scale, size_t bytes) {
    const std::vector<float> ones(static_cast<size_t>(scale.elements()), 1);
    const auto size = static_cast<int64_t>(bytes);
    const auto store = store_of({{"X.weight", "U8", {size}, std::string(bytes, '\0')},
                                 f32("X.scale", scale, ones),
                                 f32("X.zero_point", scale, ones)});
    const Assembled result = assembled(store, R"({"quant_method": "sdnq", "weights_dtype": "uint4"})");
    const codec::Weight& weight = result.weights.find("X.weight")->weight;
    return weight.side->setting("open_shape", 0) != 0 ? "open" : weight.shape.to_string();
  };
  EXPECT_EQ(shape({4, 1}, 16), "[4, 8]");
  EXPECT_EQ(shape({4, 2, 1}, 16), "[4, 8]");
  EXPECT_EQ(shape({4, 1, 3}, 48), "[4, 8, 3]");
  EXPECT_EQ(shape({4, 1, 3, 3}, 144), "[4, 8, 3, 3]");
  EXPECT_EQ(shape({4, 2, 1, 3, 3}, 144), "[4, 8, 3, 3]");
  EXPECT_EQ(shape({4, 1, 1, 1}, 16), "[4, 8, 1, 1]");
  EXPECT_EQ(shape({1, 1}, 16), "open");
}

// One scale for all tells nothing: the low-rank factors do, in either storage, square or not.
TEST(AssembleSdnq, ShapeFollowsFromTheFactors) {
  const auto shape = [](const Shape& up, const Shape& down) {
    const auto zeros = [](const Shape& sizes) { return std::vector<float>(static_cast<size_t>(sizes.elements())); };
    const auto store = store_of({{"X.weight", "U8", {32}, std::string(32, '\0')},
                                 f32("X.scale", {1, 1}, {1}),
                                 f32("X.zero_point", {1, 1}, {0}),
                                 f32("X.svd_up", up, zeros(up)),
                                 f32("X.svd_down", down, zeros(down))});
    const WeightStore weights = assembled(store, R"({"quant_method": "sdnq", "weights_dtype": "uint4"})").weights;
    EXPECT_TRUE(weights.weight("X.weight"));  // checked
    return weights.find("X.weight")->weight.shape;
  };
  EXPECT_EQ(shape({8, 2}, {2, 8}), Shape({8, 8}));
  EXPECT_EQ(shape({2, 8}, {8, 2}), Shape({8, 8}));
  EXPECT_EQ(shape({4, 2}, {2, 16}), Shape({4, 16}));
  EXPECT_EQ(shape({2, 4}, {16, 2}), Shape({4, 16}));
}

TEST(AssembleSdnq, RefusesByName) {
  const auto message = [](const std::vector<Stored>& tensors, const char* config) {
    return refusal(store_of(tensors), config).message;
  };
  const Stored weight{"X.weight", "I8", {2, 2}, "\1\2\3\4"}, scale = f32("X.scale", {2, 1}, {1, 1});
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq", "weights_dtype": "int99"})"),
                       "m.safetensors: quantization_config: the number type \"int99\" is unknown"));
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq", "weights_dtype": "uint4"})"),
                       "X.weight: its configuration says codes of 4 bits, expected U8, found I8"));
  EXPECT_TRUE(contains(
      message({{"X.weight", "U8", {4}, "abcd"}, scale}, R"({"quant_method": "sdnq", "weights_dtype": "uint4"})"),
      "has codes without a sign but no zero_point"));
  EXPECT_TRUE(
      contains(message({weight, f32("X.svd_up", {2, 1}, {1, 1})}, kInt8Config), "X.svd_up: belongs to no weight"));
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq_training"})"),
                       "the quantization method sdnq_training is not supported"));
  EXPECT_TRUE(contains(message({weight}, R"({"quant_method": "quanto"})"), "method quanto is not supported"));
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq", "modules_dtype_dict": 3})"),
                       "modules_dtype_dict: expected an object"));
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq", "modules_to_not_use_matmul": [3]})"),
                       "modules_to_not_use_matmul: expected a list of patterns"));
  EXPECT_TRUE(contains(message({weight, scale}, R"({"quant_method": "sdnq", "use_hadamard": true,
                                                    "hadamard_group_size": 0})"),
                       "hadamard_group_size: expected a number from 1"));
}

TEST(AssembleSdnq, WarnsOfWhatItsEncoderDamaged) {
  const auto store = store_of({{"X.weight", "I16", {1, 9}, std::string(18, '\0')},
                               f32("X.scale", {2, 1}, {1, 1}),
                               f32("X.zero_point", {2, 1}, {1, 1})});
  const Assembled result = assembled(store, R"({"quant_method": "sdnq", "weights_dtype": "uint9"})");
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_TRUE(contains(result.warnings[0], "whose largest values SDNQ's encoder damages"));
}

TEST(SdnqConfig, PatternsMeanWholePartsOrBeginnings) {
  const std::string name = "down_blocks.0.attentions.0.proj_in.weight";
  EXPECT_TRUE(sdnq_matches(name, name));
  EXPECT_TRUE(sdnq_matches(name, "proj_in"));
  EXPECT_TRUE(sdnq_matches(name, "attentions"));
  EXPECT_FALSE(sdnq_matches(name, "attention"));
  EXPECT_FALSE(sdnq_matches(name, "attentions.0"));
  EXPECT_FALSE(sdnq_matches(name, ".proj_in"));  // a leading dot means the name's beginning
  EXPECT_TRUE(sdnq_matches("proj_in.weight", ".proj_in"));
  EXPECT_TRUE(sdnq_matches(name, "down_blocks.*.proj_in"));
  EXPECT_TRUE(sdnq_matches(name, "*proj*"));
  EXPECT_TRUE(sdnq_matches(name, "down*"));
  EXPECT_FALSE(sdnq_matches(name, "attentions.*"));  // from the start
  EXPECT_FALSE(sdnq_matches(name, "down_blocks.*.proj_out"));
  EXPECT_FALSE(sdnq_matches(name, "down_blocks.*.proj_in*conv*"));
}

SdnqLayerConfig layer_config(const char* json, const std::string& name) {
  const auto config = sdnq_layer_config(*parse_json(json, "config"), name, "config");
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : SdnqLayerConfig();
}

TEST(SdnqConfig, OverridesApplyToTheLayersTheyName) {
  const char* json = R"({"weights_dtype": "int6", "use_hadamard": true, "use_quantized_matmul": true,
      "modules_quant_config": {"attn1": {"weights_dtype": "uint4", "use_hadamard": false}, "to_q": {"scale_dtype": "int8"}},
      "modules_dtype_dict": {"int8": ["ff"], "minimum_8bit": ["conv1"], "4bit": ["conv2"], "uint7bits": ["conv3"],
                             "minimum_12bit": ["conv4"]},
      "modules_to_not_use_matmul": ["attn2"]})";
  const auto type = [&](const char* name) { return layer_config(json, name).weights; };
  const auto named = [](const char* name) { return *codec::parse_sdnq_type(name); };
  EXPECT_EQ(type("a.weight"), named("int6"));
  EXPECT_EQ(type("attn1.to_q.weight"), named("uint4"));
  EXPECT_FALSE(layer_config(json, "attn1.to_q.weight").scale);  // the first match only
  EXPECT_EQ(layer_config(json, "attn2.to_q.weight").scale, named("int8"));
  EXPECT_EQ(layer_config(json, "attn2.to_q.weight").zero_point, named("int8"));
  EXPECT_EQ(layer_config(json, "attn1.to_q.weight").rotation_cap, 0);
  EXPECT_EQ(layer_config(json, "a.weight").rotation_cap, 256);
  EXPECT_EQ(type("ff.weight"), named("int8"));
  EXPECT_EQ(type("conv1.weight"), named("int8"));   // fewer bits than the minimum
  EXPECT_EQ(type("conv2.weight"), named("int6"));   // not fewer
  EXPECT_EQ(type("conv3.weight"), named("uint7"));  // written with its sign
  EXPECT_EQ(type("conv4.weight"), named("int12"));
  EXPECT_TRUE(layer_config(json, "a.weight").product_linear);
  EXPECT_FALSE(layer_config(json, "attn2.a.weight").product_linear);
  EXPECT_FALSE(layer_config(json, "a.weight").product_conv);
}

TEST(AssembleBitsandbytes, RefusesDamagedStates) {
  const std::vector<float> table(16, 1);
  const auto message = [&](const std::string& state) {
    return refusal(store_of({{"X.weight", "U8", {2, 1}, "\1\2"},
                             f32("X.weight.absmax", {1}, {1}),
                             f32("X.weight.quant_map", {16}, table),
                             text("X.weight.quant_state.bitsandbytes__nf4", state)}))
        .message;
  };
  EXPECT_TRUE(contains(message(R"({"blocksize": 64})"), "expected a shape of one to four sizes"));
  EXPECT_TRUE(contains(message(R"({"blocksize": 64, "shape": [2, 0]})"), "its shape is impossible"));
  EXPECT_TRUE(contains(message(R"({"shape": [4294967296, 4294967296]})"), "its shape is impossible"));
  EXPECT_TRUE(contains(message(R"({"blocksize": 64, "shape": [2, 4]})"), "takes 4 bytes, found 2"));
  EXPECT_TRUE(contains(message(R"({"blocksize": -1, "shape": [2, 2]})"), "blocks of -1 values"));
  EXPECT_TRUE(contains(message(R"({"quant_type": "fp4", "shape": [2, 2]})"), "expected quant_type nf4, found fp4"));
  EXPECT_TRUE(contains(message("3"), "expected a JSON object"));
}

// A folder's configuration, or the file beside it, is what the weights are joined by.
TEST_F(Models, FolderWithQuantizationConfig) {
  std::filesystem::create_directories(scratch_ / "m/unet");
  const std::string header = R"({"conv_in.weight":{"dtype":"I8","shape":[2,2],"data_offsets":[8,12]},)"
                             R"("conv_in.scale":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  scratch_.write("m/unet/diffusion_pytorch_model.safetensors",
                 raw_safetensors(header, floats({1, 10}) + std::string("\1\2\3\4")));
  scratch_.write("m/unet/quantization_config.json", kInt8Config);
  const std::vector<float> expected = {1, 2, 30, 40};
  for (const std::string& config :
       {std::string("{}"), R"({"quantization_config": )" + std::string(kInt8Config) + "}"}) {
    scratch_.write("m/unet/config.json", config);
    const ModelFiles files = open({.model = scratch_ / "m"});
    ASSERT_NE(files.find(Part::kDenoiser), nullptr);
    EXPECT_EQ(values_of(files.find(Part::kDenoiser)->weights, "conv_in.weight"), expected);
    std::filesystem::remove(scratch_ / "m/unet/quantization_config.json");
  }
}

// In a single file names carry the model's prefix; the warnings come through.
TEST_F(Models, SingleFileWithScales) {
  const std::string prefix = "model.diffusion_model.input_blocks.0.0.";
  const std::string header = "{\"" + prefix + R"(weight":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[8,12]},")" +
                             prefix + R"(weight_scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]},")" + prefix +
                             R"(input_scale":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})";
  const auto path =
      scratch_.write("m.safetensors", raw_safetensors(header, floats({0.5f, 1}) + std::string("\x7E\xFE\x76\0", 4)));
  const ModelFiles files = open({.model = path});
  ASSERT_NE(files.find(Part::kDenoiser), nullptr);
  EXPECT_EQ(values_of(files.find(Part::kDenoiser)->weights, "input_blocks.0.0.weight"),
            std::vector<float>({224, -224, 112, 0}));
  ASSERT_FALSE(files.warnings.empty());
  EXPECT_TRUE(contains(files.warnings[0], "1 input scale is not used")) << files.warnings[0];
}

}  // namespace
}  // namespace veneer::io
