// Errors and flat reading for codecs with side parts.
#include "codec/side.h"

namespace veneer::codec {

Error misfit(const Weight& weight, const std::string& what) {
  return {ErrorCode::kBadFile,
          concat("tensor ", weight.name, ": ", weight.codec->name, " weight ", weight.shape.to_string(), ": ", what,
                 "; the file is damaged or of another kind, download it again"),
          weight.name};
}

std::vector<float> side_numbers(const Weight& part, int64_t begin, int64_t count) {
  Weight flat = part;
  flat.shape = {part.elements()};
  std::vector<float> out(static_cast<size_t>(count));
  flat.decode_rows(begin, count, out.data());
  return out;
}

}  // namespace veneer::codec
