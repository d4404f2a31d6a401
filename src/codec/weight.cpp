// Weights: sizes, and weights made in memory.
#include "codec/weight.h"

namespace veneer::codec {

std::vector<float> Weight::decode_all() const {
  std::vector<float> out(static_cast<size_t>(elements()));
  decode_rows(0, rows(), out.data());
  return out;
}

uint64_t Weight::stored_bytes() const {
  uint64_t total = bytes.size();
  if (!side) return total;
  for (const auto& [key, part] : side->tensors) total += part.stored_bytes();
  const auto whole_rows = static_cast<uint64_t>(side->setting("whole_rows", 0));
  // Views of one weight share its bytes (row_view.h): each counts as its rows.
  return whole_rows > 0 ? total * static_cast<uint64_t>(rows()) / whole_rows : total;
}

bool Weight::shape_is_open() const { return side && side->setting("open_shape", 0) != 0; }

const Weight* SideParts::find(std::string_view key) const {
  const auto found = tensors.find(key);
  return found == tensors.end() ? nullptr : &found->second;
}

int64_t SideParts::setting(std::string_view key, int64_t fallback) const {
  const auto found = settings.find(key);
  return found == settings.end() ? fallback : found->second;
}

int64_t encoded_bytes(const Codec& codec, int64_t elements) {
  return (elements + codec.block_values - 1) / codec.block_values * codec.block_bytes;
}

Weight weight_from(std::span<const float> values, const Shape& shape, const Codec& codec, std::string name) {
  VENEER_CHECK(codec.encode != nullptr && static_cast<int64_t>(values.size()) == shape.elements());
  const auto size = static_cast<size_t>(encoded_bytes(codec, shape.elements()));
  const auto memory = std::make_shared<std::vector<std::byte>>(size);
  codec.encode(values, memory->data());
  return {std::move(name), &codec, shape, {memory->data(), size}, memory, nullptr};
}

}  // namespace veneer::codec
