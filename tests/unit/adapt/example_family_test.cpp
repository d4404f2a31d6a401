// The worked example of docs/adding.md: it is this file, it compiles, and it does what it says.
#include <gtest/gtest.h>

#include "core/files.h"
#include "family_support.h"
#include "nn/adapted_rows.h"

namespace veneer::adapt {
extern const Family kSsf;

namespace {

using namespace test;

TEST(ExampleFamily, IsTheListingOfTheDocument) {
  const std::filesystem::path source(VENEER_SOURCE_DIR);
  const auto listing = read_text_file(source / "tests/unit/adapt/example_family.cpp", 1 << 20);
  const auto document = read_text_file(source / "docs/adding.md", 1 << 20);
  ASSERT_TRUE(listing && document);
  EXPECT_NE(document->find(*listing), std::string::npos) << "docs/adding.md does not show the file as it is";
}

TEST(ExampleFamily, ScalesAndShifts) {
  nn::Layer layer = random_layer({2, 3});
  layer.bias = {1, 1};
  const KeyGroup keys = group_of({{"ssf_scale", {2}, {3, 1}}, {"ssf_shift", {2}, {0.5f, 0}}});
  ASSERT_TRUE(kSsf.claims(keys));
  const auto lowered = kSsf.lower(keys, site_of(layer), {});
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_EQ(lowered->used, (std::vector<std::string>{"ssf_scale", "ssf_shift"}));
  const nn::Program program{lowered->terms, 0.5f};
  const std::vector<float> base = layer.weight.decode_all();
  const std::vector<double> rows = nn::adapted_rows(layer, {&program, 1}, 0, 2);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(rows[i], base[i] * (i < 3 ? 2 : 1), 1e-6);
  EXPECT_EQ(nn::adapted_vector(layer, {&program, 1}, nn::Vector::Of::kBias), (std::vector<double>{1.25, 1}));
}

TEST(ExampleFamily, NamesWhatDoesNotFit) {
  const nn::Layer layer = random_layer({2, 3});
  const KeyGroup keys = group_of({{"ssf_scale", {3}, {1, 1, 1}}});
  const auto lowered = kSsf.lower(keys, site_of(layer), {});
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, ErrorCode::kMismatch);
}

}  // namespace
}  // namespace veneer::adapt
