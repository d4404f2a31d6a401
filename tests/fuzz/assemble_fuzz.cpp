// Any safetensors file as a model of quantized weights, its configuration in the metadata "config": joining answers
// with a store or an error, and every weight that its codec accepts decodes within its bytes, in parts as in one piece.
#include <cstring>

#include "core/json.h"
#include "io/assemble.h"
#include "memory_store.h"

using veneer::Json;
using veneer::codec::Weight;

namespace {

constexpr int64_t kMostValues = 1 << 20;

void decode(const Weight& weight) {
  if (weight.codec == nullptr || !weight.codec->check(weight) || weight.elements() > kMostValues) return;
  const std::vector<float> whole = weight.decode_all();
  if (whole.empty()) return;
  std::vector<float> parts(whole.size());
  const int64_t split = weight.rows() / 3;
  weight.decode_rows(0, split, parts.data());
  weight.decode_rows(split, weight.rows() - split, parts.data() + split * weight.row_values());
  VENEER_CHECK(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = veneer::fuzz::store_of(std::as_bytes(std::span(data, size)));
  if (!store) return 0;
  Json config;
  if (const auto text = store->metadata().find("config"); text != store->metadata().end()) {
    auto parsed = veneer::parse_json(text->second, "config");
    if (parsed) config = *std::move(parsed);
  }
  const auto joined = veneer::io::assemble_quantized(*store, config, "fuzz");
  if (!joined) {
    VENEER_CHECK(!joined.error().message.empty());
    return 0;
  }
  for (const auto& [name, entry] : joined->weights.entries()) decode(entry.weight);
  return 0;
}
