// The tables of prefixes and endings, and their reading.
#include "adapt/adapter_keys.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/format.h"

namespace veneer::adapt {
namespace {

using io::Part;

constexpr Part kDenoiser[] = {Part::kDenoiser};
constexpr Part kFirst[] = {Part::kTextEncoder, Part::kTextEncoder3};
constexpr Part kSecond[] = {Part::kTextEncoder2, Part::kTextEncoder3};
constexpr Part kThird[] = {Part::kTextEncoder3};
constexpr Part kVae[] = {Part::kVae};
constexpr Part kTinyVae[] = {Part::kTinyVae};
constexpr Part kAny[] = {Part::kDenoiser, Part::kTextEncoder, Part::kTextEncoder2, Part::kTextEncoder3};

struct Prefix {
  std::string_view text;
  std::span<const Part> parts;
};

constexpr Prefix kPrefixes[] = {
    {"", kAny},
    {"lora_unet_", kDenoiser},
    {"lora_transformer_", kDenoiser},
    {"lora_te_", kFirst},
    {"lora_te1_", kFirst},
    {"lora_te2_", kSecond},
    {"lora_te3_", kThird},
    {"lora_vae_", kVae},
    {"lora_prior_unet_", {}},  // Stable Cascade
    {"lora_prior_te_", {}},
    {"lycoris_", kAny},
    {"oft_unet_", kDenoiser},
    {"oft_te_", kFirst},
    {"unet.", kDenoiser},
    {"transformer.", kDenoiser},
    {"diffusion_model.", kDenoiser},
    {"model.diffusion_model.", kDenoiser},
    {"te.", kFirst},
    {"te1.", kFirst},
    {"te2.", kSecond},
    {"te3.", kThird},
    {"text_encoder.", kFirst},
    {"text_encoder_2.", kSecond},
    {"text_encoder_3.", kThird},
    {"clip_l.", kFirst},
    {"clip_l.transformer.", kFirst},
    {"clip_g.", kSecond},
    {"clip_g.transformer.", kSecond},
    {"t5.", kThird},
    {"t5xxl.", kThird},
    {"t5xxl.transformer.", kThird},
    {"text_encoders.clip_l.transformer.", kFirst},
    {"text_encoders.clip_g.transformer.", kSecond},
    {"text_encoders.t5xxl.transformer.", kThird},
    {"cond_stage_model.transformer.", kFirst},
    {"cond_stage_model.model.", kFirst},
    {"conditioner.embedders.0.transformer.", kFirst},
    {"conditioner.embedders.1.model.", kSecond},
    {"vae.", kVae},
    {"first_stage_model.", kVae},
    {"tae.", kTinyVae},
    {"tiny_vae.", kTinyVae},
};

// Modules by number; not a prefix of any other spelling.
constexpr Prefix kNumberedPrefixes[] = {{"unet", kDenoiser}, {"text_encoder", kFirst}};

enum class Speaker { kAnyone, kPeft };

struct Ending {
  std::string_view text;
  std::string_view part;
  Speaker speaker = Speaker::kAnyone;
  bool takes_name = false;  // an adapter's name may follow, before ".weight" or ".bias" where there is one
};

constexpr Ending kEndings[] = {
    {".lora_down.weight", "down"},
    {".lora.down.weight", "down"},
    {"_lora.down.weight", "down"},
    {".lora_linear_layer.down.weight", "down"},
    {".down.weight", "down"},
    {".lora_A.weight", "down", Speaker::kPeft, true},
    {".lora_A", "down", Speaker::kPeft, true},
    {".lora_up.weight", "up"},
    {".lora.up.weight", "up"},
    {"_lora.up.weight", "up"},
    {".lora_linear_layer.up.weight", "up"},
    {".up.weight", "up"},
    {".lora_B.weight", "up", Speaker::kPeft, true},
    {".lora_B", "up", Speaker::kPeft, true},
    {".lora_mid.weight", "mid"},
    {".lora.mid.weight", "mid"},
    {"_lora.mid.weight", "mid"},
    {".lora_B.bias", "up_bias", Speaker::kPeft, true},
    {".lora_up.bias", "up_bias"},
    {".lora_magnitude_vector.weight", "magnitude", Speaker::kPeft, true},
    {".lora_magnitude_vector", "magnitude", Speaker::kPeft, true},
    {".dora_scale", "magnitude"},
    {".alpha", "alpha"},
    {".lora.alpha", "alpha"},
    {"_lora.alpha", "alpha"},
    {".lora_linear_layer.alpha", "alpha"},
    {".scale", "scale"},
    {".rescale", "rescale"},
    {".diff", "diff"},
    {".diff_b", "diff_b"},
    {".set_weight", "set_weight"},
    {".w_norm", "w_norm"},
    {".b_norm", "b_norm"},
    {".reshape_weight", "reshape_weight"},
    {".hada_w1_a", "hada_w1_a", Speaker::kAnyone, true},
    {".hada_w1_b", "hada_w1_b", Speaker::kAnyone, true},
    {".hada_w2_a", "hada_w2_a", Speaker::kAnyone, true},
    {".hada_w2_b", "hada_w2_b", Speaker::kAnyone, true},
    {".hada_t1", "hada_t1", Speaker::kAnyone, true},
    {".hada_t2", "hada_t2", Speaker::kAnyone, true},
    {".lokr_w1", "lokr_w1", Speaker::kAnyone, true},
    {".lokr_w1_a", "lokr_w1_a", Speaker::kAnyone, true},
    {".lokr_w1_b", "lokr_w1_b", Speaker::kAnyone, true},
    {".lokr_w2", "lokr_w2", Speaker::kAnyone, true},
    {".lokr_w2_a", "lokr_w2_a", Speaker::kAnyone, true},
    {".lokr_w2_b", "lokr_w2_b", Speaker::kAnyone, true},
    {".lokr_t2", "lokr_t2", Speaker::kAnyone, true},
    {".oft_blocks", "oft_blocks"},
    {".oft_diag", "oft_diag"},
    {".oft_R.weight", "oft_R", Speaker::kPeft, true},
    {".oft_r", "oft_r", Speaker::kPeft, true},
    {".boft_R", "boft_R", Speaker::kPeft, true},
    {".boft_s", "boft_s", Speaker::kPeft, true},
    {".a1.weight", "a1"},
    {".a2.weight", "a2"},
    {".b1.weight", "b1"},
    {".b2.weight", "b2"},
    {".bm.weight", "bm"},
    {".ia3_l", "ia3_l", Speaker::kPeft, true},
    {".on_input", "on_input"},
    {".weight", "weight"},
    {".bias", "bias"},
    {".vera_lambda_b", "vera_lambda_b", Speaker::kPeft, true},
    {".vera_lambda_d", "vera_lambda_d", Speaker::kPeft, true},
    {".vera_A", "vera_A", Speaker::kPeft, true},
    {".vera_B", "vera_B", Speaker::kPeft, true},
    {".lora_E", "lora_E", Speaker::kPeft, true},
    {".ranknum", "ranknum", Speaker::kPeft, true},
    {".hra_u", "hra_u", Speaker::kPeft, true},
    {".q_layer.weight", "q_layer"},
    {".p_layer.weight", "p_layer"},
    {".lambda_layer", "lambda_layer"},
    {".bias_indices", "bias_indices"},
    {".bias_values", "bias_values"},
    {".bias_size", "bias_size"},
};

constexpr std::string_view kPeftWrapper = "base_model.model.";

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

const Prefix& longest_prefix(std::string_view key) {
  const Prefix* best = &kPrefixes[0];
  for (const Prefix& prefix : kPrefixes)
    if (prefix.text.size() > best->text.size() && key.starts_with(prefix.text)) best = &prefix;
  return *best;
}

const Ending* longest_ending(std::string_view key) {
  const Ending* best = nullptr;
  for (const Ending& ending : kEndings)
    if ((!best || ending.text.size() > best->text.size()) && key.size() > ending.text.size() &&
        key.ends_with(ending.text))
      best = &ending;
  return best;
}

// "a.b.lora_A.NAME.weight" -> "a.b.lora_A.weight"; "a.b.ia3_l.NAME" -> "a.b.ia3_l".
std::optional<std::string> without_adapter_name(std::string_view key) {
  std::string_view tail;
  for (const std::string_view last : {".weight", ".bias"})
    if (key.ends_with(last)) tail = last;
  const std::string_view head = key.substr(0, key.size() - tail.size());
  const size_t dot = head.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return std::string(head.substr(0, dot)).append(tail);
}

struct Cut {
  std::string_view place;
  std::string part;
  bool is_peft = false;
};

Cut cut_at(std::string_view key, std::string_view shortened, const Ending& ending) {
  return {key.substr(0, shortened.size() - ending.text.size()), std::string(ending.part),
          ending.speaker == Speaker::kPeft};
}

Cut cut_off_part(std::string_view key) {
  const Ending* ending = longest_ending(key);
  // What any layer has tells nothing yet: PEFT's names end so too.
  if (ending && ending->part != "weight" && ending->part != "bias") return cut_at(key, key, *ending);
  if (const auto shortened = without_adapter_name(key)) {
    const Ending* named = longest_ending(*shortened);
    if (named && named->takes_name) return cut_at(key, *shortened, *named);
  }
  // One set of blocks per slice of a fused layer: the number belongs to the part.
  constexpr std::string_view kBlocks = ".oft_blocks.";
  const size_t blocks = key.rfind(kBlocks);
  if (blocks != std::string_view::npos && all_digits(key.substr(blocks + kBlocks.size())))
    return {key.substr(0, blocks), std::string(key.substr(blocks + 1)), false};
  return ending ? cut_at(key, key, *ending) : Cut{key, {}, false};
}

// An attention processor holds its adapters itself: "attn1.processor.to_q" is "attn1.to_q". XLabs' processors of FLUX
// number the two streams, and those of single blocks stand for linear1's rows of q, k, v and for linear2.
std::string without_processor(std::string_view module) {
  constexpr std::string_view kProcessor = ".processor.";
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"to_out", "to_out.0"},          {"qkv_lora1", "img_attn.qkv"},   {"qkv_lora2", "txt_attn.qkv"},
      {"proj_lora1", "img_attn.proj"}, {"proj_lora2", "txt_attn.proj"}, {"proj", "linear2"},
  };
  const size_t at = module.find(kProcessor);
  if (at == std::string_view::npos) return std::string(module);
  std::string_view last = module.substr(at + kProcessor.size());
  for (const auto& [from, to] : kRenamed)
    if (last == from) {
      last = to;
      break;
    }
  return concat(module.substr(0, at), ".", last);
}

// Old diffusers files name the projections of a CLIP layer as it names those of a UNet.
std::string with_clip_projections(std::string module) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {".self_attn.to_q", "q_proj"},
      {".self_attn.to_k", "k_proj"},
      {".self_attn.to_v", "v_proj"},
      {".self_attn.to_out", "out_proj"},
  };
  for (const auto& [from, to] : kRenamed)
    if (module.ends_with(from)) module.replace(module.rfind('.') + 1, std::string::npos, to);
  return module;
}

// "unet:12:up"
std::optional<ParsedKey> parse_numbered(std::string_view key) {
  const std::vector<std::string> words = split(key, ':');
  if (words.size() != 3 || !all_digits(words[1]) || (words[2] != "up" && words[2] != "down")) return std::nullopt;
  if (std::ranges::none_of(kNumberedPrefixes, [&](const Prefix& prefix) { return prefix.text == words[0]; }))
    return std::nullopt;
  const std::string module = concat(":", words[1]);
  return ParsedKey{words[0], module, words[2], concat(words[0], module), false};
}

}  // namespace

ParsedKey parse_key(std::string_view key) {
  if (auto numbered = parse_numbered(key)) return *std::move(numbered);
  const Cut cut = cut_off_part(key);
  std::string_view module = cut.place;
  const bool wrapped = module.starts_with(kPeftWrapper);
  if (wrapped) module.remove_prefix(kPeftWrapper.size());
  const std::string_view prefix = longest_prefix(module).text;
  module.remove_prefix(prefix.size());
  return {std::string(prefix), with_clip_projections(without_processor(module)), cut.part, std::string(cut.place),
          wrapped || cut.is_peft};
}

std::span<const io::Part> parts_of(std::string_view prefix) {
  for (const Prefix& known : kPrefixes)
    if (known.text == prefix) return known.parts;
  for (const Prefix& known : kNumberedPrefixes)
    if (known.text == prefix) return known.parts;
  return {};
}

std::string underscored(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

}  // namespace veneer::adapt
