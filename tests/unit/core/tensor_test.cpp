// Shapes, tensors and the two layouts.
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace veneer {
namespace {

TEST(Tensor, LayoutsGoThereAndBack) {
  std::vector<float> values(2 * 3 * 4 * 5);
  std::iota(values.begin(), values.end(), 0.0f);
  const Tensor nchw = Tensor::from(values, {2, 3, 4, 5});
  const Tensor nhwc = nchw_to_nhwc(nchw);
  EXPECT_EQ(nhwc.shape, (Shape{2, 4, 5, 3}));
  EXPECT_EQ(nhwc.f32()[((1 * 4 + 2) * 5 + 3) * 3 + 2], nchw.f32()[((1 * 3 + 2) * 4 + 2) * 5 + 3]);
  const Tensor back = nhwc_to_nchw(nhwc);
  EXPECT_EQ(back.shape, nchw.shape);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), back.f32()));
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::zeros({4});
  const Tensor shared = a;
  const Tensor clone = a.clone();
  a.f32()[0] = 1;
  EXPECT_EQ(shared.f32()[0], 1);
  EXPECT_EQ(clone.f32()[0], 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data) % 64, 0u);
}

TEST(Tensor, FindsTheFirstValueThatIsNoNumber) {
  std::vector<float> values(100, 1.0f);
  EXPECT_EQ(first_non_finite(values), -1);
  values[70] = INFINITY;
  values[40] = NAN;
  EXPECT_EQ(first_non_finite(values), 40);
}

TEST(Shape, PrintsAndCounts) {
  EXPECT_EQ((Shape{2, 3, 4}).to_string(), "[2, 3, 4]");
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 1}));
}

}  // namespace
}  // namespace veneer
