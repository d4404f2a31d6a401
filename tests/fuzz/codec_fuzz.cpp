// Any bytes as a weight of any format: its codec refuses the size, or decodes every range of rows without reading
// outside the bytes and to the same values as the whole.
#include <cstring>

#include "codec/weight.h"

using veneer::Shape;
using veneer::codec::Codec;
using veneer::codec::Weight;

namespace {

// Bytes of the input one after the other; 0 behind its end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}
  uint8_t take() {
    if (rest_.empty()) return 0;
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  std::span<const uint8_t> rest() const { return rest_; }

 private:
  std::span<const uint8_t> rest_;
};

// The data, in memory of exactly its size so that a sanitizer sees every step outside; `exact` repeats or cuts it to
// what the shape takes.
Weight make_weight(Input& input) {
  const auto codecs = veneer::codec::codecs();
  const Codec& codec = *codecs[input.take() % codecs.size()];
  const bool exact = input.take() % 4 != 0;
  Shape shape{input.take() % 24, input.take(), 1 + input.take() % 3};
  if (!exact) shape[2] <<= input.take() % 60;
  const auto data = std::as_bytes(input.rest());
  const size_t size = exact ? static_cast<size_t>(veneer::codec::encoded_bytes(codec, shape.elements())) : data.size();
  const auto memory = std::make_shared<std::vector<std::byte>>(size);
  for (size_t i = 0; i < size && !data.empty(); ++i) (*memory)[i] = data[i % data.size()];
  return {"fuzz", &codec, shape, {memory->data(), size}, memory, nullptr};
}

void decode_in_parts(const Weight& weight, int64_t first_part) {
  const std::vector<float> whole = weight.decode_all();
  std::vector<float> parts(whole.size());
  const int64_t split = first_part % (weight.rows() + 1);
  weight.decode_rows(0, split, parts.data());
  weight.decode_rows(split, weight.rows() - split, parts.data() + split * weight.row_values());
  if (!whole.empty()) VENEER_CHECK(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const int64_t first_part = input.take();
  const Weight weight = make_weight(input);
  if (const auto checked = weight.codec->check(weight); !checked) {
    VENEER_CHECK(!checked.error().message.empty());
  } else {
    decode_in_parts(weight, first_part);
  }
  return 0;
}
