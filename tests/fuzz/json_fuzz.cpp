// Any bytes as a model's configuration and as a shard index: no shard that is accepted lies outside the index's folder.
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/json.h"
#include "io/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = veneer::parse_json(text, "config.json");
  if (config) {
    (void)veneer::json_integer(*config, "in_channels", 4, "config.json");
    (void)veneer::json_number(*config, "scaling_factor", 1.0, "config.json");
    (void)veneer::json_bool(*config, "use_linear_projection", false, "config.json");
    (void)veneer::json_string(*config, "_class_name", "", "config.json");
  }
  const auto index = veneer::io::parse_shard_index(text, "model.safetensors.index.json");
  if (!index) return 0;
  const std::filesystem::path folder = "/models/one";
  for (const auto& [shard, tensors] : *index) {
    const std::string path = (folder / shard).lexically_normal().string();
    VENEER_CHECK(path.starts_with("/models/one/") && !tensors.empty());
  }
  return 0;
}
