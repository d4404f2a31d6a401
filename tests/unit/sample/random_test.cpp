// Generators: names, reseeding, and that images of a batch do not see each other (reference numbers: golden/sample).
#include "sample/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace veneer::sample {
namespace {

constexpr GeneratorKind kKinds[] = {GeneratorKind::kCuda, GeneratorKind::kCpu};

std::vector<float> draw(Generator& generator, size_t count = 4 * 64 * 64) {
  std::vector<float> values(count);
  generator.normal(values);
  return values;
}

TEST(Generator, NamesBothWays) {
  for (const GeneratorKind kind : kKinds) EXPECT_EQ(*generator_named(name_of(kind)), kind);
  EXPECT_EQ(name_of(GeneratorKind::kCuda), "cuda");
  EXPECT_EQ(generator_named("std_default").error().code, ErrorCode::kUnsupported);
  const auto unknown = generator_named("cudo");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_EQ(unknown.error().message, "generator \"cudo\": is not known; did you mean cuda? (known: cuda, cpu)");
}

TEST(Generator, ReseedingStartsAfresh) {
  for (const GeneratorKind kind : kKinds) {
    const auto generator = make_generator(kind, 7);
    const std::vector<float> first = draw(*generator, 5);  // an odd count leaves half a pair behind on the CPU kind
    generator->reseed(7);
    EXPECT_EQ(draw(*generator, 5), first);
    EXPECT_NE(draw(*generator, 5), first);
    generator->reseed(8);
    EXPECT_NE(draw(*generator, 5), first);
  }
}

TEST(Generator, SeedsBeyond32Bits) {
  const auto low = make_generator(GeneratorKind::kCuda, 5);
  const auto high = make_generator(GeneratorKind::kCuda, (uint64_t{1} << 32) + 5);
  EXPECT_NE(draw(*low), draw(*high));
  const auto cpu_low = make_generator(GeneratorKind::kCpu, 5);
  const auto cpu_high = make_generator(GeneratorKind::kCpu, (uint64_t{1} << 32) + 5);
  EXPECT_EQ(draw(*cpu_low), draw(*cpu_high));  // torch's CPU generator ignores the upper half
}

TEST(Generator, StartNoiseIsStandardNormal) {
  for (const GeneratorKind kind : kKinds) {
    const std::vector<float> values = draw(*make_generator(kind, 42));
    double sum = 0, squares = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(values.size());
    EXPECT_NEAR(mean, 0.0, 0.03);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size()) - mean * mean), 1.0, 0.03);
  }
}

// An image of a batch has its own generator with seed + b: whatever the others drew before, its numbers are those of
// the single image.
TEST(Generator, ABatchEqualsItsSingleImages) {
  for (const GeneratorKind kind : kKinds) {
    const auto shared = make_generator(kind, 100);
    for (uint64_t b = 0; b < 4; ++b) {
      shared->reseed(100 + b);
      const auto single = make_generator(kind, 100 + b);
      for (int step = 0; step < 3; ++step) EXPECT_EQ(draw(*shared), draw(*single)) << "image " << b << " draw " << step;
    }
  }
}

}  // namespace
}  // namespace veneer::sample
