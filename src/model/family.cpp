// Recognition of families. The order matters: later signs also occur in earlier families.
#include "model/family.h"

#include <algorithm>

#include "core/format.h"
#include "model/unet.h"
#include "model/unet_names.h"

namespace veneer::model {
namespace {

bool has(const io::WeightStore& store, std::string_view name) { return store.contains(name); }

bool is_flux2(const io::WeightStore& s) {
  return has(s, "double_stream_modulation_img.lin.weight") || has(s, "double_stream_modulation_img.linear.weight");
}
bool is_chroma(const io::WeightStore& s) { return has(s, "distilled_guidance_layer.in_proj.weight"); }
bool is_flux(const io::WeightStore& s) {
  return has(s, "double_blocks.0.img_attn.norm.key_norm.scale") ||
         has(s, "single_transformer_blocks.0.proj_mlp.weight");
}
bool is_sd3(const io::WeightStore& s) {
  return has(s, "joint_blocks.0.x_block.attn.qkv.weight") || has(s, "transformer_blocks.0.attn.add_q_proj.weight");
}
bool is_qwen(const io::WeightStore& s) { return has(s, "transformer_blocks.0.img_mod.1.weight"); }
bool is_z_image(const io::WeightStore& s) {
  return has(s, "cap_embedder.0.weight") && has(s, "layers.0.adaLN_modulation.0.weight");
}
bool is_sana(const io::WeightStore& s) {
  return has(s, "blocks.0.mlp.inverted_conv.conv.weight") || has(s, "transformer_blocks.0.ff.conv_inverted.weight");
}
bool is_pixart(const io::WeightStore& s) {
  return (has(s, "blocks.0.cross_attn.kv_linear.weight") && has(s, "t_block.1.weight")) ||
         (has(s, "adaln_single.linear.weight") && has(s, "caption_projection.linear_1.weight"));
}

bool is_unet(const io::WeightStore& s) {
  return is_original_unet(s) || (has(s, "conv_in.weight") && has(s, "down_blocks.0.resnets.0.conv1.weight"));
}
bool has_added_embedding(const io::WeightStore& s) {
  return has(s, "label_emb.0.0.weight") || has(s, "add_embedding.linear_1.weight");
}
bool is_sdxl(const io::WeightStore& s) { return is_unet(s) && unet_context_width(s) == 2048; }
bool is_refiner(const io::WeightStore& s) {
  return is_unet(s) && unet_context_width(s) == 1280 && has_added_embedding(s);
}
bool is_sd2(const io::WeightStore& s) { return is_unet(s) && unet_context_width(s) == 1024; }
// Also small models of the same kind with another text width: their folder's config says what shapes cannot.
bool is_sd1(const io::WeightStore& s) { return is_unet(s) && unet_context_width(s) > 0 && !has_added_embedding(s); }

constexpr LatentScaling kSd1Latent{0.18215, 0.0};
// Least-squares fit that the web UIs have long used for Stable Diffusion 1.x.
constexpr LatentColours kSd1Colours{{{0.3512f, 0.2297f, 0.3227f},
                                     {0.3250f, 0.4974f, 0.2350f},
                                     {-0.2829f, 0.1762f, 0.2721f},
                                     {-0.2120f, -0.2616f, -0.7177f}}};

constexpr Family kFamilies[] = {
    {"FLUX.2", "", {}, {}, 0, 0, 0, is_flux2, nullptr},
    {"Chroma", "", {}, {}, 0, 0, 0, is_chroma, nullptr},
    {"FLUX.1", "", {}, {}, 0, 0, 0, is_flux, nullptr},
    {"SD3", "", {}, {}, 0, 0, 0, is_sd3, nullptr},
    {"Qwen-Image", "", {}, {}, 0, 0, 0, is_qwen, nullptr},
    {"Z-Image", "", {}, {}, 0, 0, 0, is_z_image, nullptr},
    {"SANA", "", {}, {}, 0, 0, 0, is_sana, nullptr},
    {"PixArt", "", {}, {}, 0, 0, 0, is_pixart, nullptr},
    {"SDXL", "", {}, {}, 0, 0, 0, is_sdxl, nullptr},
    {"SDXL refiner", "", {}, {}, 0, 0, 0, is_refiner, nullptr},
    {"SD 2.x", "", {}, {}, 0, 0, 0, is_sd2, nullptr},
    {"SD 1.x", "eps", kSd1Latent, kSd1Colours, 512, 1, 1, is_sd1, build_unet},
};

std::string supported_names() {
  std::string out;
  for (const Family& family : kFamilies)
    if (family.build) out += (out.empty() ? "" : ", ") + std::string(family.name);
  return out;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

Result<const Family*> identify(const io::ModelPart& denoiser) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                  [&](const Family& f) { return f.recognise(denoiser.weights); });
  if (found == std::end(kFamilies))
    return Error{ErrorCode::kUnsupported,
                 concat(denoiser.source, ": is of no model family that is known here; supported: ", supported_names()),
                 denoiser.source};
  if (!found->build)
    return Error{ErrorCode::kUnsupported,
                 concat(denoiser.source, ": ", found->name, ": not supported yet; supported: ", supported_names()),
                 denoiser.source};
  const int64_t width = unet_context_width(denoiser.weights);
  if (width != 768 && !denoiser.config.is_object())
    return Error{
        ErrorCode::kUnsupported,
        concat(
            denoiser.source, ": a UNet with a text width of ", width,
            " fits no known family, and without a config.json its heads are unknown; open the model's folder instead"),
        denoiser.source};
  return &*found;
}

}  // namespace veneer::model
