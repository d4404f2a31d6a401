// Recognition of families. The order matters: later signs also occur in earlier families.
#include "model/family.h"

#include <algorithm>

#include "core/format.h"
#include "model/flux.h"
#include "model/mmdit_text.h"
#include "model/pixart.h"
#include "model/pixart_text.h"
#include "model/sd3.h"
#include "model/unet.h"
#include "model/unet_names.h"
#include "model/unet_text.h"

namespace veneer::model {
namespace {

using io::ModelPart;

bool has(const ModelPart& part, std::string_view name) { return part.weights.contains(name); }

bool is_flux2(const ModelPart& p) {
  return has(p, "double_stream_modulation_img.lin.weight") || has(p, "double_stream_modulation_img.linear.weight");
}
bool is_chroma(const ModelPart& p) { return has(p, "distilled_guidance_layer.in_proj.weight"); }
bool is_qwen(const ModelPart& p) { return has(p, "transformer_blocks.0.img_mod.1.weight"); }
bool is_z_image(const ModelPart& p) {
  return has(p, "cap_embedder.0.weight") && has(p, "layers.0.adaLN_modulation.0.weight");
}
bool is_sana(const ModelPart& p) {
  return has(p, "blocks.0.mlp.inverted_conv.conv.weight") || has(p, "transformer_blocks.0.ff.conv_inverted.weight");
}

// UNets of published models are told apart by the width of their text. Small models of the same kinds have other widths
// and come as a folder, whose config says what shapes cannot; there the structure decides.
constexpr int64_t kSd1Width = 768, kSd2Width = 1024, kSdxlWidth = 2048, kRefinerWidth = 1280;

int64_t text_width(const ModelPart& p) { return unet_context_width(p.weights); }
bool is_unet(const ModelPart& p) {
  return is_original_unet(p.weights) || (has(p, "conv_in.weight") && has(p, "down_blocks.0.resnets.0.conv1.weight"));
}
bool is_published_unet(const ModelPart& p) {
  const int64_t width = text_width(p);
  return width == kSd1Width || width == kSd2Width || width == kSdxlWidth || width == kRefinerWidth;
}
// Of the network that takes the pooled text and numbers; 0 when there is none.
int64_t added_width(const ModelPart& p) {
  for (const char* name : {"label_emb.0.0.weight", "add_embedding.linear_1.weight"})
    if (const io::Entry* entry = p.weights.find(name); entry && entry->weight.shape.rank() == 2)
      return entry->weight.shape[1];
  return 0;
}
// Five numbers of this many values each behind a pooled text as wide as the states.
bool takes_refiner_numbers(const ModelPart& p) {
  const auto width = json_integer(p.config, "addition_time_embed_dim", 256, p.source);
  return width && added_width(p) == text_width(p) + 5 * *width;
}
bool projects_by_matrices(const ModelPart& p) {
  for (const auto& [name, entry] : p.weights.entries())
    if (name.ends_with(".proj_in.weight")) return entry.weight.shape.rank() == 2;
  return false;
}

bool is_sdxl(const ModelPart& p) {
  if (!is_unet(p) || added_width(p) == 0) return false;
  return text_width(p) == kSdxlWidth || (!is_published_unet(p) && !takes_refiner_numbers(p));
}
bool is_refiner(const ModelPart& p) {
  if (!is_unet(p) || added_width(p) == 0) return false;
  return text_width(p) == kRefinerWidth || (!is_published_unet(p) && takes_refiner_numbers(p));
}
bool is_sd2(const ModelPart& p) {
  if (!is_unet(p) || added_width(p) != 0 || text_width(p) == 0) return false;
  return text_width(p) == kSd2Width || (!is_published_unet(p) && projects_by_matrices(p));
}
bool is_sd1(const ModelPart& p) { return is_unet(p) && text_width(p) > 0 && added_width(p) == 0; }

constexpr LatentScaling kSd1Latent{0.18215, 0.0}, kSdxlLatent{0.13025, 0.0}, kSd3Latent{1.5305, 0.0609},
    kFluxLatent{0.3611, 0.1159};
// Least-squares fits that the web UIs have long used.
constexpr std::array<float, 3> kSd1Colours[] = {{0.3512f, 0.2297f, 0.3227f},
                                                {0.3250f, 0.4974f, 0.2350f},
                                                {-0.2829f, 0.1762f, 0.2721f},
                                                {-0.2120f, -0.2616f, -0.7177f}};
constexpr std::array<float, 3> kSdxlColours[] = {{0.3651f, 0.4232f, 0.4341f},
                                                 {-0.2533f, -0.0042f, 0.1068f},
                                                 {0.1076f, 0.1111f, -0.0362f},
                                                 {-0.3165f, -0.2492f, -0.2188f}};
constexpr double kLcmGuidance = 8.5;
constexpr SamplingDefaults kPixArtSampling{.betas = "linear", .beta_start = 0.0001, .beta_end = 0.02};

constexpr Family kFamilies[] = {
    {.name = "FLUX.2", .recognise = is_flux2},
    {.name = "Chroma", .recognise = is_chroma},
    // The one that was distilled with guidance (dev) wants its noise levels shifted by the size of the picture.
    {.name = "FLUX.1",
     .recognise = is_guided_flux,
     .build = build_flux,
     .text = &kFluxText,
     .latent = kFluxLatent,
     .native_size = 1024,
     .sampling = {.prediction = "flux_flow",
                  .sampler = "euler",
                  .schedule = "flux",
                  .flow_shift = 1.15,
                  .exponential_shift = true,
                  .guidance = 3.5}},
    {.name = "FLUX.1",
     .recognise = is_flux,
     .build = build_flux,
     .text = &kFluxText,
     .latent = kFluxLatent,
     .native_size = 1024,
     .sampling = {.prediction = "flux_flow", .sampler = "euler", .schedule = "simple"}},
    {.name = "SD3",
     .recognise = is_sd3,
     .build = build_sd3,
     .text = &kSd3Text,
     .latent = kSd3Latent,
     .native_size = 1024,
     .sampling = {.prediction = "sd3_flow", .sampler = "euler", .flow_shift = 3}},
    {.name = "Qwen-Image", .recognise = is_qwen},
    {.name = "Z-Image", .recognise = is_z_image},
    {.name = "SANA", .recognise = is_sana},
    {.name = "PixArt-Sigma",
     .recognise = is_pixart_sigma,
     .build = build_pixart,
     .text = &kPixArtSigmaText,
     .latent = kSdxlLatent,
     .colours = kSdxlColours,
     .native_size = 1024,
     .sampling = kPixArtSampling},
    {.name = "PixArt-alpha 1024",
     .recognise = is_pixart_alpha_1024,
     .build = build_pixart,
     .text = &kPixArtAlphaText,
     .latent = kSd1Latent,
     .colours = kSd1Colours,
     .native_size = 1024,
     .sampling = kPixArtSampling},
    {.name = "PixArt-alpha",
     .recognise = is_pixart,
     .build = build_pixart,
     .text = &kPixArtAlphaText,
     .latent = kSd1Latent,
     .colours = kSd1Colours,
     .native_size = 512,
     .sampling = kPixArtSampling},
    {.name = "SDXL",
     .recognise = is_sdxl,
     .build = build_unet,
     .text = &kSdxlText,
     .latent = kSdxlLatent,
     .colours = kSdxlColours,
     .native_size = 1024,
     .sampling = {.guidance = kLcmGuidance, .zeros_for_blank = true, .sdxl_steps = true}},
    {.name = "SDXL refiner",
     .recognise = is_refiner,
     .build = build_unet,
     .text = &kSdxlRefinerText,
     .latent = kSdxlLatent,
     .colours = kSdxlColours,
     .native_size = 1024},
    {.name = "SD 2.x",
     .recognise = is_sd2,
     .build = build_unet,
     .text = &kSd2Text,
     .latent = kSd1Latent,
     .colours = kSd1Colours,
     .native_size = 512,
     .native_size_for_v = 768,
     .sampling = {.guidance = kLcmGuidance, .probe_for_v = true}},
    {.name = "SD 1.x",
     .recognise = is_sd1,
     .build = build_unet,
     .text = &kSd1Text,
     .latent = kSd1Latent,
     .colours = kSd1Colours,
     .native_size = 512,
     .sampling = {.guidance = kLcmGuidance}},
};

std::string supported_names() {
  std::string out;
  for (const Family& family : kFamilies)
    if (family.build && !contains(out, family.name)) out += (out.empty() ? "" : ", ") + std::string(family.name);
  return out;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* recognised(const ModelPart& denoiser) {
  const auto found = std::ranges::find_if(kFamilies, [&](const Family& f) { return f.recognise(denoiser); });
  return found == std::end(kFamilies) ? nullptr : found;
}

Result<const Family*> identify(const ModelPart& denoiser) {
  const auto refuse = [&](std::string_view fault) {
    return Error{ErrorCode::kUnsupported, concat(denoiser.source, ": ", fault), denoiser.source};
  };
  const Family* found = recognised(denoiser);
  if (!found)
    return refuse(concat(is_unet(denoiser) ? concat("a UNet with a text width of ", text_width(denoiser),
                                                    " and an added embedding of ", added_width(denoiser), " ")
                                           : std::string(),
                         "is of no model family that is known here; supported: ", supported_names()));
  if (!found->build) return refuse(concat(found->name, ": not supported yet; supported: ", supported_names()));
  if (is_unet(denoiser) && !is_published_unet(denoiser) && !denoiser.config.is_object())
    return refuse(concat("a UNet with a text width of ", text_width(denoiser),
                         " fits no known family, and without a config.json its heads are unknown; open the model's "
                         "folder instead"));
  return found;
}

}  // namespace veneer::model
