// Scaled FP8, layers with a record of their format, both layouts of NVFP4, and 4-bit weights of bitsandbytes. Tolerance
// 2e-6 of the largest value: the references multiply in another order.
#include "side_cases.h"
#include "tests/support/golden.h"

namespace veneer::test {
namespace {

constexpr double kTolerance = 2e-6;

struct Decoded {
  Tensor weight, expected;
};

// A file of its own with one quantized layer, or tensors "<id>.weight" among others.
Decoded decode_case(const Json& entry) {
  const std::string id = entry["id"].get<std::string>();
  const io::WeightStore file = quant_store(entry["file"].get<std::string>());
  const bool own_file = entry.contains("expect_file");
  const io::WeightStore store = own_file ? file : file.under(id + ".").renamed([](std::string_view name) {
    return name == "dequant" ? std::string() : "layer." + std::string(name);
  });
  const std::string layer = !own_file ? "layer" : entry.contains("layer") ? entry["layer"].get<std::string>() : "x";
  const Golden golden(concat("quant/", own_file ? entry["expect_file"].get<std::string>() : "others.safetensors"));
  const Tensor expected = golden.tensor(own_file ? entry["expect"].get<std::string>() : id + ".dequant");
  return {decode_joined(store, Json(), layer + ".weight", expected.shape), expected};
}

class SideTensors : public testing::TestWithParam<std::string> {};

TEST_P(SideTensors, DecodeAsTheReference) {
  const Decoded decoded = decode_case(side_case(GetParam()));
  EXPECT_TRUE(close_to(decoded.weight, decoded.expected, kTolerance));
}

INSTANTIATE_TEST_SUITE_P(ScaledFp8, SideTensors, testing::ValuesIn(side_cases("fp8_scaled")), case_name);
INSTANTIATE_TEST_SUITE_P(Records, SideTensors, testing::ValuesIn(side_cases("comfy_quant")), case_name);
INSTANTIATE_TEST_SUITE_P(Nvfp4, SideTensors, testing::ValuesIn(side_cases("nvfp4")), case_name);
INSTANTIATE_TEST_SUITE_P(Bitsandbytes, SideTensors, testing::ValuesIn(side_cases("bnb_4bit")), case_name);

}  // namespace
}  // namespace veneer::test
