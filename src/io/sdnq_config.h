// The quantization configuration that SDNQ writes beside its weights, and what it says of one layer: fields for all
// layers, then overrides by patterns on the parameter's name. Lists in it have no fixed order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/sdnq_types.h"
#include "core/json.h"

namespace veneer::io {

struct SdnqLayerConfig {
  codec::SdnqType weights;
  std::optional<codec::SdnqType> scale;       // when the scales are quantized themselves
  std::optional<codec::SdnqType> zero_point;  // the scales' type unless it has one of its own
  bool codebook = false;
  bool scale_codebook = false;
  int64_t rotation_cap = 0;  // 0: not rotated
  bool product_linear = false, product_conv = false;
  bool product_weight = false;  // the weight's type is one that the quantized product multiplies as it is
};

// True when `parameter` ("down_blocks.0.attn1.to_q.weight") is meant by `pattern`: equal to it or to one of its dotted
// parts; beginning with what follows a leading dot; or matching, from its start on, a pattern with "*" in it.
bool sdnq_matches(std::string_view parameter, std::string_view pattern);

// What `config` says of the layer with this weight. Errors: bad_file for fields of a wrong type, unsupported for an
// unknown number type; both name `source`.
Result<SdnqLayerConfig> sdnq_layer_config(const Json& config, const std::string& parameter, std::string_view source);

}  // namespace veneer::io
