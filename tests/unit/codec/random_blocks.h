// Seeded bytes and numbers for the codec tests.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "codec/weight.h"

namespace veneer::codec {

// A weight of any bytes: every scale, NaN and infinity among them.
inline Weight random_weight(const Codec& codec, const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  const auto size = static_cast<size_t>(encoded_bytes(codec, shape.elements()));
  auto memory = std::make_shared<std::vector<std::byte>>(size);
  for (std::byte& byte : *memory) byte = static_cast<std::byte>(random() & 255);
  return {"random", &codec, shape, {memory->data(), size}, memory, nullptr};
}

inline std::vector<float> random_normal(size_t count, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// The formats whose weights are all bytes: any bytes of the right number are one.
inline std::vector<const Codec*> byte_codecs() {
  std::vector<const Codec*> found;
  for (const Codec* codec : codecs())
    if (codec->check(random_weight(*codec, {2, 256}, 1))) found.push_back(codec);
  return found;
}

}  // namespace veneer::codec
