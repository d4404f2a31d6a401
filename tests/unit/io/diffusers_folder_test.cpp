// Models as folders: which components and which of several weight files are read; tiny autoencoders in all their forms.
#include "io/diffusers_folder.h"

#include "byte_builders.h"
#include "test_models.h"

namespace veneer::io {
namespace {

TEST(TinyModel, FolderBringsConfigurationsAndTokenizer) {
  const ModelFiles folder = open({.model = kTiny / ""});
  EXPECT_EQ(folder.name, "tiny-sd1");
  EXPECT_EQ(folder.scheduler_config["prediction_type"], "epsilon");
  EXPECT_EQ(folder.tokenizer, kTiny / "tokenizer");
  EXPECT_TRUE(folder.t5_tokenizer.empty());
  EXPECT_EQ(folder.find(Part::kTextEncoder)->config["hidden_size"], 32);
  EXPECT_EQ(folder.find(Part::kVae)->source, (kTiny / "vae").string());
  EXPECT_EQ(folder.find(Part::kTinyVae), nullptr) << "taesd/ is read only when it is asked for";
  EXPECT_EQ(open({.model = kTiny / "tiny-sd1-ldm.safetensors"}).name, "tiny-sd1-ldm.safetensors");
}

class Folders : public Models {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(scratch_ / "unet");
    scratch_.write("unet/config.json", "{}");
  }
  void put(std::string_view name, float value) { write_f32(scratch_ / "unet" / name, {{"conv_in.weight", {value}}}); }
  float chosen() { return value_of(open({.model = scratch_.path()}), Part::kDenoiser, "conv_in.weight"); }
};

TEST_F(Folders, ThePlainFileIsPreferredAndALoneVariantTaken) {
  put("diffusion_pytorch_model.fp16.safetensors", 16);
  EXPECT_EQ(chosen(), 16.0f);
  put("diffusion_pytorch_model.bf16.safetensors", 17);
  const Error several = error_of({.model = scratch_.path()});
  EXPECT_EQ(several.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(several.message,
                       "several variants of its weights (diffusion_pytorch_model.bf16.safetensors, "
                       "diffusion_pytorch_model.fp16.safetensors)"))
      << several.message;
  put("diffusion_pytorch_model-00001-of-00001.safetensors", 3);
  scratch_.write("unet/diffusion_pytorch_model.safetensors.index.json",
                 R"({"weight_map":{"conv_in.weight":"diffusion_pytorch_model-00001-of-00001.safetensors"}})");
  EXPECT_EQ(chosen(), 3.0f);
  put("diffusion_pytorch_model.safetensors", 1);
  EXPECT_EQ(chosen(), 1.0f);
}

TEST_F(Folders, AShardedVariantIsOneVariant) {
  put("model.fp16-00001-of-00001.safetensors", 5);
  scratch_.write("unet/model.safetensors.index.fp16.json",
                 R"({"weight_map":{"conv_in.weight":"model.fp16-00001-of-00001.safetensors"}})");
  EXPECT_EQ(chosen(), 5.0f);
}

TEST_F(Folders, PicklesServeWhereThereIsNothingElse) {
  scratch_.write("unet/other.ckpt", "x");
  const Error error = error_of({.model = scratch_.path()});
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(
      contains(error.message, "unet: holds its weights as other.ckpt only, expected diffusion_pytorch_model.bin"))
      << error.message;
  const std::string object =
      p_dict({{"conv_in.weight", p_tensor({.sizes = {1}, .strides = {1}, .storage_values = 1})}});
  scratch_.write("unet/shard.bin", torch_zip(object, {{"0", floats({3})}}));
  scratch_.write("unet/pytorch_model.bin.index.json", R"({"weight_map":{"conv_in.weight":"shard.bin"}})");
  EXPECT_EQ(chosen(), 3.0f);
  scratch_.write("unet/diffusion_pytorch_model.bin", torch_zip(object, {{"0", floats({2})}}));
  EXPECT_EQ(chosen(), 2.0f);
  put("diffusion_pytorch_model.safetensors", 1);
  EXPECT_EQ(chosen(), 1.0f);
}

TEST_F(Folders, AConfigurationWithoutWeightsServesThoseOfAnOption) {
  scratch_.write("unet/config.json", R"({"attention_head_dim":4})");
  const ModelFiles alone = open({.model = scratch_.path()});
  EXPECT_TRUE(alone.parts.empty());
  ASSERT_EQ(alone.warnings.size(), 1u);
  EXPECT_TRUE(contains(alone.warnings[0], "unet: holds a configuration but no weights"));
  const ModelFiles both = open({.model = scratch_.path(), .denoiser = kTiny / "tiny-sd1-ldm.safetensors"});
  ASSERT_NE(both.find(Part::kDenoiser), nullptr);
  EXPECT_EQ(both.find(Part::kDenoiser)->config["attention_head_dim"], 4);
}

TEST_F(Folders, ComponentsAreFoundByFolderAndT5ByNames) {
  put("diffusion_pytorch_model.safetensors", 1);
  write_names(scratch_ / "text_encoder/model.safetensors",
              {"text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_ids"});
  write_names(scratch_ / "text_encoder_2/model.safetensors", {"shared.weight", "encoder.embed_tokens.weight"});
  scratch_.write("tokenizer/merges.txt", "#version: 0.2\n");
  scratch_.write("tokenizer_2/spiece.model", "");
  scratch_.write("text_encoder_2/config.json", R"({"d_model":64})");
  const ModelFiles files = open({.model = scratch_.path()});
  EXPECT_EQ(parts_of(files), (std::vector<Part>{Part::kDenoiser, Part::kTextEncoder, Part::kTextEncoder3}));
  EXPECT_EQ(files.find(Part::kTextEncoder3)->config["d_model"], 64);
  EXPECT_EQ(files.ignored_tensors, 2);
  EXPECT_EQ(files.tokenizer, scratch_ / "tokenizer");
  EXPECT_EQ(files.t5_tokenizer, scratch_ / "tokenizer_2");
  scratch_.write("other/merges.txt", "#version: 0.2\n");
  const ModelFiles other = open({.model = scratch_.path(), .tokenizer = scratch_ / "other"});
  EXPECT_EQ(other.tokenizer, scratch_ / "other");
  EXPECT_EQ(other.t5_tokenizer, scratch_ / "tokenizer_2");
}

TEST_F(Folders, TheModelIndexMayLeaveAComponentOut) {
  put("diffusion_pytorch_model.safetensors", 1);
  write_names(scratch_ / "vae/diffusion_pytorch_model.safetensors", {"decoder.conv_in.weight"});
  scratch_.write("model_index.json", R"({"unet":["diffusers","UNet2DConditionModel"],"vae":[null,null]})");
  EXPECT_EQ(parts_of(open({.model = scratch_.path()})), std::vector<Part>{Part::kDenoiser});
  scratch_.write("model_index.json", "{");
  const Error broken = error_of({.model = scratch_.path()});
  EXPECT_EQ(broken.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(broken.message, "model_index.json: is not valid JSON")) << broken.message;
}

TEST_F(Folders, TwoDenoisersAreNotMixed) {
  put("diffusion_pytorch_model.safetensors", 1);
  write_names(scratch_ / "transformer/diffusion_pytorch_model.safetensors", {"pos_embed.proj.weight"});
  const ModelFiles files = open({.model = scratch_.path()});
  EXPECT_EQ(files.find(Part::kDenoiser)->weights.entries().size(), 1u);
  EXPECT_TRUE(files.find(Part::kDenoiser)->weights.contains("conv_in.weight"));
  ASSERT_EQ(files.warnings.size(), 1u);
  EXPECT_TRUE(contains(files.warnings[0], "transformer: is not used, another folder holds the denoiser"));
}

TEST_F(Models, AFolderWithoutAModelSaysWhatWasExpected) {
  const Error error = error_of({.model = scratch_.path()});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_TRUE(contains(error.message, "holds neither weights")) << error.message;
}

TEST(TinyModel, TinyAutoencoderFromFolderFileOrPair) {
  const ModelFiles folder = open({.tiny_vae = kTiny / "taesd"});
  ASSERT_NE(folder.find(Part::kTinyVae), nullptr);
  EXPECT_EQ(folder.find(Part::kTinyVae)->weights.entries().size(), 34u);
  EXPECT_TRUE(folder.find(Part::kTinyVae)->weights.contains("decoder.layers.0.weight"));
  EXPECT_EQ(folder.find(Part::kTinyVae)->config["_class_name"], "AutoencoderTiny");

  const ModelFiles file = open({.tiny_vae = kTiny / "taesd/diffusion_pytorch_model.safetensors"});
  EXPECT_EQ(file.find(Part::kTinyVae)->weights.content_hash(), folder.find(Part::kTinyVae)->weights.content_hash());

  for (const char* half : {"taesd/taesd_encoder.safetensors", "taesd/taesd_decoder.safetensors"}) {
    const ModelFiles pair = open({.tiny_vae = kTiny / half});
    ASSERT_NE(pair.find(Part::kTinyVae), nullptr) << half;
    const WeightStore& weights = pair.find(Part::kTinyVae)->weights;
    EXPECT_EQ(weights.entries().size(), 34u) << half;
    EXPECT_EQ(weights.find("encoder.0.weight")->weight.shape[1], 3) << half;
    EXPECT_EQ(weights.find("decoder.1.weight")->weight.shape[1], 4) << half;
  }
}

TEST_F(Models, HalvesAreToldByTheirTensorsNotTheirNames) {
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(kTiny / "taesd" / from, scratch_ / to);
  };
  copy("taesd_decoder.safetensors", "x_encoder.safetensors");
  EXPECT_TRUE(open({.tiny_vae = scratch_.path()}).find(Part::kTinyVae)->weights.contains("decoder.1.weight"));
  copy("taesd_decoder.safetensors", "x_decoder.safetensors");
  const Error twice = error_of({.tiny_vae = scratch_ / "x_encoder.safetensors"});
  EXPECT_EQ(twice.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(twice.message,
                       "x_decoder.safetensors: expected the encoder beside x_encoder.safetensors, found a second"))
      << twice.message;
}

}  // namespace
}  // namespace veneer::io
