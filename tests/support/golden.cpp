// Reference numbers and their comparison.
#include "tests/support/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/container.h"

namespace veneer::test {

std::filesystem::path data_path(const std::string& path) {
  return std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data" / path;
}

Golden::Golden(const std::string& path) {
  auto opened = io::open_weights(data_path(path));
  EXPECT_TRUE(opened) << opened.error().message;
  if (opened) store_ = *std::move(opened);
}

Tensor Golden::tensor(const std::string& name) const {
  const auto weight = store_.weight(name);
  EXPECT_TRUE(weight) << weight.error().message;
  return weight ? Tensor::from(weight->decode_all(), weight->shape) : Tensor::zeros({1});
}

std::vector<int32_t> Golden::ids(const std::string& name) const {
  const io::Entry* entry = store_.find(name);
  EXPECT_NE(entry, nullptr) << name;
  EXPECT_EQ(entry->type_name, "I32") << name;
  std::vector<int32_t> out(entry->weight.bytes.size() / sizeof(int32_t));
  std::memcpy(out.data(), entry->weight.bytes.data(), entry->weight.bytes.size());
  return out;
}

testing::AssertionResult close_to(const Tensor& a, const Tensor& b, double tolerance) {
  if (a.elements() != b.elements())
    return testing::AssertionFailure() << "shapes " << a.shape.to_string() << " and " << b.shape.to_string();
  double largest = 0, difference = 0;
  int64_t worst = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double apart = std::abs(static_cast<double>(a.f32()[i]) - b.f32()[i]);
    if (!(apart <= difference)) {
      difference = apart;
      worst = i;
    }
    largest = std::max(largest, std::abs(static_cast<double>(b.f32()[i])));
  }
  if (difference <= tolerance * largest) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "differs by " << difference << " at " << worst << " (" << a.f32()[worst]
                                     << " for " << b.f32()[worst] << "), allowed " << tolerance << " of " << largest;
}

Tensor as_batch(const Tensor& a, const Tensor& b) {
  Shape shape = a.shape;
  shape[0] = 2;
  Tensor both = Tensor::zeros(shape);
  std::copy_n(a.f32(), a.elements(), both.f32());
  std::copy_n(b.f32(), b.elements(), both.f32() + a.elements());
  return both;
}

}  // namespace veneer::test
