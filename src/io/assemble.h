// Quantized weights whose numbers need more than one tensor: a weight and its scales, zero points, tables and low-rank
// factors become one entry, and those side tensors leave the store. One file per scheme (assemble_*.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "io/weight_store.h"

namespace veneer::io {

struct Assembled {
  WeightStore weights;
  std::vector<std::string> warnings;  // what is accepted and not used, and known defects of the file
};

// `config` is the component's quantization configuration, or null; `source` the file or folder, for messages. A store
// without any such tensors comes back as it is. The shape of an entry is the layer's, [out, in] or [out, in, kh, kw].
// Where the file does not tell it, the entry has the setting "open_shape" and a shape that is a guess: whoever knows
// the layer's shape sets it, and the codec's check judges. Errors: unsupported for schemes that are known and not read,
// by name; bad_file for side tensors that fit no weight or not theirs (a scale that is left over would be a layer
// decoded wrongly).
Result<Assembled> assemble_quantized(const WeightStore& store, const Json& config, std::string_view source);

}  // namespace veneer::io
