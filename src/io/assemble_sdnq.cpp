// SDNQ layers: L is quantized exactly when L.scale is stored beside L.weight. Type and layout follow from the
// configuration and the shapes; the layer's shape from that of the scale, which has a one where the inputs are.
#include <algorithm>
#include <map>

#include "codec/sdnq_packing.h"
#include "core/format.h"
#include "io/assembly.h"
#include "io/sdnq_config.h"

namespace veneer::io {
namespace {

using codec::SdnqType;
using Kind = SdnqType::Kind;

// The names under which codes of a type may be stored.
std::vector<std::string_view> stored_names(const SdnqType& type) {
  switch (type.kind) {
    case Kind::kE4M3: return {"F8_E4M3"};
    case Kind::kE5M2: return {"F8_E5M2"};
    case Kind::kF16: return {"F16"};
    case Kind::kBf16: return {"BF16"};
    case Kind::kF32: return {"F32"};
    case Kind::kInteger:
    case Kind::kMinifloat: break;
  }
  if (type.bits == 1) return {"U8", "I64"};
  if (type.bits > 8) return {"I16", "U16"};
  const bool as_signed = type.is_integer() && !type.is_unsigned && type.bits == 8;
  return {as_signed ? "I8" : "U8"};
}

int word_bytes(std::string_view type_name) { return type_name == "I64" ? 8 : type_name.ends_with("16") ? 2 : 1; }

Status check_stored(const Assembly& assembly, const std::string& name, const Entry& entry, const SdnqType& type) {
  const std::vector<std::string_view> names = stored_names(type);
  if (std::ranges::find(names, entry.type_name) != names.end()) return {};
  return assembly.bad(name, concat("its configuration says codes of ", type.bits, " bits, expected ", names.front(),
                                   ", found ", entry.type_name));
}

// How many codes an entry holds; a count that is not whole is found by the codec.
int64_t code_count(const Entry& entry, const SdnqType& type) {
  if (!type.is_packed()) return entry.weight.elements();
  const codec::SdnqPacking packing = codec::sdnq_packing(type.bits);
  return entry.weight.elements() / packing.words * packing.codes;
}

void set_type(codec::SideParts& side, const SdnqType& type, const Entry& stored) {
  side.settings["type"] = codec::to_setting(type);
  side.settings["word_bytes"] = word_bytes(stored.type_name);
}

// The tensors of a scale or zero point: itself and, when it is quantized, its own scale and offset.
struct VectorNames {
  std::string_view own, scale, offset;
};
constexpr VectorNames kScale{".scale", ".scale_2", ".scale_zero_point"};
constexpr VectorNames kZeroPoint{".zero_point", ".zero_point_scale", ".zero_point_2"};

Result<codec::Weight> take_vector(Assembly& assembly, const std::string& layer, const VectorNames& names,
                                  const std::optional<SdnqType>& type, bool codebook) {
  const std::string name = concat(layer, names.own);
  if (!type) return assembly.take_numbers(name);
  VENEER_TRY(entry, assembly.take(name));
  VENEER_TRY_STATUS(check_stored(assembly, name, entry, *type));
  codec::SideParts side;
  VENEER_TRY(scale, assembly.take_numbers(concat(layer, names.scale)));
  side.tensors.emplace("scale", std::move(scale));
  if (const std::string offset = concat(layer, names.offset); assembly.find(offset)) {
    VENEER_TRY(zero, assembly.take_numbers(offset));
    side.tensors.emplace("zero_point", std::move(zero));
  }
  set_type(side, *type, entry);
  side.settings["codebook"] = codebook;
  codec::Weight weight = std::move(entry.weight);
  if (type->is_packed()) weight.shape = {code_count(entry, *type)};
  weight.codec = codec::find_codec("sdnq");
  weight.side = std::make_shared<codec::SideParts>(std::move(side));
  return weight;
}

struct ShapeGuess {
  Shape shape;
  bool certain = true;
};

// From a scale [rows, (groups,) 1, kernel...], or a codebook with its table in the place of the one.
std::optional<Shape> shape_from_scale(const Shape& scale, int64_t codes, int64_t entries) {
  if (scale.rank() < 2) return std::nullopt;
  const bool column_scales = entries == 1 && scale.rank() > 2 && scale[0] == 1 && scale[1] > 1 && scale[2] != 1;
  size_t axis = column_scales ? 0 : 1;
  if (!column_scales && scale.rank() > 2 && scale[2] == entries && scale[1] != 1)
    if (entries == 1 || scale[1] != entries || scale.rank() % 2 == 1) axis = 2;
  if (scale[axis] != entries) return std::nullopt;
  int64_t others = column_scales ? 1 : scale[0];
  std::vector<int64_t> sizes;
  if (!column_scales) sizes.push_back(scale[0]);
  sizes.push_back(0);
  const size_t inputs_at = sizes.size() - 1;
  for (size_t i = axis + 1; i < scale.rank(); ++i) {
    sizes.push_back(scale[i]);
    others *= scale[i];
  }
  if (others <= 0 || codes % others != 0) return std::nullopt;
  sizes[inputs_at] = codes / others;
  return Shape(std::span<const int64_t>(sizes));
}

// [rows, groups, inputs of a group, kernel...] joined to [rows, inputs, kernel...].
Shape joined_groups(const Shape& stored) {
  if (stored.rank() != 3 && stored.rank() != 5) return stored;
  std::vector<int64_t> sizes(stored.begin(), stored.end());
  sizes[1] *= sizes[2];
  sizes.erase(sizes.begin() + 2);
  return Shape(std::span<const int64_t>(sizes));
}

ShapeGuess guess_shape(const Entry& stored, const SdnqLayerConfig& config, const codec::SideParts& side) {
  const Shape& own = stored.weight.shape;
  const Shape& scale = side.find("scale")->shape;
  const int64_t codes = code_count(stored, config.weights);
  const int64_t entries = config.codebook ? int64_t{1} << config.weights.bits : 1;
  const bool matrix = !config.weights.is_packed() && own.rank() == 2;
  // Stored for the quantized product. A convolution's kernel is not told.
  if (matrix && entries == 1 && scale.rank() == 2 && scale[0] == 1 && scale[1] > 1 && scale[1] == own[1])
    return {{own[1], own[0]}, false};
  const bool one_for_all = scale.elements() == entries;
  const auto whole = [](int64_t size) { return size >= 32 && size % 16 == 0; };
  if (one_for_all && matrix && config.product_linear && config.product_weight && whole(own[0]) && whole(own[1]))
    return {{own[1], own[0]}, false};
  if (!one_for_all)
    if (const auto shape = shape_from_scale(scale, codes, entries)) return {*shape, true};
  if (!config.weights.is_packed()) return {one_for_all ? own : joined_groups(own), false};
  const codec::Weight* up = side.find("svd_up");
  const codec::Weight* down = side.find("svd_down");
  if (up && down && up->shape.rank() == 2 && down->shape.rank() == 2) {
    const Shape plain{up->shape[0], down->shape[1]}, turned{up->shape[1], down->shape[0]};
    return {plain.elements() == codes ? plain : turned, false};
  }
  return {{codes}, false};
}

Status join(Assembly& assembly, const std::string& layer, const SdnqLayerConfig& config) {
  const std::string name = layer + ".weight";
  VENEER_TRY(stored, assembly.take(name));
  VENEER_TRY_STATUS(check_stored(assembly, name, stored, config.weights));
  codec::SideParts side;
  VENEER_TRY(scale, take_vector(assembly, layer, kScale, config.scale, config.scale_codebook));
  side.tensors.emplace("scale", std::move(scale));
  if (assembly.find(layer + ".zero_point")) {
    VENEER_TRY(zero, take_vector(assembly, layer, kZeroPoint, config.zero_point, config.scale_codebook));
    side.tensors.emplace("zero_point", std::move(zero));
  } else if (config.weights.is_unsigned && !config.codebook) {
    return assembly.bad(name, "has codes without a sign but no zero_point beside them");
  }
  for (const std::string key : {"svd_up", "svd_down"})
    if (const std::string tensor = concat(layer, ".", key); assembly.find(tensor)) {
      VENEER_TRY(factor, assembly.take_numbers(tensor));
      side.tensors.emplace(key, std::move(factor));
    }
  set_type(side, config.weights, stored);
  side.settings["codebook"] = config.codebook;
  side.settings["rotation_cap"] = config.rotation_cap;
  side.settings["product_linear"] = config.product_linear;
  side.settings["product_conv"] = config.product_conv;
  side.settings["product_weight"] = config.product_weight;
  if (!config.weights.is_packed() && stored.weight.shape.rank() == 2)
    side.settings["stored_rows"] = stored.weight.shape[0];
  const ShapeGuess guess = guess_shape(stored, config, side);
  side.settings["open_shape"] = !guess.certain;
  return assembly.put(name, std::move(stored), "sdnq", guess.shape, std::move(side));
}

// Versions before 0.2.0 rotated by another matrix; the present library, like this program, undoes its own.
bool is_old_version(std::string_view version) { return version.starts_with("0.1.") || version.starts_with("0.0."); }

// The reference's encoder takes 2^bits for the largest code of these.
bool is_damaged_by_encoder(const SdnqType& type) {
  return type.is_integer() && type.is_unsigned && type.bits >= 9 && type.bits <= 15;
}

Status assemble(Assembly& assembly) {
  if (!assembly.config().is_object()) return {};
  VENEER_TRY(method, json_string(assembly.config(), "quant_method", "", assembly.source()));
  if (method != "sdnq") return {};
  int64_t damaged = 0, rotated = 0;
  for (const std::string& layer : assembly.names_before(".scale")) {
    if (!assembly.find(layer + ".weight")) continue;  // a norm's own tensor
    VENEER_TRY(config, sdnq_layer_config(assembly.config(), layer + ".weight", assembly.source()));
    damaged += is_damaged_by_encoder(config.weights);
    rotated += config.rotation_cap > 0;
    VENEER_TRY_STATUS(join(assembly, layer, config));
  }
  VENEER_TRY(version, json_string(assembly.config(), "sdnq_version", "", assembly.source()));
  if (damaged > 0)
    assembly.warn(concat(damaged,
                         " weights are of an integer type of 9 to 15 bits without a sign, whose largest values "
                         "SDNQ's encoder damages; they are decoded as stored"));
  if (rotated > 0 && is_old_version(version))
    assembly.warn(
        concat(rotated, " weights were rotated by SDNQ ", version.substr(0, 16),
               ", whose matrix may differ from the present one; quantize the model again if pictures are wrong"));
  return {};
}

}  // namespace

extern const QuantScheme kSdnqScheme{"sdnq", assemble};

}  // namespace veneer::io
