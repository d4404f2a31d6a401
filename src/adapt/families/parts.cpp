// Reading parts with account; shared refusals.
#include "adapt/families/parts.h"

#include <algorithm>
#include <cmath>

namespace veneer::adapt {

Shape Parts::shape(std::string_view part) const {
  const KeyPart* found = keys_.find(part);
  return found ? found->weight.shape : Shape();
}

void Parts::ignore(std::string_view part) {
  auto& used = lowered_.used;
  if (has(part) && std::find(used.begin(), used.end(), part) == used.end()) used.emplace_back(part);
}

Result<Tensor> Parts::tensor(std::string_view part) {
  ignore(part);
  return keys_.need(part);
}

Result<double> Parts::number(std::string_view part) {
  ignore(part);
  return keys_.number(part);
}

Result<Tensor> Parts::vector(std::string_view part, int64_t count) {
  VENEER_TRY(values, tensor(part));
  if (values.elements() != count)
    return mismatch(site_, part, " ", values.shape.to_string(), " has ", values.elements(), " values, expected ", count,
                    " for a layer of ", site_.shape().to_string());
  return values.reshaped({count});
}

Result<double> Parts::scale(int64_t rank) {
  VENEER_TRY(scale, keys_.scale_for(rank));
  ignore("alpha");
  ignore("scale");
  if (!std::isfinite(static_cast<float>(scale)))
    return Error{ErrorCode::kBadFile, concat(site_.layer->name, ": the scale is ", scale, ", no finite number"),
                 site_.layer->name};
  if (scale == 0) notice(concat(site_.layer->name, ": alpha is 0, so that this adapter has no effect here"));
  return scale;
}

void Parts::notice_if_zero(std::string_view part, const Tensor& tensor) {
  const auto values = tensor.values();
  if (std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }))
    notice(concat(site_.layer->name, ": ", part, " is all zeros, so that it has no effect here"));
}

Status require_matrix(const Site& site, std::string_view family) {
  if (site.layer->kind != nn::LayerKind::kNorm) return {};
  return mismatch(site, family, " changes a matrix, the layer is a norm of ", site.shape().to_string());
}

Status require_product(const Site& site, std::string_view family) {
  VENEER_TRY_STATUS(require_matrix(site, family));
  if (site.layer->kind != nn::LayerKind::kEmbedding) return {};
  return unsupported(site, family, " turns what goes into or comes out of a product; an embedding only looks up rows");
}

bool same_but_trailing_ones(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  const auto dim = [](const Shape& shape, size_t i) { return i < shape.rank() ? shape[i] : 1; };
  for (size_t i = 0; i < rank; ++i)
    if (dim(a, i) != dim(b, i)) return false;
  return true;
}

Tensor to_tensor(std::span<const double> values, const Shape& shape) {
  Tensor tensor = Tensor::zeros(shape);
  std::transform(values.begin(), values.end(), tensor.f32(), [](double v) { return static_cast<float>(v); });
  return tensor;
}

}  // namespace veneer::adapt
