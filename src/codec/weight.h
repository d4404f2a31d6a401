// A weight as it lies in its file: encoded bytes, their codec, and the shape that the layer sees. Immutable: nothing in
// this program writes to the bytes of a weight. Copies share the bytes; any thread may decode.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/codec.h"
#include "core/tensor.h"

namespace veneer::codec {

struct SideParts;

struct Weight {
  std::string name;  // as the file spells it, for messages
  const Codec* codec = nullptr;
  Shape shape;  // [out, in], [out, in, kh, kw], [n]; slowest first
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;      // keeps the mapping alive
  std::shared_ptr<const SideParts> side;  // for codecs whose numbers need more than the bytes; else null

  int64_t rows() const { return shape.rank() == 0 ? 1 : shape[0]; }
  int64_t row_values() const { return rows() == 0 ? 0 : shape.elements() / rows(); }
  int64_t elements() const { return shape.elements(); }
  uint64_t stored_bytes() const;  // side parts included
  // The file does not tell the layer's shape: `shape` is a guess, and the layer sets its own before `check` judges it.
  bool shape_is_open() const;

  void decode_rows(int64_t first, int64_t count, float* out) const { codec->decode(*this, first, count, out); }
  std::vector<float> decode_all() const;
};

// The tensors and settings beside a weight's bytes that its codec reads: scales, zero points, low-rank factors. Keys
// are the codec's own names ("scale"), not the file's.
struct SideParts {
  std::map<std::string, Weight, std::less<>> tensors;
  std::map<std::string, int64_t, std::less<>> settings;

  const Weight* find(std::string_view key) const;
  int64_t setting(std::string_view key, int64_t fallback) const;
};

// The bytes that `elements` values take in whole blocks.
int64_t encoded_bytes(const Codec& codec, int64_t elements);

// A weight made of plain numbers in memory of its own; for tests and for what a caller brings.
Weight weight_from(std::span<const float> values, const Shape& shape, const Codec& codec, std::string name = {});

}  // namespace veneer::codec
