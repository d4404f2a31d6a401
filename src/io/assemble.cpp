// Order of the schemes, and what must be true before and after them.
#include "io/assemble.h"

#include <algorithm>

#include "core/format.h"
#include "io/assembly.h"
#include "io/printable.h"

namespace veneer::io {

extern const QuantScheme kSdnqScheme, kRecordScheme, kScaledFp8Scheme, kBnbScheme;

namespace {

// In this order: a record says more of a layer than the names of its tensors do.
constexpr const QuantScheme* kSchemes[] = {&kSdnqScheme, &kRecordScheme, &kScaledFp8Scheme, &kBnbScheme};

struct NameMeaning {
  std::string_view name;  // the last dotted part
  std::string_view meaning;
};

// Tensors of schemes that are not read.
constexpr NameMeaning kRefused[] = {
    {"SCB", "bitsandbytes INT8"},
    {"_data", "quanto"},
    {"qweight", "GPTQ, AWQ or SVDQuant"},
    {"wscales", "SVDQuant"},
    {"pre_quant_scale", "smoothing of a layer's inputs"},
};

// Tensors that only mean something beside their weight.
constexpr std::string_view kSides[] = {"scale_weight", "weight_scale",     "weight_scale_2",   "scale_input",
                                       "input_scale",  "comfy_quant",      "svd_up",           "svd_down",
                                       "scale_2",      "scale_zero_point", "zero_point_scale", "zero_point_2",
                                       "zero_point",   "absmax",           "quant_map",        "nested_absmax"};

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

Status check_method(const Assembly& assembly) {
  if (!assembly.config().is_object()) return {};
  VENEER_TRY(method, json_string(assembly.config(), "quant_method", "", assembly.source()));
  if (method.empty() || method == kSdnqScheme.name || method == kBnbScheme.name) return {};
  return Error{ErrorCode::kUnsupported,
               concat(assembly.source(), ": the quantization method ", printable(method),
                      " is not supported, expected sdnq or bitsandbytes (4 bits); use another file of this model"),
               assembly.source()};
}

Status check_refused(const Assembly& assembly) {
  for (const auto& [name, entry] : assembly.entries()) {
    const auto refused = std::ranges::find(kRefused, last_part(name), &NameMeaning::name);
    if (refused != std::end(kRefused)) return assembly.unsupported(name, std::string(refused->meaning));
  }
  return {};
}

// Markers say how products were meant to be calculated, input scales are for products of 8-bit inputs. Weights are
// decoded here, so neither changes a number.
void drop_needless(Assembly& assembly) {
  std::vector<std::string> markers;
  for (const auto& [name, entry] : assembly.entries())
    if (last_part(name) == "scaled_fp8") markers.push_back(name);
  for (const std::string& marker : markers) assembly.drop(marker);
  int64_t dropped = 0;
  for (const std::string suffix : {".scale_input", ".input_scale"})
    for (const std::string& layer : assembly.names_before(suffix)) {
      if (!assembly.find(layer + ".weight")) continue;
      assembly.drop(layer + suffix);
      ++dropped;
    }
  if (dropped > 0)
    assembly.warn(concat(dropped, dropped == 1 ? " input scale is" : " input scales are",
                         " not used: products take decoded weights and unrounded inputs"));
}

Status check_leftovers(const Assembly& assembly) {
  for (const auto& [name, entry] : assembly.entries())
    if (std::ranges::find(kSides, last_part(name)) != std::end(kSides))
      return assembly.bad(name,
                          "belongs to no weight, so a layer would be decoded wrongly; the file is incomplete or "
                          "renamed, download it again");
  return {};
}

}  // namespace

Result<Assembled> assemble_quantized(const WeightStore& store, const Json& config, std::string_view source) {
  Assembly assembly(store, config, source);
  VENEER_TRY_STATUS(check_method(assembly));
  VENEER_TRY_STATUS(check_refused(assembly));
  for (const QuantScheme* scheme : kSchemes) VENEER_TRY_STATUS(scheme->assemble(assembly));
  drop_needless(assembly);
  VENEER_TRY_STATUS(check_leftovers(assembly));
  auto warnings = std::move(assembly).warnings();
  return Assembled{std::move(assembly).store(), std::move(warnings)};
}

}  // namespace veneer::io
