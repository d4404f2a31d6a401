// Records of quantization, as other programs write them.
#include "io/quant_metadata.h"

namespace veneer::io {

Json sdnq_config(const codec::SdnqForm& form, std::span<const std::string> plain) {
  const auto& type = form.type;
  const std::string weights = concat(type.is_unsigned ? "uint" : "int", type.bits);
  return {{"quant_method", "sdnq"},
          {"sdnq_version", "0.2.8"},  // whose layout this is
          {"weights_dtype", weights},
          {"scale_dtype", nullptr},
          {"zero_point_dtype", nullptr},
          {"quantized_matmul_dtype", nullptr},
          {"is_integer", true},
          {"is_unsigned", type.is_unsigned},
          {"group_size", form.group_size},
          {"use_svd", form.svd_rank > 0},
          {"svd_rank", form.svd_rank > 0 ? form.svd_rank : 32},
          {"use_hadamard", false},
          {"use_codebook", false},
          {"use_codebook_scale", false},
          {"use_quantized_matmul", false},
          {"use_quantized_matmul_conv", false},
          {"use_static_quantization", true},
          {"use_dynamic_quantization", false},
          {"use_stochastic_rounding", false},
          {"dequantize_fp32", true},
          {"is_training", false},
          {"quant_conv", true},
          {"quant_embedding", true},
          {"add_skip_keys", false},
          {"minimum_allowed_numel", 0},
          {"minimum_allowed_channel_size", 0},
          {"modules_to_not_convert", Json(std::vector<std::string>(plain.begin(), plain.end()))},
          {"modules_to_not_use_matmul", Json::array()},
          {"modules_dtype_dict", Json::object()},
          {"modules_quant_config", Json::object()}};
}

std::string scaled_records(const codec::ScaledForm& form, std::span<const std::string> layers) {
  const bool e4m3 = form.codec->name == "f8_e4m3";
  Json records = Json::object();
  for (const std::string& layer : layers) records[layer] = {{"format", e4m3 ? "float8_e4m3fn" : "float8_e5m2"}};
  const Json all = {{"format_version", "1.0"}, {"layers", std::move(records)}};
  // A name that is not UTF-8 is refused by whatever writes it; here it must only not throw.
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace veneer::io
