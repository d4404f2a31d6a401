// Any bytes as a GGUF file: the reader answers with a header or an error, and the tensors of a header that it accepts
// lie inside the file without sharing a byte.
#include "io/gguf_header.h"

using veneer::io::GgufTensor;
using veneer::io::parse_gguf;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = parse_gguf(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!header) {
    VENEER_CHECK(!header.error().message.empty());
    return 0;
  }
  VENEER_CHECK(header->data_begin <= size);
  uint64_t end = 0;
  for (const GgufTensor& tensor : header->tensors) {
    const auto blocks = static_cast<uint64_t>(tensor.shape.elements() / tensor.type->block_values);
    VENEER_CHECK(blocks * static_cast<uint64_t>(tensor.type->block_bytes) == tensor.bytes);
    VENEER_CHECK(tensor.offset >= end && tensor.bytes <= size - header->data_begin - tensor.offset);
    end = tensor.offset + tensor.bytes;
  }
  return 0;
}
