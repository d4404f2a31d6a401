// Names per style, and scales, which some styles keep as tensors and others in a configuration.
#include "adapt/respell.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"

namespace veneer::adapt {
namespace {

using io::Part;

struct StylePrefix {
  Part part;
  std::string_view kohya, diffusers, comfy;
};

constexpr StylePrefix kPrefixes[] = {
    {Part::kDenoiser, "lora_unet_", "unet.", "diffusion_model."},
    {Part::kTextEncoder, "lora_te_", "text_encoder.", "text_encoders.clip_l.transformer."},
    {Part::kTextEncoder2, "lora_te2_", "text_encoder_2.", "text_encoders.clip_g.transformer."},
    {Part::kTextEncoder3, "lora_te3_", "text_encoder_3.", "text_encoders.t5xxl.transformer."},
    {Part::kVae, "lora_vae_", "vae.", ""},
};
constexpr std::string_view kPeftWrapper = "base_model.model.";

// Endings that differ between the two ways of naming; an empty one has no name there.
struct StyleEnding {
  std::string_view part, kohya, peft;
};

constexpr StyleEnding kEndings[] = {
    {"down", ".lora_down.weight", ".lora_A.weight"},
    {"up", ".lora_up.weight", ".lora_B.weight"},
    {"mid", ".lora_mid.weight", ""},
    {"up_bias", ".lora_up.bias", ".lora_B.bias"},
    {"magnitude", ".dora_scale", ".lora_magnitude_vector"},
    {"a1", ".a1.weight", ""},
    {"a2", ".a2.weight", ""},
    {"b1", ".b1.weight", ""},
    {"b2", ".b2.weight", ""},
    {"bm", ".bm.weight", ""},
};

// What kohya's trainer and LyCORIS call by its own name. Other parts are PEFT's alone.
constexpr std::string_view kPlainEndings[] = {
    "alpha",        "scale",       "rescale",   "diff",      "diff_b",  "set_weight", "w_norm",     "b_norm",
    "hada_w1_a",    "hada_w1_b",   "hada_w2_a", "hada_w2_b", "hada_t1", "hada_t2",    "lokr_w1",    "lokr_w1_a",
    "lokr_w1_b",    "lokr_w2",     "lokr_w2_a", "lokr_w2_b", "lokr_t2", "oft_diag",   "oft_blocks", "weight",
    "bias_indices", "bias_values", "bias_size", "on_input",  "bias",
};

bool is_peft(KeyStyle style) { return style == KeyStyle::kPeft || style == KeyStyle::kDiffusers; }

// Empty when the style has no name for the part.
std::string ending_for(std::string_view part, KeyStyle style) {
  for (const StyleEnding& ending : kEndings)
    if (ending.part == part) return std::string(is_peft(style) ? ending.peft : ending.kohya);
  const bool known = std::ranges::find(kPlainEndings, part) != std::end(kPlainEndings);
  return known && !is_peft(style) ? concat(".", part) : std::string();
}

// Of the denoiser's layers, by canonical name: a place's first spelling is canonical, the second one original.
std::map<std::string_view, std::string_view> original_names(const nn::NameTable& table) {
  std::map<std::string_view, std::string_view> names;
  for (size_t i = 1; i < table.spellings.size(); ++i) {
    const nn::Spelling &first = table.spellings[i - 1], &second = table.spellings[i];
    if (first.part == Part::kDenoiser && second.part == first.part && second.ranges == first.ranges &&
        !second.name.starts_with(':'))
      names.try_emplace(first.name, second.name);
  }
  return names;
}

// The scale of a group's factors as an alpha over the rank.
Result<std::optional<double>> alpha_of(const KeyGroup& keys) {
  const GroupSettings& settings = keys.settings;
  const KeyPart* down = keys.find("down");
  const int64_t rank = down && down->weight.shape.rank() > 0 ? down->weight.shape[0] : 0;
  if (settings.alpha) {
    const double stabilised = settings.rank_stabilised ? std::sqrt(static_cast<double>(rank)) : 1;
    return std::optional<double>(*settings.alpha * stabilised);
  }
  if (!keys.has("alpha")) return std::optional<double>();
  VENEER_TRY(alpha, keys.number("alpha"));
  return std::optional<double>(alpha);
}

class Respeller {
 public:
  Respeller(const nn::NameTable& table, KeyStyle style, Respelled& out)
      : table_(table), style_(style), out_(out), originals_(original_names(table)) {}

  Status add(const SiteKeys& site) {
    VENEER_TRY(place, place_of(*site.target));
    VENEER_TRY(alpha, alpha_of(site.keys));
    for (const auto& [name, part] : site.keys.parts) {
      if (name == "alpha" && is_peft(style_)) continue;
      const std::string ending = ending_for(name, style_);
      if (ending.empty())
        return Error{ErrorCode::kUnsupported, concat("key ", part.key, ": these names have none for the part ", name),
                     part.key};
      out_.keys.emplace(place + ending, part);
    }
    if (is_peft(style_)) return add_to_config(site, alpha);
    if (alpha && !site.keys.has("alpha")) add_alpha(place + ".alpha", *alpha);
    return {};
  }

  Status finish() {
    if (!is_peft(style_)) return {};
    Json metadata = Json::object();
    for (auto& [component, config] : configs_) {
      config.update({{"peft_type", "LORA"}, {"bias", "none"}, {"lora_dropout", 0.0}, {"fan_in_fan_out", false}});
      const std::string prefix(style_ == KeyStyle::kPeft ? "" : prefix_of(component).diffusers);
      for (const auto& [key, value] : config.items()) metadata[prefix + key] = value;
    }
    out_.metadata["lora_adapter_metadata"] = metadata.dump();
    if (style_ != KeyStyle::kPeft) return {};
    if (configs_.size() > 1)
      return Error{ErrorCode::kUnsupported,
                   "peft: a file in its layout is for one component, and this adapter is for several; choose diffusers",
                   "--to"};
    out_.peft_config = std::move(metadata);
    return {};
  }

 private:
  static const StylePrefix& prefix_of(Part part) {
    const auto found = std::ranges::find(kPrefixes, part, &StylePrefix::part);
    return found == std::end(kPrefixes) ? kPrefixes[0] : *found;
  }

  Result<std::string> place_of(const nn::Spelling& target) const {
    const StylePrefix& prefix = prefix_of(target.part);
    const bool two_encoders = std::ranges::find(table_.parts, Part::kTextEncoder2) != table_.parts.end();
    if (prefix.part != target.part || (style_ == KeyStyle::kComfy && prefix.comfy.empty()))
      return Error{ErrorCode::kUnsupported,
                   concat("layer ", target.name, ": these names have none for ", io::name_of(target.part)),
                   target.name};
    switch (style_) {
      case KeyStyle::kKohya:
        if (target.part == Part::kTextEncoder && two_encoders) return concat("lora_te1_", underscored(target.name));
        return concat(prefix.kohya, underscored(target.name));
      case KeyStyle::kDiffusers: return concat(prefix.diffusers, target.name);
      case KeyStyle::kPeft: return concat(kPeftWrapper, target.name);
      case KeyStyle::kComfy: break;
    }
    const auto original = target.part == Part::kDenoiser ? originals_.find(target.name) : originals_.end();
    return concat(prefix.comfy, original == originals_.end() ? std::string_view(target.name) : original->second);
  }

  // PEFT's scale is a number for all modules, and others by name.
  Status add_to_config(const SiteKeys& site, const std::optional<double>& alpha) {
    const KeyPart* down = site.keys.find("down");
    if (!down || down->weight.shape.rank() < 2)
      return Error{ErrorCode::kUnsupported,
                   concat("module ", site.keys.module, ": is no LoRA, which these names are for"), site.keys.module};
    const int64_t rank = down->weight.shape[0];
    const double scaled = alpha.value_or(static_cast<double>(rank));
    Json& config = configs_
                       .try_emplace(site.target->part, Json{{"r", rank},
                                                            {"lora_alpha", scaled},
                                                            {"use_dora", false},
                                                            {"rank_pattern", Json::object()},
                                                            {"alpha_pattern", Json::object()},
                                                            {"target_modules", Json::array()}})
                       .first->second;
    if (config["r"] != rank) config["rank_pattern"][site.target->name] = rank;
    if (config["lora_alpha"] != scaled) config["alpha_pattern"][site.target->name] = scaled;
    if (site.keys.has("magnitude")) config["use_dora"] = true;
    config["target_modules"].push_back(site.target->name);
    return {};
  }

  void add_alpha(const std::string& key, double alpha) {
    out_.made.push_back({static_cast<float>(alpha)});
    const std::vector<float>& value = out_.made.back();
    codec::Weight weight{key, codec::find_codec("f32"), Shape{}, std::as_bytes(std::span(value)), nullptr, nullptr};
    out_.keys.emplace(key, KeyPart{key, std::move(weight), "F32"});
  }

  const nn::NameTable& table_;
  const KeyStyle style_;
  Respelled& out_;
  const std::map<std::string_view, std::string_view> originals_;
  std::map<Part, Json> configs_;
};

constexpr std::array<std::pair<std::string_view, KeyStyle>, 4> kStyles = {{{"kohya", KeyStyle::kKohya},
                                                                           {"diffusers", KeyStyle::kDiffusers},
                                                                           {"peft", KeyStyle::kPeft},
                                                                           {"comfy", KeyStyle::kComfy}}};

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.type == b.type && a.bytes() == b.bytes() &&
         std::equal(a.data, a.data + a.bytes(), b.data);
}

bool same_tensors(const Tensor& a, const Tensor& b) {
  return a.empty() || b.empty() ? a.empty() == b.empty() : same_bytes(a, b);
}

// Dense terms and replacements hold no tensor to compare: their rows are.
std::vector<float> dense_rows(const nn::Dense& dense, const Site& site) {
  const int64_t width = site.layer->weight.row_values();
  std::vector<float> rows(static_cast<size_t>(site.rows * width));
  if (dense.needs_base) site.layer->weight.decode_rows(site.first_row, site.rows, rows.data());
  dense.rows(0, site.rows, rows.data());
  return rows;
}

struct SameTerm {
  const Site& site;
  bool operator()(const nn::Pair& a, const nn::Pair& b) const {
    return a.scale == b.scale && a.side == b.side && same_tensors(a.down, b.down) && same_tensors(a.up, b.up);
  }
  bool operator()(const nn::Kron& a, const nn::Kron& b) const {
    return a.scale == b.scale && same_tensors(a.left, b.left) && same_tensors(a.right_down, b.right_down) &&
           same_tensors(a.right_up, b.right_up);
  }
  bool operator()(const nn::Dense& a, const nn::Dense& b) const {
    return a.scale == b.scale && a.needs_base == b.needs_base && dense_rows(a, site) == dense_rows(b, site);
  }
  bool operator()(const nn::Vector& a, const nn::Vector& b) const {
    return a.of == b.of && same_tensors(a.delta, b.delta);
  }
  bool operator()(const nn::Gain& a, const nn::Gain& b) const {
    return a.side == b.side && same_tensors(a.factors, b.factors);
  }
  bool operator()(const nn::Rotate& a, const nn::Rotate& b) const {
    return a.side == b.side && a.order == b.order && same_tensors(a.blocks, b.blocks);
  }
  bool operator()(const nn::Replace& a, const nn::Replace& b) const {
    return a.weight.shape == b.weight.shape && a.weight.decode_all() == b.weight.decode_all();
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

bool same_terms(const FittedSite& a, const FittedSite& b) {
  return a.lowered.strength_inside == b.lowered.strength_inside &&
         std::ranges::equal(a.lowered.terms, b.lowered.terms,
                            [&](const nn::Term& x, const nn::Term& y) { return std::visit(SameTerm{a.site}, x, y); });
}

}  // namespace

std::optional<KeyStyle> key_style_from(std::string_view name) {
  const auto found = std::ranges::find(kStyles, name, [](const auto& style) { return style.first; });
  if (found == kStyles.end()) return std::nullopt;
  return found->second;
}

Result<Respelled> respell(const Adapter& adapter, const Resolver& resolver, const nn::NameTable& table,
                          KeyStyle style) {
  for (const AdapterModule& module : adapter.modules)
    if (!resolver.find(module.prefix, module.name))
      return Error{ErrorCode::kMismatch,
                   concat("adapter ", adapter.name, ": module ", module.keys.module,
                          " is not one of this model, whose names are needed; name the model that it is for by -m"),
                   module.keys.module};
  VENEER_TRY(resolution, resolver.resolve(adapter));
  if (!resolution.contradictions.empty())
    return Error{ErrorCode::kBadFile,
                 concat("adapter ", adapter.name, ": two spellings of ", resolution.contradictions[0].target->name,
                        " give different values"),
                 adapter.path.string()};
  Respelled out;
  out.metadata = adapter.metadata;
  out.metadata.erase("lora_adapter_metadata");
  Respeller respeller(table, style, out);
  for (const SiteKeys& site : resolution.sites) VENEER_TRY_STATUS(respeller.add(site));
  VENEER_TRY_STATUS(respeller.finish());
  for (const BundledEmbedding& embedding : adapter.embeddings)
    for (const auto& part : embedding.parts) out.keys.emplace(part.key, part);
  return out;
}

std::optional<std::string> first_difference(const Fitted& a, const Fitted& b) {
  if (a.sites.size() != b.sites.size()) return concat(a.sites.size(), " layers against ", b.sites.size());
  for (size_t i = 0; i < a.sites.size(); ++i) {
    const FittedSite &one = a.sites[i], &other = b.sites[i];
    if (one.site.layer != other.site.layer || one.site.first_row != other.site.first_row)
      return concat(one.site.layer->name, " against ", other.site.layer->name);
    if (!same_terms(one, other)) return one.site.layer->name;
  }
  return std::nullopt;
}

}  // namespace veneer::adapt
