// Layers and groups of keys made of a few numbers, for the tests of families.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "adapt/family.h"
#include "nn/adapted_rows.h"

namespace veneer::adapt::test {

struct PartValues {
  std::string part;
  Shape shape;
  std::vector<float> values;
};

inline std::vector<float> random_values(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

inline PartValues random_part(const std::string& part, const Shape& shape, uint32_t seed) {
  return {part, shape, random_values(shape.elements(), seed)};
}

inline KeyPart key_part(const PartValues& part, const char* codec = "f32") {
  const std::string key = "module." + part.part;
  return {key, codec::weight_from(part.values, part.shape, *codec::find_codec(codec), key), codec};
}

inline KeyGroup group_of(const std::vector<PartValues>& parts) {
  KeyGroup group;
  group.module = "module";
  for (const PartValues& part : parts) group.parts[part.part] = key_part(part);
  return group;
}

inline KeyPart integer_part(const std::string& part, const Shape& shape, const std::vector<int64_t>& values) {
  const auto memory = std::make_shared<std::vector<int64_t>>(values);
  KeyPart result{"module." + part, {}, "I64"};
  result.weight.shape = shape;
  result.weight.bytes = std::as_bytes(std::span<const int64_t>(*memory));
  result.weight.owner = memory;
  return result;
}

inline nn::Layer layer_of(const Shape& shape, const std::vector<float>& values, std::vector<float> bias = {}) {
  nn::Layer layer;
  layer.kind = shape.rank() == 4   ? nn::LayerKind::kConv2d
               : shape.rank() == 1 ? nn::LayerKind::kNorm
                                   : nn::LayerKind::kLinear;
  layer.name = "unet.layer";
  layer.weight = codec::weight_from(values, shape, *codec::find_codec("f32"), "layer.weight");
  layer.bias = std::move(bias);
  return layer;
}

inline nn::Layer random_layer(const Shape& shape, uint32_t seed = 1) {
  return layer_of(shape, random_values(shape.elements(), seed));
}

inline Site site_of(const nn::Layer& layer) { return {&layer, 0, layer.out()}; }

inline nn::Program program_of(const KeyGroup& group, const Site& site, const LowerOptions& options = {}) {
  const auto lowered = lower(group, site, options);
  EXPECT_TRUE(lowered) << lowered.error().message;
  if (!lowered) return {};
  return {lowered->terms, lowered->strength_inside ? 1.0f : static_cast<float>(options.strength), site.first_row,
          site.rows};
}

inline std::vector<double> adapted(const nn::Layer& layer, const KeyGroup& group, const LowerOptions& options = {}) {
  const std::vector programs{program_of(group, site_of(layer), options)};
  return nn::adapted_rows(layer, programs, 0, layer.out());
}

inline std::vector<double> adapted_bias(const nn::Layer& layer, const KeyGroup& group, double strength = 1) {
  LowerOptions options;
  options.strength = strength;
  const std::vector programs{program_of(group, site_of(layer), options)};
  return nn::adapted_vector(layer, programs, nn::Vector::Of::kBias);
}

// What a group that cannot be lowered says.
inline Error error_of(const nn::Layer& layer, const KeyGroup& group, const LowerOptions& options = {}) {
  const auto lowered = lower(group, site_of(layer), options);
  EXPECT_FALSE(lowered) << "no error";
  return lowered ? Error() : lowered.error();
}

// Float32 tensors in the terms, sums in double: a few units in the last place of numbers of size 1 to 100.
inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                        double tolerance = 1e-5) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "at " << i;
}

inline void expect_says(const Error& error, ErrorCode code, const std::vector<std::string>& words) {
  EXPECT_EQ(error.code, code) << error.message;
  for (const std::string& word : words) EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
}

}  // namespace veneer::adapt::test
