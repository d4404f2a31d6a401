// Parsing and applying of type rules.
#include "io/type_rules.h"

#include <algorithm>

#include "core/format.h"

namespace veneer::io {
namespace {

constexpr std::string_view kNeverEnding[] = {".bias", ".scale", ".weight_scale"};
constexpr std::string_view kNeverContaining[] = {
    "embedding",         "time_embed.", "label_emb.", "x_embedder.", "t_embedder.", "y_embedder.",  "pos_embed",
    "context_embedder.", "img_in.",     "txt_in.",    "time_in.",    "vector_in.",  "guidance_in.", "final_layer."};

// The matcher goes deeper with every character; a name longer than any real one is judged by its beginning.
constexpr size_t kNameLimit = 1024;

Error usage(std::string_view option, const std::string& fault) {
  return {ErrorCode::kUsage, concat(option, ": ", fault), std::string(option)};
}

Result<TypeRules::Rule> parse_rule(const std::string& entry) {
  constexpr std::string_view kOption = "--tensor-type-rules";
  const size_t equals = entry.find('=');
  if (equals == std::string::npos || equals == 0)
    return usage(kOption, concat("expected PATTERN=TYPE, found \"", entry, "\""));
  const std::string pattern = entry.substr(0, equals);
  const auto type = target_named(std::string_view(entry).substr(equals + 1));
  if (!type) return usage(kOption, concat("in \"", entry, "\": ", type.error().message));
  try {
    return TypeRules::Rule{pattern, std::regex(pattern), *type};
  } catch (const std::regex_error&) {
    return usage(kOption, concat("in \"", entry, "\": the pattern is no regular expression"));
  }
}

bool matches(const TypeRules::Rule& rule, std::string_view name) {
  const std::string_view part = name.substr(0, kNameLimit);
  try {
    return std::regex_search(part.begin(), part.end(), rule.regex);
  } catch (const std::regex_error&) {  // too much work for this name
    return false;
  }
}

bool has_form(const codec::Weight& weight, const codec::PlainForm& form) { return weight.codec == form.codec; }

// One scale for all rows and a scale for each are the same number format.
bool has_form(const codec::Weight& weight, const codec::ScaledForm& form) {
  return weight.codec->name == concat(form.codec->name, "_scaled") &&
         (weight.side->find("scale")->elements() > 1) == (form.per_row && weight.rows() > 1);
}

bool has_form(const codec::Weight& weight, const codec::SdnqForm& form) {
  return weight.codec->name == "sdnq" && weight.side->setting("type", -1) == codec::to_setting(form.type) &&
         weight.side->setting("codebook", 0) == 0 && weight.side->setting("rotation_cap", 0) == 0 &&
         (weight.side->find("svd_up") != nullptr) == (form.svd_rank > 0);
}

KeepReason reason_to_keep(std::string_view name, const Entry& entry, const TargetType& type) {
  const codec::Weight& weight = entry.weight;
  if (weight.codec == nullptr) return KeepReason::kNoWeight;
  if (weight.codec->name == "int8_scaled") return KeepReason::kInt8;
  if (is_never_converted(name)) return KeepReason::kName;
  if (std::visit([&](const auto& form) { return has_form(weight, form); }, type.form)) return KeepReason::kSameType;
  if (weight.shape_is_open()) return KeepReason::kOpenShape;
  if (type.is_float()) return KeepReason::kNone;
  if (weight.shape.rank() < 2) return KeepReason::kVector;
  const bool alone = std::holds_alternative<codec::PlainForm>(type.form);
  if (!alone && !name.ends_with(".weight")) return KeepReason::kNoLayer;
  return codec::stored_tensors(type.form, weight.shape).empty() ? KeepReason::kRowLength : KeepReason::kNone;
}

// The codec of a plain form, else null.
const codec::Codec* plain_codec(const codec::Form& form) {
  const auto* plain = std::get_if<codec::PlainForm>(&form);
  return plain ? plain->codec : nullptr;
}

}  // namespace

bool TargetType::is_f8() const {
  const codec::Codec* codec = plain_codec(form);
  return std::holds_alternative<codec::ScaledForm>(form) || (codec && codec->name.starts_with("f8_"));
}

bool TargetType::is_float() const {
  const codec::Codec* codec = plain_codec(form);
  return codec && (codec->name == "f32" || codec->name == "f16" || codec->name == "bf16");
}

Result<TargetType> target_named(std::string_view name) {
  if (const auto form = codec::find_form(name)) {
    const codec::Codec* plain = plain_codec(*form);
    return TargetType{plain ? std::string(plain->name) : lower_ascii(name), *form};
  }
  return Error{ErrorCode::kUsage,
               concat("expected one of ", join(codec::form_names(), ", "), ", found \"", name, "\"",
                      codec::find_codec(name) ? ", which is only read" : ""),
               {}};
}

std::string_view words_for(KeepReason reason) {
  switch (reason) {
    case KeepReason::kNone: return "converted";
    case KeepReason::kNoRule: return "no rule for them";
    case KeepReason::kSameType: return "of the type already";
    case KeepReason::kName: return "names never converted";
    case KeepReason::kVector: return "vectors";
    case KeepReason::kRowLength: return "rows not a whole number of blocks";
    case KeepReason::kInt8: return "INT8 with scales";
    case KeepReason::kOpenShape: return "shape not told by the file";
    case KeepReason::kNoLayer: return "not a layer's weight";
    case KeepReason::kNoWeight: return "not numbers of weights";
  }
  return "?";
}

bool is_never_converted(std::string_view name) {
  return std::ranges::any_of(kNeverEnding, [&](std::string_view end) { return name.ends_with(end); }) ||
         std::ranges::any_of(kNeverContaining, [&](std::string_view part) { return contains(name, part); });
}

Result<TypeRules> TypeRules::parse(std::string_view type, std::string_view rules) {
  TypeRules parsed;
  if (!type.empty()) {
    auto target = target_named(type);
    if (!target) return usage("--type", target.error().message);
    parsed.for_all_ = *std::move(target);
  }
  if (rules.empty()) return parsed;
  for (const std::string& entry : split(rules, ',')) {
    VENEER_TRY(rule, parse_rule(entry));
    parsed.rules_.push_back(std::move(rule));
  }
  return parsed;
}

TypeRules::Decision TypeRules::decide(std::string_view name, const Entry& entry) const {
  const auto rule = std::ranges::find_if(rules_, [&](const Rule& candidate) { return matches(candidate, name); });
  Decision decision;
  if (rule != rules_.end()) {
    decision.rule = static_cast<int>(rule - rules_.begin());
    decision.type = rule->type;
  } else if (for_all_) {
    decision.rule = kForAll;
    decision.type = *for_all_;
  } else {
    return decision;
  }
  decision.keep = reason_to_keep(name, entry, decision.type);
  return decision;
}

std::vector<TargetType> TypeRules::types() const {
  std::vector<TargetType> all;
  if (for_all_) all.push_back(*for_all_);
  for (const Rule& rule : rules_) all.push_back(rule.type);
  return all;
}

}  // namespace veneer::io
