// Shapes, element types and tensors. A tensor is plain numbers, row-major, never quantized: weights as stored are
// codec::Weight. Dimension order is PyTorch's, except for activations, which are [batch, height, width, channels].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "core/format.h"
#include "core/result.h"

namespace veneer {

enum class DType { kF32, kF16, kBF16, kI32, kU8 };
size_t size_of(DType type);            // bytes of one element
std::string_view name_of(DType type);  // "f32", "f16", ...

// Up to six dimensions, slowest first; no allocation.
class Shape {
 public:
  static constexpr size_t kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  size_t rank() const { return rank_; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  int64_t back() const { return dims_[rank_ - 1]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t elements() const;  // the product; 1 for a scalar
  std::string to_string() const { return shape_text({begin(), rank_}); }
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

// A handle: copies share the memory. `owner` keeps that memory alive; it is empty for views and for arena memory.
// Memory that a tensor allocates itself is aligned to 64 bytes.
struct Tensor {
  Shape shape;
  DType type = DType::kF32;
  std::byte* data = nullptr;
  std::shared_ptr<void> owner;

  static Tensor zeros(const Shape& shape, DType type = DType::kF32);
  static Tensor view(float* data, const Shape& shape) {
    return {shape, DType::kF32, reinterpret_cast<std::byte*>(data), nullptr};
  }
  static Tensor from(std::span<const float> values, const Shape& shape);

  bool empty() const { return data == nullptr; }
  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(type); }
  float* f32() { return as<float>(DType::kF32); }
  const float* f32() const { return const_cast<Tensor*>(this)->f32(); }
  int32_t* i32() { return as<int32_t>(DType::kI32); }
  const int32_t* i32() const { return const_cast<Tensor*>(this)->i32(); }
  uint8_t* u8() { return as<uint8_t>(DType::kU8); }
  const uint8_t* u8() const { return const_cast<Tensor*>(this)->u8(); }
  std::span<float> values() { return {f32(), static_cast<size_t>(elements())}; }
  std::span<const float> values() const { return {f32(), static_cast<size_t>(elements())}; }
  // The same memory under another shape of as many elements.
  Tensor reshaped(const Shape& other) const;
  Tensor clone() const;

 private:
  template <typename T>
  T* as(DType wanted) {
    VENEER_CHECK(type == wanted);
    return reinterpret_cast<T*>(data);
  }
};

// [1, C, H, W] as files and the reference libraries have it <-> [1, H, W, C] as this program computes.
Tensor nchw_to_nhwc(const Tensor& tensor);
Tensor nhwc_to_nchw(const Tensor& tensor);

// The index of the first value that is not finite, or -1.
int64_t first_non_finite(std::span<const float> values);

}  // namespace veneer
