// Any bytes as a safetensors file: the reader answers with a header or an error, and a header that it accepts shares
// out the data exactly, so that no tensor can be read outside the file.
#include "io/safetensors_header.h"

using veneer::io::parse_safetensors;
using veneer::io::SafetensorsTensor;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (!header) {
    VENEER_CHECK(!header.error().message.empty());
    return 0;
  }
  uint64_t position = 0;
  for (const SafetensorsTensor& tensor : header->tensors) {
    VENEER_CHECK(tensor.begin == position && tensor.end >= tensor.begin);
    VENEER_CHECK(veneer::io::stored_bytes(*tensor.type, tensor.shape) == tensor.end - tensor.begin);
    position = tensor.end;
  }
  VENEER_CHECK(header->data_begin + position == size);
  return 0;
}
