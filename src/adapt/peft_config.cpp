// Reading PEFT configurations.
#include "adapt/peft_config.h"

#include <algorithm>

#include "core/format.h"
#include "io/printable.h"

namespace veneer::adapt {
namespace {

constexpr size_t kPatternLimit = 200;    // bytes
constexpr size_t kExpressionLimit = 64;  // of a file

// Patterns and names come from the same file, so matching must not cost more than their lengths multiplied: this mode
// of the library keeps a set of states and never goes back. (The default one takes time without limit, and stack by the
// length of the name.)
constexpr auto kLinearTime = std::regex::ECMAScript | std::regex_constants::__polynomial;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// A counted repetition is written out before it is matched; no configuration needs one.
bool is_costly(std::string_view pattern) {
  return pattern.size() > kPatternLimit || pattern.find('{') != std::string_view::npos;
}

// "(.*\\.)?(PATTERN)". Errors by exception, as std::regex has them.
std::regex at_the_end(const std::string& pattern) {
  std::regex alone(pattern, kLinearTime);  // a pattern that is one by itself, without the brackets around it
  return std::regex(concat("(?:.*\\.)?(?:", pattern, ")"), kLinearTime);
}

// The same for a pattern of word characters and dots, where a dot stands for any character.
bool is_at_the_end(std::string_view pattern, std::string_view text) {
  if (pattern.size() > text.size()) return false;
  const size_t before = text.size() - pattern.size();
  return (before == 0 || text[before - 1] == '.') &&
         std::ranges::equal(pattern, text.substr(before), [](char p, char t) { return p == '.' || p == t; });
}

bool changes_the_base(std::string_view initialisation) {
  return initialisation.starts_with("pissa") || initialisation == "olora" || initialisation == "corda" ||
         initialisation == "loftq";
}

Status check_supported(const Json& object, std::string_view place) {
  VENEER_TRY(transposed, json_bool(object, "fan_in_fan_out", false, place));
  if (transposed)
    return Error{ErrorCode::kUnsupported,
                 concat(place, ": fan_in_fan_out is true, which is for layers that store their weight transposed; ",
                        "image models have none"),
                 std::string(place)};
  const auto initialisation = object.find("init_lora_weights");
  if (initialisation != object.end() && initialisation->is_string() &&
      changes_the_base(lower_ascii(initialisation->get<std::string>())))
    return Error{ErrorCode::kUnsupported,
                 concat(place, ": init_lora_weights is \"", io::printable(initialisation->get<std::string>()),
                        "\": this adapter was trained on a changed base model; save it converted to plain LoRA"),
                 std::string(place)};
  return {};
}

}  // namespace

Result<ModulePatterns> ModulePatterns::parse(const Json& config, const char* name, std::string_view place) {
  const auto error = [&](ErrorCode code, std::string_view problem) {
    return Error{code, concat(place, ": ", name, ": ", problem), std::string(place)};
  };
  ModulePatterns out;
  size_t expressions = 0;
  const auto object = config.find(name);
  if (object == config.end() || object->is_null()) return out;
  if (!object->is_object()) return error(ErrorCode::kBadFile, "expected an object");
  for (const auto& [text, value] : object->items()) {
    const std::string shown = concat("\"", io::printable(text), "\" ");
    if (!value.is_number()) return error(ErrorCode::kBadFile, shown + "has a value that is no number");
    Pattern pattern{text, std::nullopt, value.get<double>()};
    if (!std::ranges::all_of(text, is_word)) {
      if (++expressions > kExpressionLimit)
        return error(ErrorCode::kUnsupported, concat("more than ", kExpressionLimit, " regular expressions"));
      if (is_costly(text)) return error(ErrorCode::kUnsupported, shown + "is too complicated to match");
      try {
        pattern.expression = at_the_end(text);
      } catch (const std::regex_error&) {
        return error(ErrorCode::kBadFile, shown + "is no regular expression");
      }
    }
    out.patterns_.push_back(std::move(pattern));
  }
  return out;
}

std::optional<double> ModulePatterns::find(std::string_view module) const {
  for (const Pattern& pattern : patterns_)
    if (pattern.text == module) return pattern.value;
  for (const Pattern& pattern : patterns_) {
    const bool matched = pattern.expression ? std::regex_match(module.begin(), module.end(), *pattern.expression)
                                            : is_at_the_end(pattern.text, module);
    if (matched) return pattern.value;
  }
  return std::nullopt;
}

Result<PeftConfigs> PeftConfigs::parse(std::string_view text, std::string_view place) {
  VENEER_TRY(json, parse_json(text, place));
  if (!json.is_object())
    return Error{ErrorCode::kBadFile, concat(place, ": the configuration is no JSON object"), std::string(place)};
  std::map<std::string, Json> components;
  for (const auto& [key, value] : json.items()) {
    const size_t dot = key.find('.');
    const bool bare = dot == std::string::npos;
    components[bare ? "" : key.substr(0, dot)][bare ? key : key.substr(dot + 1)] = value;
  }
  PeftConfigs configs;
  for (const auto& [component, object] : components) {
    VENEER_TRY(config, parse_one(object, place));
    configs.by_component_.emplace(component, std::move(config));
  }
  return configs;
}

Result<PeftConfigs::Config> PeftConfigs::parse_one(const Json& object, std::string_view place) {
  VENEER_TRY_STATUS(check_supported(object, place));
  Config config;
  GroupSettings& settings = config.common;
  settings.is_peft = true;
  // LoRA has "lora_alpha"; LoHa and LoKr have "alpha".
  for (const char* key : {"alpha", "lora_alpha"}) {
    if (!object.contains(key)) continue;
    VENEER_TRY(alpha, json_number(object, key, 0, place));
    settings.alpha = alpha;
  }
  VENEER_TRY(rank_stabilised, json_bool(object, "use_rslora", false, place));
  settings.rank_stabilised = rank_stabilised;
  VENEER_TRY(series, json_bool(object, "use_cayley_neumann", settings.cayley_neumann, place));
  settings.cayley_neumann = series;
  VENEER_TRY(terms, json_integer(object, "num_cayley_neumann_terms", settings.cayley_neumann_terms, place));
  if (terms < 1 || terms > 100)
    return Error{ErrorCode::kBadFile, concat(place, ": num_cayley_neumann_terms is ", terms, ", expected 1 to 100"),
                 std::string(place)};
  settings.cayley_neumann_terms = static_cast<int>(terms);
  VENEER_TRY(shared, json_bool(object, "block_share", false, place));
  settings.block_share = shared;
  VENEER_TRY(alphas, ModulePatterns::parse(object, "alpha_pattern", place));
  config.alphas = std::move(alphas);
  VENEER_TRY(rank, json_integer(object, "r", 0, place));
  if (rank > 0) settings.rank = rank;  // OFT says 0 when the size of its blocks is given instead
  VENEER_TRY(ranks, ModulePatterns::parse(object, "rank_pattern", place));
  config.ranks = std::move(ranks);
  return config;
}

const PeftConfigs::Config* PeftConfigs::find(std::string_view prefix) const {
  if (by_component_.empty()) return nullptr;
  const std::string_view component = prefix.substr(0, prefix.find('.'));
  if (const auto own = by_component_.find(component); own != by_component_.end()) return &own->second;
  if (const auto common = by_component_.find(""); common != by_component_.end()) return &common->second;
  // Keys without a prefix in a file about one component.
  return prefix.empty() && by_component_.size() == 1 ? &by_component_.begin()->second : nullptr;
}

GroupSettings PeftConfigs::settings(std::string_view prefix, std::string_view module) const {
  const Config* config = find(prefix);
  if (!config) return {};
  GroupSettings settings = config->common;
  if (const auto alpha = config->alphas.find(module)) settings.alpha = alpha;
  if (const auto rank = config->ranks.find(module)) settings.rank = static_cast<int64_t>(*rank);
  return settings;
}

}  // namespace veneer::adapt
