// Reads pictures with the product's own reader, which has tests of its own.
#include "pictures.h"

#include <cstdlib>
#include <span>

#include "core/files.h"
#include "core/format.h"
#include "io/image.h"

namespace veneer::cases {

Result<double> mean_difference(const std::filesystem::path& a, const std::filesystem::path& b) {
  constexpr int kAsStored = 0;
  VENEER_TRY(left, io::read_image(a, kAsStored));
  VENEER_TRY(right, io::read_image(b, kAsStored));
  if (left.width != right.width || left.height != right.height || left.channels != right.channels) {
    return Error{ErrorCode::kMismatch,
                 concat(base_name(a), " is ", left.width, "x", left.height, "x", left.channels, ", ", base_name(b),
                        " is ", right.width, "x", right.height, "x", right.channels),
                 {}};
  }
  int64_t sum = 0;
  for (size_t i = 0; i < left.pixels.size(); ++i) sum += std::abs(left.pixels[i] - right.pixels[i]);
  return static_cast<double>(sum) / static_cast<double>(left.pixels.size());
}

Result<Json> receipt_of(const std::filesystem::path& picture) {
  VENEER_TRY(bytes, read_text_file(picture));
  VENEER_TRY(fields, io::read_image_text(std::as_bytes(std::span(bytes)), picture.string()));
  for (const auto& [key, text] : fields) {
    if (key != "veneer") continue;
    VENEER_TRY(parameters, parse_json(text, picture.string()));
    if (parameters.contains("receipt")) return Json(parameters["receipt"]);
  }
  return Error{ErrorCode::kMismatch, concat(base_name(picture), " carries no receipt"), {}};
}

}  // namespace veneer::cases
