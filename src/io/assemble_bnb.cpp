// 4-bit weights of bitsandbytes: a tensor W (U8) with W.absmax, W.quant_map and W.quant_state.bitsandbytes__nf4 or
// __fp4, a JSON text with the shape; with double quantization also W.nested_absmax and W.nested_quant_map.
#include "core/format.h"
#include "io/assembly.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

struct Kind {
  std::string_view suffix;
  std::string_view quant_type;
  std::string_view codec;
};
constexpr Kind kKinds[] = {{".quant_state.bitsandbytes__nf4", "nf4", "bnb_nf4"},
                           {".quant_state.bitsandbytes__fp4", "fp4", "bnb_fp4"}};

// The shape in a state, of one to four sizes that can be multiplied without overflow.
Result<Shape> shape_in(const Assembly& assembly, const std::string& name, const Json& state) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  const auto list = state.find("shape");
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  if (list != state.end() && list->is_array())
    for (const Json& size : *list) {
      const int64_t value = size.is_number_integer() ? size.get<int64_t>() : 0;
      if (value <= 0 || value > kLargest / elements) return assembly.bad(name, "its shape is impossible");
      elements *= value;
      sizes.push_back(value);
    }
  if (sizes.empty() || sizes.size() > 4) return assembly.bad(name, "expected a shape of one to four sizes");
  return Shape(std::span<const int64_t>(sizes));
}

Status add_double_quantization(Assembly& assembly, const std::string& weight, const Json& state,
                               const std::string& place, codec::SideParts& side) {
  VENEER_TRY(absmax, assembly.take(weight + ".absmax"));
  if (absmax.type_name != "U8")
    return assembly.bad(weight + ".absmax", concat("expected U8 beside nested_absmax, found ", absmax.type_name));
  VENEER_TRY(nested_absmax, assembly.take_numbers(weight + ".nested_absmax"));
  VENEER_TRY(nested_table, assembly.take_numbers(weight + ".nested_quant_map"));
  VENEER_TRY(nested_block, json_integer(state, "nested_blocksize", 256, place));
  VENEER_TRY(offset, json_number(state, "nested_offset", 0.0, place));
  const float offset_value[] = {static_cast<float>(offset)};
  side.tensors.emplace("absmax", std::move(absmax.weight));
  side.tensors.emplace("nested_absmax", std::move(nested_absmax));
  side.tensors.emplace("nested_table", std::move(nested_table));
  side.tensors.emplace("nested_offset", codec::weight_from(offset_value, {1}, *codec::find_codec("f32")));
  side.settings["nested_block"] = nested_block;
  return {};
}

Status join(Assembly& assembly, const std::string& weight, const Kind& kind) {
  const std::string state_name = concat(weight, kind.suffix);
  VENEER_TRY(stored, assembly.take(weight));
  VENEER_TRY(state_entry, assembly.take(state_name));
  const auto& bytes = state_entry.weight.bytes;
  const std::string place = concat(assembly.source(), ": tensor ", printable(state_name));
  VENEER_TRY(state, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, place));
  if (!state.is_object()) return assembly.bad(state_name, "expected a JSON object");
  VENEER_TRY(type, json_string(state, "quant_type", kind.quant_type, place));
  if (type != kind.quant_type)
    return assembly.bad(state_name, concat("expected quant_type ", kind.quant_type, ", found ", printable(type)));
  VENEER_TRY(block, json_integer(state, "blocksize", 64, place));
  VENEER_TRY(shape, shape_in(assembly, state_name, state));
  codec::SideParts side;
  side.settings["block"] = block;
  VENEER_TRY(table, assembly.take_numbers(weight + ".quant_map"));
  side.tensors.emplace("table", std::move(table));
  if (assembly.find(weight + ".nested_absmax")) {
    VENEER_TRY_STATUS(add_double_quantization(assembly, weight, state, place, side));
  } else {
    VENEER_TRY(absmax, assembly.take_numbers(weight + ".absmax"));
    side.tensors.emplace("absmax", std::move(absmax));
  }
  return assembly.put(weight, std::move(stored), kind.codec, shape, std::move(side));
}

Status assemble(Assembly& assembly) {
  for (const Kind& kind : kKinds)
    for (const std::string& weight : assembly.names_before(kind.suffix))
      VENEER_TRY_STATUS(join(assembly, weight, kind));
  return {};
}

}  // namespace

extern const QuantScheme kBnbScheme{"bitsandbytes", assemble};

}  // namespace veneer::io
