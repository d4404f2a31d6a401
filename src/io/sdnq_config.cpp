// Reading of SDNQ's configuration, layer by layer.
#include "io/sdnq_config.h"

#include <algorithm>

#include "core/format.h"

namespace veneer::io {
namespace {

using codec::SdnqType;

// True when `text` begins with something that `pattern` describes; "*" stands for any run of characters.
bool glob_prefix(std::string_view text, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text.starts_with(pattern);
  if (!text.starts_with(pattern.substr(0, star))) return false;
  // Between stars the first place that fits leaves most for the rest, so nothing has to be tried twice.
  text.remove_prefix(star);
  pattern.remove_prefix(star);
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::string_view piece = pattern.substr(0, pattern.find('*'));
    const size_t found = text.find(piece);
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + piece.size());
    pattern.remove_prefix(piece.size());
  }
  return true;
}

Error wrong_type(std::string_view source, std::string_view key, std::string_view expected) {
  return {ErrorCode::kBadFile,
          concat(source, ": quantization_config: ", key, ": expected ", expected,
                 "; the file is damaged, download it again"),
          std::string(source)};
}

// A list of patterns; absent and null are empty.
Result<bool> any_matches(const Json& list, const std::string& parameter, std::string_view key,
                         std::string_view source) {
  if (list.is_null()) return false;
  if (!list.is_array()) return wrong_type(source, key, "a list of patterns");
  for (const Json& pattern : list) {
    if (!pattern.is_string()) return wrong_type(source, key, "a list of patterns");
    if (sdnq_matches(parameter, pattern.get_ref<const std::string&>())) return true;
  }
  return false;
}

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

Result<SdnqType> type_named(std::string_view name, std::string_view source) {
  if (const auto type = codec::parse_sdnq_type(name)) return *type;
  return Error{ErrorCode::kUnsupported,
               concat(source, ": quantization_config: the number type \"", name.substr(0, 64),
                      "\" is unknown, expected one such as int8, uint4, float8_e4m3fn or float6_e3m2fn"),
               std::string(source)};
}

// Empty for null, "" and "none".
Result<std::optional<SdnqType>> optional_type(const Json& config, const char* key, std::string_view source) {
  VENEER_TRY(name, json_string(config, key, "", source));
  if (name.empty() || name == "none") return std::optional<SdnqType>();
  VENEER_TRY(type, type_named(name, source));
  return std::optional<SdnqType>(type);
}

// The number type that a key of modules_dtype_dict stands for, given the one that is configured: a type's name, or a
// smallest number of bits ("minimum_6bit", "6bit", "uint4bits") that leaves wider types as they are.
Result<SdnqType> type_of_key(std::string_view key, const SdnqType& configured, std::string_view source) {
  constexpr std::string_view kMinimum = "minimum";
  std::string_view text = key;
  bool minimum = text.starts_with(kMinimum);
  if (minimum) text.remove_prefix(kMinimum.size());
  if (text.starts_with('_')) text.remove_prefix(1);
  for (const std::string_view end : {"bits", "bit"})
    if (text.ends_with(end)) {
      text.remove_suffix(end.size());
      minimum = true;
    }
  if (text.ends_with('_')) text.remove_suffix(1);
  if (!minimum) return type_named(key, source);
  const bool is_unsigned = text.starts_with("uint");
  if (const size_t digits = text.find_first_of("0123456789"); digits != std::string_view::npos)
    text.remove_prefix(digits);
  int64_t bits = 0;
  if (!parse_number(text, bits)) return type_named(key, source);
  if (configured.bits >= bits) return configured;
  return type_named(concat(is_unsigned || bits <= 4 ? "uint" : "int", bits), source);
}

// `config` with the first matching entry of modules_quant_config laid over it.
Result<Json> with_overrides(const Json& config, const std::string& parameter, std::string_view source) {
  const Json& overrides = member(config, "modules_quant_config");
  if (overrides.is_null()) return config;
  if (!overrides.is_object()) return wrong_type(source, "modules_quant_config", "an object");
  for (const auto& [pattern, fields] : overrides.items()) {
    if (!sdnq_matches(parameter, pattern)) continue;
    if (!fields.is_object()) return wrong_type(source, "modules_quant_config", "an object of objects");
    Json merged = config;
    for (const auto& [key, value] : fields.items()) merged[key] = value;
    return merged;
  }
  return config;
}

Result<SdnqType> weights_type(const Json& config, const std::string& parameter, std::string_view source) {
  VENEER_TRY(name, json_string(config, "weights_dtype", "int8", source));
  VENEER_TRY(configured, type_named(name, source));
  const Json& types = member(config, "modules_dtype_dict");
  if (types.is_null()) return configured;
  if (!types.is_object()) return wrong_type(source, "modules_dtype_dict", "an object");
  for (const auto& [key, patterns] : types.items()) {
    VENEER_TRY(matches, any_matches(patterns, parameter, "modules_dtype_dict", source));
    if (matches) return type_of_key(key, configured, source);
  }
  return configured;
}

// What the quantized product multiplies when the configuration does not say.
SdnqType default_product(const SdnqType& weights) {
  using Kind = SdnqType::Kind;
  if (weights.is_integer()) return {Kind::kInteger, weights.is_unsigned && weights.bits == 8, 8, 0, 0};
  if (weights.bits < 16) return {Kind::kE4M3, false, 8, 4, 3};
  return {Kind::kF16, false, 16, 5, 10};
}

Status read_product(const Json& config, const std::string& parameter, std::string_view source, SdnqLayerConfig& layer) {
  VENEER_TRY(excluded,
             any_matches(member(config, "modules_to_not_use_matmul"), parameter, "modules_to_not_use_matmul", source));
  VENEER_TRY(linear, json_bool(config, "use_quantized_matmul", false, source));
  VENEER_TRY(conv, json_bool(config, "use_quantized_matmul_conv", false, source));
  VENEER_TRY(named, optional_type(config, "quantized_matmul_dtype", source));
  const SdnqType product = named.value_or(default_product(layer.weights));
  layer.product_linear = linear && !excluded;
  layer.product_conv = conv && !excluded;
  layer.product_weight = !layer.scale && !layer.codebook && !layer.weights.is_packed() &&
                         layer.weights.kind != SdnqType::Kind::kMinifloat &&
                         layer.weights.is_integer() == product.is_integer() && layer.weights.bits <= product.bits;
  return {};
}

}  // namespace

bool sdnq_matches(std::string_view parameter, std::string_view pattern) {
  if (pattern == parameter) return true;
  if (pattern.starts_with('.') && parameter.starts_with(pattern.substr(1))) return true;
  if (contains(pattern, "*")) return glob_prefix(parameter, pattern);
  const std::vector<std::string> parts = split(parameter, '.');
  return std::find(parts.begin(), parts.end(), pattern) != parts.end();
}

Result<SdnqLayerConfig> sdnq_layer_config(const Json& common, const std::string& parameter, std::string_view source) {
  VENEER_TRY(config, with_overrides(common, parameter, source));
  SdnqLayerConfig layer;
  VENEER_TRY(weights, weights_type(config, parameter, source));
  VENEER_TRY(scale, optional_type(config, "scale_dtype", source));
  VENEER_TRY(zero_point, optional_type(config, "zero_point_dtype", source));
  VENEER_TRY(codebook, json_bool(config, "use_codebook", false, source));
  VENEER_TRY(scale_codebook, json_bool(config, "use_codebook_scale", false, source));
  VENEER_TRY(rotated, json_bool(config, "use_hadamard", false, source));
  VENEER_TRY(cap, json_integer(config, "hadamard_group_size", 256, source));
  if (rotated && (cap < 1 || cap > (1 << 20)))
    return wrong_type(source, "hadamard_group_size", concat("a number from 1 to ", 1 << 20));
  layer.weights = weights;
  layer.scale = scale;
  layer.zero_point = zero_point ? zero_point : scale;
  layer.codebook = codebook;
  layer.scale_codebook = scale_codebook;
  layer.rotation_cap = rotated ? cap : 0;
  VENEER_TRY_STATUS(read_product(config, parameter, source, layer));
  return layer;
}

}  // namespace veneer::io
