// Weights with scales that are known by their tensors' names alone: F8 with L.weight_scale (L.scale_weight in older
// files), one value or one a row; and 4-bit floats with plain rows of block scales beside L.weight_scale_2.
#include "core/format.h"
#include "io/assembly.h"

namespace veneer::io {
namespace {

Status assemble(Assembly& assembly) {
  for (const std::string suffix : {".weight_scale", ".scale_weight"})
    for (const std::string& layer : assembly.names_before(suffix)) {
      const Entry* weight = assembly.find(layer + ".weight");
      if (!weight) continue;  // reported as left over
      if (weight->type_name == "U8" && assembly.find(layer + ".weight_scale_2")) {
        VENEER_TRY_STATUS(join_nvfp4(assembly, layer, false));
      } else if (weight->type_name == "I8") {
        return assembly.unsupported(layer + ".weight", "INT8 with a scale but without a record of its scheme");
      } else {
        VENEER_TRY_STATUS(join_scaled(assembly, layer, 0));
      }
    }
  return {};
}

std::string_view codec_for(std::string_view type_name) {
  if (type_name == "F8_E4M3") return "f8_e4m3_scaled";
  if (type_name == "F8_E5M2") return "f8_e5m2_scaled";
  if (type_name == "I8") return "int8_scaled";
  return {};
}

}  // namespace

Status join_scaled(Assembly& assembly, const std::string& layer, int64_t rotation) {
  const std::string name = layer + ".weight";
  VENEER_TRY(stored, assembly.take(name));
  const std::string_view codec = codec_for(stored.type_name);
  if (codec.empty())
    return assembly.bad(name, concat("has a scale, expected F8_E4M3, F8_E5M2 or I8, found ", stored.type_name));
  const std::string old_name = layer + ".scale_weight";
  VENEER_TRY(scale, assembly.take_numbers(assembly.find(old_name) ? old_name : layer + ".weight_scale"));
  codec::SideParts side;
  side.tensors.emplace("scale", std::move(scale));
  side.settings["rotation"] = rotation;
  const Shape shape = stored.weight.shape;
  return assembly.put(name, std::move(stored), codec, shape, std::move(side));
}

Status join_nvfp4(Assembly& assembly, const std::string& layer, bool tiled) {
  const std::string name = layer + ".weight";
  VENEER_TRY(stored, assembly.take(name));
  VENEER_TRY(block_scale, assembly.take(layer + ".weight_scale"));
  VENEER_TRY(scale, assembly.take_numbers(layer + ".weight_scale_2"));
  const Shape& packed = stored.weight.shape;
  if (stored.type_name != "U8" || packed.rank() != 2)
    return assembly.bad(
        name, concat("expected a U8 matrix of nvfp4 codes, found ", stored.type_name, " ", packed.to_string()));
  const Shape shape{packed[0], packed[1] * 2};
  codec::SideParts side;
  side.tensors.emplace("block_scale", std::move(block_scale.weight));
  side.tensors.emplace("scale", std::move(scale));
  side.settings = {{"stored_rows", shape[0]}, {"stored_columns", shape[1]}, {"tiled", tiled}, {"open_shape", tiled}};
  return assembly.put(name, std::move(stored), "nvfp4_scaled", shape, std::move(side));
}

extern const QuantScheme kScaledFp8Scheme{"scaled_fp8", assemble};

}  // namespace veneer::io
