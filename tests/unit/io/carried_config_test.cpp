// Configurations in a single file's metadata: used where nothing else says it, and judged as any file is.
#include "io/carried_config.h"

#include "test_models.h"

namespace veneer::io {
namespace {

class CarriedConfig : public Models {
 protected:
  std::filesystem::path file(const std::string& text) {
    return write_f32(
        scratch_ / "m.safetensors",
        {{"model.diffusion_model.input_blocks.0.0.weight", {1}}, {"first_stage_model.decoder.conv_in.weight", {1}}},
        {{kCarriedConfig, text}});
  }
};

TEST_F(CarriedConfig, GoesToItsParts) {
  const ModelFiles files =
      open({.model = file(R"({"denoiser":{"heads":5},"vae":{"norm_num_groups":8},"scheduler":{"beta_start":0.1}})")});
  EXPECT_EQ(files.find(Part::kDenoiser)->config, Json({{"heads", 5}}));
  EXPECT_EQ(files.find(Part::kVae)->config, Json({{"norm_num_groups", 8}}));
  EXPECT_EQ(files.scheduler_config, Json({{"beta_start", 0.1}}));
}

TEST_F(CarriedConfig, PartsAndKeysThatAreNotThereAreNoError) {
  const ModelFiles files = open({.model = file(R"({"text_encoder":{"a":1},"new":{}})")});
  EXPECT_TRUE(files.find(Part::kDenoiser)->config.is_null());
  EXPECT_TRUE(files.scheduler_config.is_null());
}

TEST_F(CarriedConfig, OtherTextsAreRefused) {
  for (const char* text : {"", "{", "[]", "1", R"({"denoiser":1})", R"({"denoiser":{},"denoiser":{}})"}) {
    const Error error = error_of({.model = file(text)});
    EXPECT_EQ(error.code, ErrorCode::kBadFile) << text;
    EXPECT_NE(error.message.find("veneer.config"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace veneer::io
