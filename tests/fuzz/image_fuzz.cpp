// Any bytes as a picture: decoding and reading the text must end in a result or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "io/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto image = veneer::io::decode_image(bytes, "fuzz", 0);
  if (image && image->pixels.size() != image->row_bytes() * static_cast<size_t>(image->height)) std::abort();
  const auto text = veneer::io::read_image_text(bytes, "fuzz");
  if (text) veneer::io::generation_text(*text);
  return 0;
}
