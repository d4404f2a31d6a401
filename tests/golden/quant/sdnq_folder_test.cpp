// Whole SDNQ folders of a small UNet: decoded weights and what the network gives. Tolerances, in parts of the largest
// value: 2e-6 for weights; 1e-4 for a network call, 2e-2 where the reference multiplied INT8 inputs.
#include <cstring>

#include "side_cases.h"
#include "tiny_unet.h"

namespace veneer::test {
namespace {

class SdnqFolder : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    id_ = GetParam().substr(std::strlen("sdnq_model."));
    io::ModelPaths paths;
    paths.model = data_path("quant/sdnq/" + id_);
    auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    files_ = *std::move(files);
    ASSERT_NE(files_.find(io::Part::kDenoiser), nullptr);
  }
  const io::ModelPart& part() const { return *files_.find(io::Part::kDenoiser); }

  std::string id_;
  io::ModelFiles files_;
  Golden golden_{"quant/sdnq/io.safetensors"};
};

TEST_P(SdnqFolder, JoinsExactlyTheQuantizedLayers) {
  std::vector<std::string> joined;
  for (const auto& [name, entry] : part().weights.entries())
    if (entry.weight.side) joined.push_back(name.substr(0, name.size() - std::strlen(".weight")));
  EXPECT_EQ(joined, side_case(GetParam())["quantized_modules"].get<std::vector<std::string>>());
}

TEST_P(SdnqFolder, DecodesAsTheReference) {
  const Json entry = side_case(GetParam());
  for (const Json& golden : entry["golden_weights"]) {
    const std::string name = golden.get<std::string>();
    const auto weight = part().weights.weight(name.substr(id_.size() + 1));
    ASSERT_TRUE(weight) << weight.error().message;
    const Tensor expected = golden_.tensor(name);
    ASSERT_EQ(weight->shape, expected.shape) << name;
    EXPECT_TRUE(close_to(Tensor::from(weight->decode_all(), weight->shape), expected, 2e-6)) << name;
  }
}

TEST_P(SdnqFolder, NetworkGivesWhatTheReferenceGives) {
  expect_tiny_unet_gives(part(), golden_, id_ + ".out", id_ == "unet_int8_mm_mixed" ? 2e-2 : 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqFolder, testing::ValuesIn(side_cases("sdnq_diffusers_folder")), case_name);

}  // namespace
}  // namespace veneer::test
