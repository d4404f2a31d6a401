// Shapes and tensors.
#include "core/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace veneer {

size_t size_of(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kU8: return 1;
  }
  return 0;
}

std::string_view name_of(DType type) {
  switch (type) {
    case DType::kF32: return "f32";
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kI32: return "i32";
    case DType::kU8: return "u8";
  }
  return "?";
}

Shape::Shape(std::span<const int64_t> dims) : rank_(dims.size()) {
  VENEER_CHECK(dims.size() <= kMaxRank);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (const int64_t dim : *this) product *= dim;
  return product;
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

Tensor Tensor::zeros(const Shape& shape, DType type) {
  constexpr size_t kAlignment = 64;
  Tensor tensor{shape, type, nullptr, nullptr};
  const size_t bytes = (tensor.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, std::max(bytes, kAlignment));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, std::max(bytes, kAlignment));
  tensor.owner = std::shared_ptr<void>(memory, std::free);
  tensor.data = static_cast<std::byte*>(memory);
  return tensor;
}

Tensor Tensor::from(std::span<const float> values, const Shape& shape) {
  VENEER_CHECK(static_cast<int64_t>(values.size()) == shape.elements());
  Tensor tensor = zeros(shape);
  std::copy(values.begin(), values.end(), tensor.f32());
  return tensor;
}

Tensor Tensor::reshaped(const Shape& other) const {
  VENEER_CHECK(other.elements() == elements());
  Tensor tensor = *this;
  tensor.shape = other;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy = zeros(shape, type);
  std::memcpy(copy.data, data, bytes());
  return copy;
}

namespace {
// Swaps the roles of channels and pixels: [batch, rows, columns] -> [batch, columns, rows].
void transpose(const float* in, float* out, int64_t batch, int64_t rows, int64_t columns) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) out[(b * columns + c) * rows + r] = in[(b * rows + r) * columns + c];
}
}  // namespace

Tensor nchw_to_nhwc(const Tensor& tensor) {
  VENEER_CHECK(tensor.shape.rank() == 4);
  const auto& s = tensor.shape;
  Tensor out = Tensor::zeros({s[0], s[2], s[3], s[1]});
  transpose(tensor.f32(), out.f32(), s[0], s[1], s[2] * s[3]);
  return out;
}

Tensor nhwc_to_nchw(const Tensor& tensor) {
  VENEER_CHECK(tensor.shape.rank() == 4);
  const auto& s = tensor.shape;
  Tensor out = Tensor::zeros({s[0], s[3], s[1], s[2]});
  transpose(tensor.f32(), out.f32(), s[0], s[1] * s[2], s[3]);
  return out;
}

int64_t first_non_finite(std::span<const float> values) {
  const auto found = std::find_if_not(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  return found == values.end() ? -1 : found - values.begin();
}

}  // namespace veneer
