// Models from files and folders: every layout gives the same parts, and options replace what they are for.
#include "io/model_files.h"

#include <cmath>

#include "io/container.h"
#include "test_models.h"

namespace veneer::io {
namespace {

TEST(TinyModel, FolderAndSingleFileGiveTheSameParts) {
  const ModelFiles file = open({.model = kTiny / "tiny-sd1-ldm.safetensors"});
  const ModelFiles folder = open({.model = kTiny});
  const std::vector<Part> expected = {Part::kDenoiser, Part::kTextEncoder, Part::kVae};
  EXPECT_EQ(parts_of(file), expected);
  EXPECT_EQ(parts_of(folder), expected);
  for (const Part part : expected) {
    EXPECT_EQ(file.find(part)->weights.entries().size(), folder.find(part)->weights.entries().size()) << name_of(part);
    EXPECT_EQ(file.find(part)->weights.parameters(), folder.find(part)->weights.parameters()) << name_of(part);
    EXPECT_TRUE(file.find(part)->config.is_null());
    EXPECT_TRUE(folder.find(part)->config.is_object());
  }
  // The text encoder has one spelling in both, so it is the same to the bit.
  EXPECT_EQ(file.find(Part::kTextEncoder)->weights.content_hash(),
            folder.find(Part::kTextEncoder)->weights.content_hash());
  EXPECT_TRUE(file.find(Part::kDenoiser)->weights.contains("input_blocks.0.0.weight"));
  EXPECT_TRUE(folder.find(Part::kDenoiser)->weights.contains("conv_in.weight"));
  EXPECT_TRUE(file.unused_tensors.empty() && folder.unused_tensors.empty());
  EXPECT_TRUE(file.warnings.empty() && folder.warnings.empty());
}

TEST_F(Models, PrefixesOfEveryFamily) {
  struct Row {
    std::string full;
    Part part;
    std::string bare;
  };
  const Row rows[] = {
      {"model.diffusion_model.joint_blocks.0.x", Part::kDenoiser, "joint_blocks.0.x"},
      {"first_stage_model.encoder.conv_in.weight", Part::kVae, "encoder.conv_in.weight"},
      {"vae.encoder.conv_in.weight", Part::kVae, "encoder.conv_in.weight"},
      {"cond_stage_model.transformer.text_model.final_layer_norm.bias", Part::kTextEncoder,
       "text_model.final_layer_norm.bias"},
      {"cond_stage_model.transformer.final_layer_norm.bias", Part::kTextEncoder, "final_layer_norm.bias"},
      {"cond_stage_model.model.ln_final.bias", Part::kTextEncoder, "ln_final.bias"},
      {"conditioner.embedders.0.transformer.text_model.x", Part::kTextEncoder, "text_model.x"},
      {"conditioner.embedders.1.model.text_projection", Part::kTextEncoder2, "text_projection"},
      {"conditioner.embedders.0.model.ln_final.bias", Part::kTextEncoder2, "ln_final.bias"},
      {"text_encoders.clip_l.transformer.text_projection.weight", Part::kTextEncoder, "text_projection.weight"},
      {"text_encoders.clip_g.transformer.text_model.x", Part::kTextEncoder2, "text_model.x"},
      {"text_encoders.t5xxl.transformer.shared.weight", Part::kTextEncoder3, "shared.weight"},
  };
  for (const Row& row : rows) {
    const ModelFiles files = open_names({row.full});
    ASSERT_EQ(parts_of(files), std::vector<Part>{row.part}) << row.full;
    EXPECT_TRUE(files.find(row.part)->weights.contains(row.bare)) << row.full;
    EXPECT_TRUE(files.unused_tensors.empty());
  }
}

TEST_F(Models, BareFilesAreKnownByTheirNames) {
  const std::pair<const char*, Part> rows[] = {
      {"input_blocks.0.0.weight", Part::kDenoiser},
      {"conv_in.weight", Part::kDenoiser},
      {"img_in.weight", Part::kDenoiser},
      {"x_embedder.proj.weight", Part::kDenoiser},
      {"pos_embed.proj.weight", Part::kDenoiser},
      {"x_embedder.weight", Part::kDenoiser},
      {"decoder.conv_in.weight", Part::kVae},
      {"encoder.conv_in.weight", Part::kVae},
      {"decoder.layers.0.weight", Part::kTinyVae},
      {"text_model.embeddings.token_embedding.weight", Part::kTextEncoder},
      {"token_embedding.weight", Part::kTextEncoder},
      {"shared.weight", Part::kTextEncoder3},
      {"encoder.block.0.layer.0.SelfAttention.q.weight", Part::kTextEncoder3},
      {"enc.blk.0.attn_q.weight", Part::kTextEncoder3},
  };
  for (const auto& [name, part] : rows) EXPECT_EQ(parts_of(open_names({name})), std::vector<Part>{part}) << name;
  const auto big_g = write_f32(scratch_ / "g.safetensors",
                               {{"text_model.embeddings.token_embedding.weight", std::vector<float>(2560), {2, 1280}}});
  EXPECT_EQ(parts_of(open({.model = big_g})), std::vector<Part>{Part::kTextEncoder2});
}

TEST_F(Models, UnknownTensorsAreListedAndNamedOnesIgnored) {
  const ModelFiles files = open_names(
      {"model.diffusion_model.out.2.weight", "model_ema.decay", "model_ema.diffusion_modelout2weight", "betas",
       "alphas_cumprod_prev", "sqrt_alphas_cumprod", "log_one_minus_alphas_cumprod", "posterior_variance",
       "denoiser.sigmas", "cond_stage_model.transformer.text_model.embeddings.position_ids",
       "conditioner.embedders.1.model.logit_scale", "first_stage_model.loss.logvar",
       "first_stage_model.decoder.conv_in.weight", "unheard.of"});
  EXPECT_EQ(parts_of(files), (std::vector<Part>{Part::kDenoiser, Part::kVae}));
  EXPECT_EQ(files.ignored_tensors, 11);
  EXPECT_EQ(files.unused_tensors, std::vector<std::string>{"unheard.of"});
}

// Left out only where another tensor makes them needless.
TEST_F(Models, SecondCopiesAndComputedTablesAreIgnored) {
  const ModelFiles t5 = open_names({"shared.weight", "encoder.embed_tokens.weight"});
  EXPECT_FALSE(t5.find(Part::kTextEncoder3)->weights.contains("encoder.embed_tokens.weight"));
  EXPECT_EQ(t5.ignored_tensors, 1);
  const ModelFiles lone = open_names({"encoder.block.0.layer.0.SelfAttention.q.weight", "encoder.embed_tokens.weight"});
  EXPECT_TRUE(lone.find(Part::kTextEncoder3)->weights.contains("encoder.embed_tokens.weight"));
  const ModelFiles pixart =
      open_names({"x_embedder.proj.weight", "t_block.1.weight", "pos_embed", "y_embedder.y_embedding"});
  EXPECT_FALSE(pixart.find(Part::kDenoiser)->weights.contains("pos_embed"));
  EXPECT_TRUE(pixart.find(Part::kDenoiser)->weights.contains("y_embedder.y_embedding"));  // tells alpha from sigma
  EXPECT_EQ(pixart.ignored_tensors, 1);
  const ModelFiles sd3 = open_names({"x_embedder.proj.weight", "joint_blocks.0.x", "pos_embed"});
  EXPECT_TRUE(sd3.find(Part::kDenoiser)->weights.contains("pos_embed"));
}

TEST_F(Models, MarkersAreFoundWithTheirValues) {
  const auto path = write_f32(scratch_ / "m.safetensors", {{"model.diffusion_model.out.2.weight", {1}},
                                                           {"v_pred", {}},
                                                           {"ztsnr", {}},
                                                           {"edm_vpred.sigma_max", {120}, {}},
                                                           {"edm_mean", {1, 2, 3, 4}, {1, 4, 1, 1}}});
  const ModelFiles files = open({.model = path});
  const Markers expected = {{"v_pred", {}}, {"ztsnr", {}}, {"edm_vpred.sigma_max", {120}}, {"edm_mean", {1, 2, 3, 4}}};
  EXPECT_EQ(files.markers, expected);
  EXPECT_TRUE(files.unused_tensors.empty());
  // A denoiser of its own file is described by that file's markers.
  const auto plain = write_names(scratch_ / "plain.safetensors", {"input_blocks.0.0.weight"});
  EXPECT_TRUE(open({.model = path, .denoiser = plain}).markers.empty());
  EXPECT_EQ(open({.model = plain, .denoiser = path}).markers, expected);
  EXPECT_EQ(open({.model = path, .vae = write_names(scratch_ / "v.safetensors", {"decoder.conv_in.weight"})}).markers,
            expected);
}

TEST_F(Models, AlphasAreTakenWhenTheyAreASchedule) {
  std::vector<float> alphas(1000);
  for (size_t i = 0; i < alphas.size(); ++i) alphas[i] = 1.0f - static_cast<float>(i) / 1000.0f;
  const auto with = [&](const std::vector<float>& values) {
    return open({.model = write_f32(scratch_ / "m.safetensors",
                                    {{"model.diffusion_model.x", {1}}, {"alphas_cumprod", values}})});
  };
  const ModelFiles good = with(alphas);
  ASSERT_TRUE(good.alphas_cumprod);
  EXPECT_EQ(good.alphas_cumprod->size(), 1000u);
  EXPECT_EQ((*good.alphas_cumprod)[250], static_cast<double>(0.75f));
  EXPECT_TRUE(good.warnings.empty());

  const auto refused = [&](std::vector<float> values) {
    const ModelFiles files = with(values);
    EXPECT_FALSE(files.alphas_cumprod);
    ASSERT_EQ(files.warnings.size(), 1u);
    EXPECT_TRUE(contains(files.warnings[0], "m.safetensors: alphas_cumprod is ignored: expected 1000 finite numbers"));
  };
  for (const float wrong : {0.0f, -0.5f, 1.5f, std::nanf(""), INFINITY}) {
    std::vector<float> values = alphas;
    values[999] = wrong;
    refused(values);
  }
  refused(std::vector<float>(999, 0.5f));
}

TEST_F(Models, AnOptionOfTheSameNamesIsLaidOverTheModel) {
  const auto model = write_f32(scratch_ / "m.safetensors", {{"model.diffusion_model.x", {1}},
                                                            {"first_stage_model.encoder.conv_in.weight", {1}},
                                                            {"first_stage_model.decoder.conv_in.weight", {1}}});
  const auto decoder = write_f32(scratch_ / "d.safetensors", {{"decoder.conv_in.weight", {2}}});
  const ModelFiles files = open({.model = model, .vae = decoder});
  EXPECT_EQ(value_of(files, Part::kVae, "decoder.conv_in.weight"), 2.0f);
  EXPECT_EQ(value_of(files, Part::kVae, "encoder.conv_in.weight"), 1.0f);
  EXPECT_EQ(files.find(Part::kVae)->source, decoder.string());
  EXPECT_EQ(value_of(files, Part::kDenoiser, "x"), 1.0f);
}

// Two spellings of one layer in one part would leave open which of them counts.
TEST_F(Models, AnOptionOfOtherNamesReplacesThePart) {
  const auto model = write_f32(
      scratch_ / "m.safetensors",
      {{"first_stage_model.decoder.conv_in.weight", {1}}, {"first_stage_model.decoder.mid.block_1.conv1.weight", {1}}});
  const auto diffusers = write_f32(
      scratch_ / "d.safetensors", {{"decoder.conv_in.weight", {2}}, {"decoder.mid_block.resnets.0.conv1.weight", {2}}});
  const WeightStore vae = open({.model = model, .vae = diffusers}).find(Part::kVae)->weights;
  EXPECT_EQ(vae.entries().size(), 2u);
  EXPECT_FALSE(vae.contains("decoder.mid.block_1.conv1.weight"));
}

TEST_F(Models, OptionsTakeTheirPartOutOfAnySource) {
  const auto whole = kTiny / "tiny-sd1-ldm.safetensors";
  const ModelFiles files = open({.model = whole, .vae = whole});
  ASSERT_EQ(files.warnings.size(), 1u);
  EXPECT_TRUE(contains(files.warnings[0], "tiny-sd1-ldm.safetensors: only its vae is used")) << files.warnings[0];
  EXPECT_EQ(parts_of(open({.vae = kTiny})), std::vector<Part>{Part::kVae});
  const ModelFiles folder = open({.vae = kTiny / "vae"});
  EXPECT_EQ(folder.find(Part::kVae)->config["_class_name"], "AutoencoderKL");
  const auto clip = write_names(scratch_ / "c.safetensors", {"text_model.embeddings.token_embedding.weight"});
  EXPECT_EQ(parts_of(open({.clip_l = clip, .clip_g = clip})),
            (std::vector<Part>{Part::kTextEncoder, Part::kTextEncoder2}));
  const auto prefixed = write_names(scratch_ / "p.safetensors", {"clip_g.text_model.x"});
  EXPECT_TRUE(open({.clip_g = prefixed}).find(Part::kTextEncoder2)->weights.contains("text_model.x"));
  const auto t5 = write_names(scratch_ / "t.safetensors", {"shared.weight"});
  EXPECT_EQ(parts_of(open({.t5xxl = t5})), std::vector<Part>{Part::kTextEncoder3});
}

TEST_F(Models, ErrorsNameTheOption) {
  const auto missing = scratch_ / "none.safetensors";
  const std::pair<ModelPaths, std::string> rows[] = {
      {{.model = missing}, "--model "},    {{.denoiser = missing}, "--diffusion-model "},
      {{.clip_l = missing}, "--clip_l "},  {{.clip_g = missing}, "--clip_g "},
      {{.t5xxl = missing}, "--t5xxl "},    {{.vae = missing}, "--vae "},
      {{.tiny_vae = missing}, "--taesd "}, {{.tokenizer = missing}, "--tokenizer "},
  };
  for (const auto& [paths, option] : rows) {
    const Error error = error_of(paths);
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << option;
    EXPECT_TRUE(error.message.starts_with(option + missing.string())) << error.message;
  }
  const Error other = error_of({.vae = kTiny / "unet"});
  EXPECT_EQ(other.code, ErrorCode::kMismatch);
  EXPECT_TRUE(contains(other.message, "--vae ") && contains(other.message, "expected a vae, found denoiser"))
      << other.message;
  EXPECT_EQ(error_of({.clip_l = write_names(scratch_ / "t.safetensors", {"shared.weight"})}).code,
            ErrorCode::kMismatch);
}

TEST_F(Models, AFileWithoutAnyPartIsNoModel) {
  const Error error = error_of({.model = write_names(scratch_ / "l.safetensors", {"lora_unet_x.lora_up.weight"})});
  EXPECT_EQ(error.code, ErrorCode::kMismatch);
  EXPECT_TRUE(contains(error.message, "l.safetensors: holds no part of a model (its tensors are such as lora_unet_x"))
      << error.message;
  const Error empty = error_of({.model = data_path("bad/safetensors/ok_empty.safetensors")});
  EXPECT_TRUE(contains(empty.message, "holds no part of a model (no tensors)")) << empty.message;
}

TEST_F(Models, AShardedSingleModelIsSortedLikeOneFile) {
  write_names(scratch_ / "1.safetensors", {"model.diffusion_model.x"});
  write_names(scratch_ / "2.safetensors", {"first_stage_model.decoder.conv_in.weight"});
  const auto index = scratch_.write(
      "m.safetensors.index.json",
      R"({"weight_map":{"model.diffusion_model.x":"1.safetensors","first_stage_model.decoder.conv_in.weight":"2.safetensors"}})");
  EXPECT_EQ(parts_of(open({.model = index})), (std::vector<Part>{Part::kDenoiser, Part::kVae}));
}

TEST(TinyModel, ReadingIntoMemoryGivesTheSameBytes) {
  const auto file = kTiny / "text_encoder/model.safetensors";
  EXPECT_EQ(open_weights(file, MappedFile::Mode::kMap)->content_hash(),
            open_weights(file, MappedFile::Mode::kRead)->content_hash());
}

}  // namespace
}  // namespace veneer::io
