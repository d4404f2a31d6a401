// Whole UNets in GGUF, in both namings and with mixed types, against the same network run by diffusers on weights that
// the format's owner decoded. Tolerance 1e-4 of the largest value: decoding is exact, so the rest is float32.
#include "tiny_unet.h"

namespace veneer::test {
namespace {

// A GGUF file does not tell heads and groups.
constexpr const char* kConfig = R"({"attention_head_dim": 8, "norm_num_groups": 8})";

class GgufUnet : public testing::TestWithParam<const char*> {};

TEST_P(GgufUnet, GivesWhatTheReferenceGives) {
  io::ModelPaths paths;
  paths.model = data_path(concat("quant/gguf/unet_", GetParam(), ".gguf"));
  auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  io::ModelPart& part = files->parts.at(io::Part::kDenoiser);
  part.config = Json::parse(kConfig);
  expect_tiny_unet_gives(part, Golden("quant/gguf/io.safetensors"), concat(GetParam(), ".out"), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Namings, GgufUnet, testing::Values("comfy", "sdcpp"),
                         [](const auto& naming) { return std::string(naming.param); });

}  // namespace
}  // namespace veneer::test
