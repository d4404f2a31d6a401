// Layers whose scheme is written down: JSON in a tensor L.comfy_quant, or for all layers in the header's metadata as
// {"format_version", "layers": {"L": {"format", ...}}}. A field stands at the top of a layer's record or under
// "params".
#include <algorithm>
#include <map>

#include "core/format.h"
#include "io/assembly.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr std::string_view kSuffix = ".comfy_quant";
constexpr const char* kMetadataKey = "_quantization_metadata";
constexpr std::string_view kModelPrefix = "model.diffusion_model.";  // that names in the metadata may lack
constexpr int64_t kRotationGroup = 256;                              // when a record does not give it

using Records = std::map<std::string, Json>;  // by layer

// The object in which a field of a record stands; `record` when it has none.
const Json& holder(const Json& record, const char* key) {
  if (record.contains(key)) return record;
  const auto params = record.find("params");
  return params != record.end() && params->is_object() ? *params : record;
}

Status check_type(const Assembly& assembly, const std::string& layer, std::string_view format,
                  std::string_view expected) {
  const Entry* weight = assembly.find(layer + ".weight");
  if (weight->type_name == expected) return {};
  return assembly.bad(layer + ".weight",
                      concat("its record says ", format, ", expected ", expected, ", found ", weight->type_name));
}

Status join_e4m3(Assembly& assembly, const std::string& layer, const Json&) {
  VENEER_TRY_STATUS(check_type(assembly, layer, "float8_e4m3fn", "F8_E4M3"));
  return join_scaled(assembly, layer, 0);
}

Status join_e5m2(Assembly& assembly, const std::string& layer, const Json&) {
  VENEER_TRY_STATUS(check_type(assembly, layer, "float8_e5m2", "F8_E5M2"));
  return join_scaled(assembly, layer, 0);
}

Status join_int8(Assembly& assembly, const std::string& layer, const Json& record) {
  VENEER_TRY_STATUS(check_type(assembly, layer, "int8_tensorwise", "I8"));
  const std::string place = concat(assembly.source(), ": record of ", printable(layer));
  VENEER_TRY(rotated, json_bool(holder(record, "convrot"), "convrot", false, place));
  if (!rotated) return join_scaled(assembly, layer, 0);
  constexpr const char* kGroup = "convrot_groupsize";
  VENEER_TRY(group, json_integer(holder(record, kGroup), kGroup, kRotationGroup, place));
  constexpr int64_t kPowersOfFour[] = {4, 16, 64, 256, 1024, 4096};
  if (std::ranges::find(kPowersOfFour, group) == std::end(kPowersOfFour))
    return assembly.unsupported(layer + ".weight", concat("a rotation in groups of ", group));
  return join_scaled(assembly, layer, group);
}

Status join_mxfp8(Assembly& assembly, const std::string& layer, const Json&) {
  VENEER_TRY_STATUS(check_type(assembly, layer, "mxfp8", "F8_E4M3"));
  VENEER_TRY(stored, assembly.take(layer + ".weight"));
  VENEER_TRY(block_scale, assembly.take(layer + ".weight_scale"));
  const Shape shape = stored.weight.shape;
  if (shape.rank() != 2) return assembly.bad(layer + ".weight", concat("expected a matrix, found ", shape.to_string()));
  codec::SideParts side;
  side.tensors.emplace("block_scale", std::move(block_scale.weight));
  side.settings = {{"stored_rows", shape[0]}, {"stored_columns", shape[1]}, {"tiled", 1}, {"open_shape", 1}};
  return assembly.put(layer + ".weight", std::move(stored), "mxfp8", shape, std::move(side));
}

Status join_recorded_nvfp4(Assembly& assembly, const std::string& layer, const Json&) {
  VENEER_TRY_STATUS(check_type(assembly, layer, "nvfp4", "U8"));
  return join_nvfp4(assembly, layer, true);
}

struct Format {
  std::string_view name;
  Status (*join)(Assembly& assembly, const std::string& layer, const Json& record);
};

constexpr Format kFormats[] = {
    {"float8_e4m3fn", join_e4m3}, {"float8_e5m2", join_e5m2},     {"int8_tensorwise", join_int8},
    {"mxfp8", join_mxfp8},        {"nvfp4", join_recorded_nvfp4},
};

Result<Records> records_in_metadata(Assembly& assembly) {
  Records records;
  const auto text = assembly.metadata().find(kMetadataKey);
  if (text == assembly.metadata().end()) return records;
  const std::string place = concat(assembly.source(), ": metadata ", kMetadataKey);
  VENEER_TRY(json, parse_json(text->second, place));
  const auto layers = json.is_object() ? json.find("layers") : json.end();
  if (layers == json.end() || !layers->is_object())
    return Error{ErrorCode::kBadFile, concat(place, ": expected an object with \"layers\""), assembly.source()};
  for (const auto& [name, record] : layers->items()) {
    const std::string prefixed = concat(kModelPrefix, name);
    if (assembly.find(name + ".weight"))
      records.emplace(name, record);
    else if (assembly.find(prefixed + ".weight"))
      records.emplace(prefixed, record);
    else
      assembly.warn(concat("metadata ", kMetadataKey, " names a layer that is not there, ", printable(name)));
  }
  return records;
}

// What a tensor says of its layer goes before what the metadata say.
Status add_records_in_tensors(Assembly& assembly, Records& records) {
  for (const std::string& layer : assembly.names_before(kSuffix)) {
    if (!assembly.find(layer + ".weight")) continue;  // reported as left over
    const std::string name = concat(layer, kSuffix);
    VENEER_TRY(entry, assembly.take(name));
    const auto& bytes = entry.weight.bytes;
    VENEER_TRY(record, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                  concat(assembly.source(), ": tensor ", printable(name))));
    records[layer] = std::move(record);
  }
  return {};
}

Status join_recorded(Assembly& assembly, const std::string& layer, const Json& record) {
  if (!record.is_object()) return assembly.bad(layer + ".weight", "its quantization record is no object");
  VENEER_TRY(format, json_string(holder(record, "format"), "format", "",
                                 concat(assembly.source(), ": record of ", printable(layer))));
  const auto known = std::ranges::find(kFormats, format, &Format::name);
  if (known != std::end(kFormats)) return known->join(assembly, layer, record);
  return assembly.unsupported(layer + ".weight", concat("the quantization format \"", printable(format), "\""));
}

Status assemble(Assembly& assembly) {
  VENEER_TRY(records, records_in_metadata(assembly));
  VENEER_TRY_STATUS(add_records_in_tensors(assembly, records));
  for (const auto& [layer, record] : records) VENEER_TRY_STATUS(join_recorded(assembly, layer, record));
  return {};
}

}  // namespace

extern const QuantScheme kRecordScheme{"records", assemble};

}  // namespace veneer::io
