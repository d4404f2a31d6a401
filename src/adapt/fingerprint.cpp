// The signs of model families in adapter files.
#include "adapt/fingerprint.h"

#include <algorithm>
#include <vector>

#include "core/format.h"

namespace veneer::adapt {
namespace {

// One module, as signs look at it.
struct Look {
  std::string_view prefix;
  std::string name;    // underscored
  int64_t inputs = 0;  // of its factors; 0 when they do not tell

  bool has(std::string_view text) const { return contains(name, text); }
  bool is_cross_attention() const { return name.ends_with("attn2_to_k") || name.ends_with("attn2_to_v"); }
};

Look look_at(const AdapterModule& module) {
  Look look{module.prefix, underscored(module.name), 0};
  for (const char* part : {"down", "hada_w1_b"})
    if (const KeyPart* factor = module.keys.find(part); factor && factor->weight.shape.rank() >= 2)
      look.inputs = factor->weight.shape[1];
  return look;
}

struct Sign {
  std::string_view family;
  std::string_view evidence;
  bool (*shows)(const Look&);
};

// Most telling first: the first family with a sign is the one, with all of its signs as evidence.
constexpr Sign kSigns[] = {
    {"Stable Cascade", "lora_prior_* keys", [](const Look& l) { return l.prefix.starts_with("lora_prior_"); }},
    {"FLUX.1", "double_blocks", [](const Look& l) { return l.has("double_blocks_"); }},
    {"FLUX.1", "single_transformer_blocks", [](const Look& l) { return l.has("single_transformer_blocks_"); }},
    {"FLUX.1", "single_blocks", [](const Look& l) { return l.has("single_blocks_"); }},
    {"SD3", "joint_blocks", [](const Look& l) { return l.has("joint_blocks_"); }},
    {"SD3", "add_q_proj", [](const Look& l) { return l.has("add_q_proj"); }},
    {"PixArt", "caption_projection", [](const Look& l) { return l.has("caption_projection"); }},
    {"PixArt", "cross_attn_kv_linear", [](const Look& l) { return l.has("cross_attn_kv_linear"); }},
    {"PixArt", "cross-attention of 1152 inputs in transformer_blocks",
     [](const Look& l) { return l.name.starts_with("transformer_blocks_") && l.has("attn2") && l.inputs == 1152; }},
    {"a video model", "blocks with cross_attn",
     [](const Look& l) { return l.name.starts_with("blocks_") && l.has("_cross_attn_"); }},
    {"SDXL", "lora_te2_* keys", [](const Look& l) { return l.prefix == "lora_te2_" && l.has("text_model"); }},
    {"SDXL", "text_encoder_2 keys", [](const Look& l) { return l.prefix == "text_encoder_2." && l.has("text_model"); }},
    {"SDXL", "add_embedding", [](const Look& l) { return l.has("add_embedding_") || l.has("label_emb_"); }},
    {"SDXL", "10 transformer blocks in one attention",
     [](const Look& l) { return !l.name.starts_with("transformer_blocks_") && l.has("_transformer_blocks_9_"); }},
    {"SDXL", "cross-attention of 2048 inputs",
     [](const Look& l) { return l.is_cross_attention() && l.inputs == 2048; }},
    {"SD 2.x", "cross-attention of 1024 inputs",
     [](const Look& l) { return l.is_cross_attention() && l.inputs == 1024; }},
    {"SD 1.x", "cross-attention of 768 inputs",
     [](const Look& l) { return l.is_cross_attention() && l.inputs == 768; }},
};

}  // namespace

std::optional<Fingerprint> fingerprint(const Adapter& adapter) {
  std::vector<Look> looks;
  for (const AdapterModule& module : adapter.modules) looks.push_back(look_at(module));
  std::optional<Fingerprint> out;
  for (const Sign& sign : kSigns) {
    if ((out && out->family != sign.family) || std::ranges::none_of(looks, sign.shows)) continue;
    if (out)
      out->evidence += concat(", ", sign.evidence);
    else
      out = Fingerprint{std::string(sign.family), std::string(sign.evidence)};
  }
  return out;
}

}  // namespace veneer::adapt
