// Latents in and out, in the dimension order of the reference libraries.
#include "latents.h"

#include <vector>

#include "core/format.h"
#include "io/container.h"
#include "io/safetensors_write.h"

namespace veneer::cli {
namespace {

constexpr const char* kTensorName = "latents";

Error bad_latents(const std::filesystem::path& path, std::string_view fault) {
  return {ErrorCode::kBadFile, concat(path.string(), ": tensor ", kTensorName, ": ", fault), path.string()};
}

}  // namespace

Result<Tensor> read_latents(const std::filesystem::path& path) {
  VENEER_TRY(store, io::open_weights(path));
  VENEER_TRY(weight, store.weight(kTensorName));
  const Shape& shape = weight.shape;
  if (shape.rank() != 4 || shape[0] != 1 || shape.elements() == 0)
    return bad_latents(path, concat("expected the shape [1, channels, height, width], found ", shape.to_string()));
  const std::vector<float> values = weight.decode_all();
  if (const int64_t at = first_non_finite(values); at >= 0)
    return bad_latents(path, concat("value ", at, " of ", values.size(), " is not finite"));
  return Tensor::from(values, shape);
}

Status save_latents(const std::filesystem::path& path, std::span<const pipeline::Picture> pictures) {
  if (pictures.empty()) return {};
  std::vector<float> values;
  for (const pipeline::Picture& picture : pictures)
    values.insert(values.end(), picture.latents.values().begin(), picture.latents.values().end());
  Shape shape = pictures.front().latents.shape;
  shape[0] = static_cast<int64_t>(pictures.size());
  return io::write_safetensors(path, {{kTensorName, "F32", shape, std::as_bytes(std::span(values))}}, {});
}

}  // namespace veneer::cli
