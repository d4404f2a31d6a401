// Tables of prefixes, signs and left-out names.
#include "io/part_names.h"

#include <algorithm>

namespace veneer::io {
namespace {

struct Prefix {
  std::string_view text;
  Part part;
};

// No prefix begins another one.
constexpr Prefix kPrefixes[] = {
    {"model.diffusion_model.", Part::kDenoiser},
    {"first_stage_model.", Part::kVae},
    {"vae.", Part::kVae},
    {"tae.", Part::kTinyVae},
    {"cond_stage_model.transformer.", Part::kTextEncoder},         // SD1
    {"cond_stage_model.model.", Part::kTextEncoder},               // SD2, OpenCLIP names
    {"cond_stage_model.1.transformer.", Part::kTextEncoder2},      // SDXL as converters write it
    {"conditioner.embedders.0.transformer.", Part::kTextEncoder},  // SDXL
    {"conditioner.embedders.1.model.", Part::kTextEncoder2},       // SDXL, OpenCLIP names
    {"conditioner.embedders.0.model.", Part::kTextEncoder2},       // SDXL refiner, which has only this one
    {"text_encoders.clip_l.transformer.", Part::kTextEncoder},     // SD3
    {"text_encoders.clip_g.transformer.", Part::kTextEncoder2},    // SD3
    {"text_encoders.t5xxl.transformer.", Part::kTextEncoder3},     // SD3
    {"clip_l.", Part::kTextEncoder},
    {"clip_g.", Part::kTextEncoder2},
};

struct Sign {
  std::string_view name;
  Part part;
};

// In this order: names of a later row may occur in files of an earlier one.
constexpr Sign kSigns[] = {
    {"shared.weight", Part::kTextEncoder3},
    {"encoder.block.0.layer.0.SelfAttention.q.weight", Part::kTextEncoder3},
    {"enc.blk.0.attn_q.weight", Part::kTextEncoder3},  // T5 in GGUF files
    {"text_model.embeddings.token_embedding.weight", Part::kTextEncoder},
    {"embeddings.token_embedding.weight", Part::kTextEncoder},
    {"token_embedding.weight", Part::kTextEncoder},
    {"encoder.layers.0.weight", Part::kTinyVae},
    {"decoder.layers.0.weight", Part::kTinyVae},
    {"encoder.0.weight", Part::kTinyVae},
    {"decoder.1.weight", Part::kTinyVae},
    {"0.weight", Part::kTinyVae},
    {"1.weight", Part::kTinyVae},
    {"encoder.conv_in.weight", Part::kVae},
    {"decoder.conv_in.weight", Part::kVae},
    {"input_blocks.0.0.weight", Part::kDenoiser},  // UNet, original names
    {"conv_in.weight", Part::kDenoiser},           // UNet, diffusers names
    {"img_in.weight", Part::kDenoiser},            // FLUX, original names
    {"x_embedder.weight", Part::kDenoiser},        // FLUX, diffusers names
    {"x_embedder.proj.weight", Part::kDenoiser},   // SD3 and PixArt, original names
    {"pos_embed.proj.weight", Part::kDenoiser},    // SD3 and PixArt, diffusers names
    {"transformer_blocks.0.attn.to_q.weight", Part::kDenoiser},
    {"patch_embed.proj.weight", Part::kDenoiser},
    {"cap_embedder.0.weight", Part::kDenoiser},
};

// The rows of the embedding are this wide in OpenCLIP-bigG only; CLIP-L and OpenCLIP-H are narrower.
constexpr int64_t kBigGWidth = 1280;

struct IgnoreRule {
  enum class How { kWhole, kPrefix, kSuffix } how;
  std::string_view text;
};

constexpr IgnoreRule kIgnored[] = {
    {IgnoreRule::How::kPrefix, "model_ema."},
    {IgnoreRule::How::kSuffix, "position_ids"},
    {IgnoreRule::How::kSuffix, "logit_scale"},
    {IgnoreRule::How::kPrefix, "vision_model."},
    {IgnoreRule::How::kPrefix, "visual_projection."},
    {IgnoreRule::How::kPrefix, "loss."},  // of an autoencoder in training
    {IgnoreRule::How::kWhole, "denoiser.sigmas"},
    {IgnoreRule::How::kWhole, "betas"},
    {IgnoreRule::How::kWhole, "logvar"},
    {IgnoreRule::How::kWhole, "lvlb_weights"},
    {IgnoreRule::How::kWhole, "alphas_cumprod_prev"},
    {IgnoreRule::How::kPrefix, "sqrt_"},
    {IgnoreRule::How::kPrefix, "log_one_minus_"},
    {IgnoreRule::How::kPrefix, "posterior_"},
};

bool holds(const IgnoreRule& rule, std::string_view name) {
  switch (rule.how) {
    case IgnoreRule::How::kWhole: return name == rule.text;
    case IgnoreRule::How::kPrefix: return name.starts_with(rule.text);
    case IgnoreRule::How::kSuffix: return name.ends_with(rule.text);
  }
  return false;
}

struct Needless {
  Part part;
  std::string_view name;
  std::string_view beside;
};

constexpr Needless kNeedless[] = {
    {Part::kTextEncoder3, "encoder.embed_tokens.weight", "shared.weight"},  // the same numbers
    {Part::kDenoiser, "pos_embed", "t_block.1.weight"},  // PixArt computes its table; SD3 does need one of this name
};

constexpr std::string_view kMarkers[] = {"v_pred",   "ztsnr",  "edm_vpred.sigma_max", "edm_vpred.sigma_min",
                                         "edm_mean", "edm_std"};

}  // namespace

std::optional<Place> place_of(std::string_view full_name) {
  for (const Prefix& prefix : kPrefixes)
    if (full_name.starts_with(prefix.text) && full_name.size() > prefix.text.size())
      return Place{prefix.part, full_name.substr(prefix.text.size())};
  return std::nullopt;
}

std::optional<Part> recognise_part(const WeightStore::Entries& bare) {
  for (const Sign& sign : kSigns) {
    const auto found = bare.find(sign.name);
    if (found == bare.end()) continue;
    const Shape& shape = found->second.weight.shape;
    const bool big_g = sign.part == Part::kTextEncoder && shape.rank() == 2 && shape[1] == kBigGWidth;
    return big_g ? Part::kTextEncoder2 : sign.part;
  }
  return std::nullopt;
}

bool is_ignored(std::string_view name) {
  return std::any_of(std::begin(kIgnored), std::end(kIgnored), [&](const auto& rule) { return holds(rule, name); });
}

int64_t drop_needless(Part part, WeightStore::Entries& entries) {
  int64_t dropped = 0;
  for (const Needless& rule : kNeedless) {
    const auto found = entries.find(rule.name);
    if (rule.part != part || found == entries.end() || !entries.contains(rule.beside)) continue;
    entries.erase(found);
    ++dropped;
  }
  return dropped;
}

bool is_marker(std::string_view full_name) {
  return std::find(std::begin(kMarkers), std::end(kMarkers), full_name) != std::end(kMarkers);
}

}  // namespace veneer::io
