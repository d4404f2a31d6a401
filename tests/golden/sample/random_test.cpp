// Random numbers against torch's CPU generator, published Philox blocks and a float64 computation of the CUDA numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "sample/mt19937.h"
#include "sample/philox.h"
#include "tests/golden/sample/fixture.h"

namespace veneer::sample {
namespace {

std::vector<float> draw(Generator& generator, size_t count) {
  std::vector<float> values(count);
  generator.normal(values);
  return values;
}

void expect_near(std::span<const float> found, const Json& expected, double tolerance, const std::string& label) {
  ASSERT_EQ(found.size(), expected.size()) << label;
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected.at(i).get<double>(), tolerance) << label << " number " << i;
}

void expect_latent(Generator& generator, const Json& latent, double tolerance) {
  const std::vector<float> values = draw(generator, 4 * 64 * 64);
  expect_near(std::span(values).first(4), latent.at("first"), tolerance, "first");
  expect_near(std::span(values).last(4), latent.at("last"), tolerance, "last");
  EXPECT_NEAR(values[8191], latent.at("at_8191").get<double>(), tolerance);
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(mean, latent.at("mean").get<double>(), 1e-6);
  EXPECT_NEAR(std::sqrt(squares / count), latent.at("std").get<double>(), 1e-5);  // six digits in the file
}

template <size_t N>
std::array<uint32_t, N> words(const Json& text) {
  std::istringstream in(text.get<std::string>());
  std::array<uint32_t, N> out{};
  for (uint32_t& word : out) in >> std::hex >> word;
  return out;
}

TEST(Philox, PublishedBlocks) {
  const Json file = fixture("rng_philox.json");
  ASSERT_EQ(file.at("blocks").size(), 3u);
  for (const Json& block : file.at("blocks"))
    EXPECT_EQ(philox4x32(words<4>(block.at("counter")), words<2>(block.at("key"))), words<4>(block.at("out")));
}

TEST(Philox, NormalsOfSeedsAndDraws) {
  const Json file = fixture("rng_philox.json");
  const double tolerance = file.at("tolerance_abs").get<double>();  // of a GPU's own logarithm and sine
  ASSERT_EQ(file.at("normals").size(), 15u);
  for (const Json& item : file.at("normals")) {
    const auto seed = item.at("seed").get<uint64_t>();
    PhiloxGenerator generator(seed);
    for (int before = 0; before < item.at("draw").get<int>(); ++before) draw(generator, 3);  // any size counts as one
    expect_near(draw(generator, item.at("n").get<size_t>()), item.at("values"), tolerance,
                "seed " + std::to_string(seed));
  }
  PhiloxGenerator published(0);
  expect_near(draw(published, 12), file.at("published_example").at("values"), tolerance, "published example");
  PhiloxGenerator latent(42);
  expect_latent(latent, file.at("latent_64x64"), tolerance);
}

TEST(Mt19937, EqualsTorch) {
  const Json file = fixture("rng_mt19937.json");
  const double tolerance = file.at("tolerance_abs").get<double>();  // torch takes float32 logarithms and cosines
  ASSERT_EQ(file.at("single").size(), 28u);
  for (const Json& item : file.at("single")) {
    Mt19937Generator generator(item.at("seed").get<uint64_t>());
    expect_near(draw(generator, item.at("n").get<size_t>()), item.at("values"), tolerance,
                "seed " + item.at("seed").dump() + " n " + item.at("n").dump());
  }
  for (const Json& item : file.at("sequences")) {
    Mt19937Generator generator(item.at("seed").get<uint64_t>());
    for (size_t i = 0; i < item.at("sizes").size(); ++i)
      expect_near(draw(generator, item.at("sizes")[i].get<size_t>()), item.at("values")[i], tolerance,
                  "sequence " + item.at("sizes").dump() + " part " + std::to_string(i));
  }
  Mt19937Generator latent(42);
  expect_latent(latent, file.at("latent_64x64"), tolerance);
}

}  // namespace
}  // namespace veneer::sample
