// SDNQ codes, scales and factors from numbers. What is written here is read by sdnq.cpp.
#include "codec/sdnq_encode.h"

#include <algorithm>
#include <cmath>

#include "codec/low_rank.h"
#include "codec/products.h"
#include "codec/scale_search.h"

namespace veneer::codec {
namespace {

// A weight as [rows, groups, inputs of a group, kernel positions].
struct Sizes {
  int64_t rows, inputs, positions, group;
  int64_t groups() const { return inputs / group; }
  int64_t row_values() const { return inputs * positions; }
  int64_t scales() const { return rows * groups() * positions; }
};

Sizes sizes_of(const SdnqForm& form, const Shape& shape) {
  return {shape[0], shape[1], shape.elements() / (shape[0] * shape[1]), sdnq_group(form, shape)};
}

int64_t rank_of(const SdnqForm& form, const Sizes& sizes) {
  return std::min({form.svd_rank, sizes.rows, sizes.row_values()});
}

const Codec& factor_codec(const SdnqForm& form) { return form.factors ? *form.factors : *find_codec("f32"); }

// `shape` with `middle` in the place of its second size.
Shape with_inputs(const Shape& shape, std::initializer_list<int64_t> middle) {
  std::vector<int64_t> sizes = {shape[0]};
  sizes.insert(sizes.end(), middle);
  sizes.insert(sizes.end(), shape.begin() + 2, shape.end());
  return Shape(std::span<const int64_t>(sizes));
}

std::vector<std::byte> stored(const Codec& codec, std::span<const float> values) {
  std::vector<std::byte> bytes(static_cast<size_t>(encoded_bytes(codec, static_cast<int64_t>(values.size()))));
  codec.encode(values, bytes.data());
  return bytes;
}

// The numbers that were stored, in the place of those that were meant.
void round_to(const Codec& codec, std::span<const std::byte> bytes, std::vector<float>& values) {
  const Weight weight{{}, &codec, {static_cast<int64_t>(values.size())}, bytes, nullptr, nullptr};
  values = weight.decode_all();
}

struct Factors {
  std::vector<std::byte> up, down;
};

// Takes the low-rank part, as it is stored, out of the values.
Factors split_off(const SdnqForm& form, const Sizes& sizes, std::vector<float>& values) {
  LowRank part = low_rank(values, sizes.rows, sizes.row_values(), rank_of(form, sizes));
  const Codec& codec = factor_codec(form);
  Factors factors{stored(codec, part.up), stored(codec, part.down)};
  round_to(codec, factors.up, part.up);
  round_to(codec, factors.down, part.down);
  for (float& factor : part.up) factor = -factor;
  const int64_t width = sizes.row_values();
  add_product(Product<float>{part.up.data(), part.rank, part.down.data(), width, part.rank, width, width}, sizes.rows,
              values.data());
  return factors;
}

// Codes one to a byte, and the numbers that go with them.
struct Codes {
  std::vector<std::byte> codes;
  std::vector<float> scale, zero;
};

// The values of one scale: `count` of them, `step` apart.
struct Run {
  int64_t begin, count, step;
};

struct Range {
  float least, largest;
};

Range range_of(std::span<const float> values, const Run& run) {
  Range range{values[static_cast<size_t>(run.begin)], values[static_cast<size_t>(run.begin)]};
  for (int64_t i = 0; i < run.count; ++i) {
    const float value = values[static_cast<size_t>(run.begin + i * run.step)];
    range.least = std::min(range.least, value);
    range.largest = std::max(range.largest, value);
  }
  return range;
}

// Encodes one run; its scale and zero point are number `at` of theirs.
void encode_run(const SdnqType& type, std::span<const float> values, const Run& run, int64_t at, Codes& out) {
  const Range range = range_of(values, run);
  const bool is_signed = !type.is_unsigned;
  const int low = is_signed ? -(1 << (type.bits - 1)) : 0, high = low + (1 << type.bits) - 1;
  const float zero = is_signed ? 0.0f : range.least;
  const float span = is_signed ? std::max(-range.least, range.largest) : range.largest - range.least;
  const float scale = span / static_cast<float>(high);
  const int offset = is_signed && type.is_packed() ? low : 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const auto place = static_cast<size_t>(run.begin + i * run.step);
    const float level = scale > 0 ? (values[place] - zero) / scale : 0.0f;
    out.codes[place] = static_cast<std::byte>(static_cast<int>(nearest(level, low, high)) - offset);
  }
  out.scale[static_cast<size_t>(at)] = scale;
  if (!is_signed) out.zero[static_cast<size_t>(at)] = zero;
}

Codes encode_codes(const SdnqForm& form, const Sizes& sizes, std::span<const float> values) {
  Codes out;
  out.codes.resize(values.size());
  out.scale.resize(static_cast<size_t>(sizes.scales()));
  if (form.type.is_unsigned) out.zero.resize(out.scale.size());
  int64_t at = 0;
  for (int64_t group = 0; group < sizes.rows * sizes.groups(); ++group)
    for (int64_t position = 0; position < sizes.positions; ++position)
      encode_run(form.type, values, {group * sizes.group * sizes.positions + position, sizes.group, sizes.positions},
                 at++, out);
  return out;
}

// Two codes a byte, the first in the low half.
std::vector<std::byte> packed(const std::vector<std::byte>& codes) {
  std::vector<std::byte> out(codes.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) out[i] = codes[2 * i] | codes[2 * i + 1] << 4;
  return out;
}

}  // namespace

int64_t sdnq_group(const SdnqForm& form, const Shape& shape) {
  const int64_t inputs = shape[1];
  const bool is_linear = shape.rank() == 2 && !form.is_embedding;
  int64_t group = form.group_size;
  if (group == 0) group = int64_t{1} << (1 + form.type.bits + is_linear + (form.svd_rank > 0));
  if (group < 0 || group >= inputs) return inputs;
  int64_t groups = inputs / group;
  while (inputs % groups != 0) --groups;
  return inputs / groups;
}

std::vector<StoredTensor> sdnq_tensors(const SdnqForm& form, const Shape& shape) {
  // One size is added where there are groups.
  const bool fits = shape.rank() >= 2 && shape.rank() < Shape::kMaxRank && shape.elements() > 0;
  const int64_t codes_in_byte = 8 / form.type.bits;
  if (!fits || shape.elements() % codes_in_byte != 0) return {};
  const Sizes sizes = sizes_of(form, shape);
  const bool rows = sizes.groups() == 1;
  const Shape grouped = rows ? shape : with_inputs(shape, {sizes.groups(), sizes.group});
  const Shape scale = rows ? with_inputs(shape, {1}) : with_inputs(shape, {sizes.groups(), 1});
  const bool whole_signed = !form.type.is_packed() && !form.type.is_unsigned;
  std::vector<StoredTensor> tensors = {{".weight", whole_signed ? "I8" : "U8",
                                        form.type.is_packed() ? Shape{shape.elements() / codes_in_byte} : grouped},
                                       {".scale", "F32", scale}};
  if (form.type.is_unsigned) tensors.push_back({".zero_point", "F32", scale});
  if (const int64_t rank = rank_of(form, sizes); rank > 0) {
    const std::string type = type_name(factor_codec(form));
    tensors.push_back({".svd_up", type, {sizes.rows, rank}});
    tensors.push_back({".svd_down", type, {rank, sizes.row_values()}});
  }
  return tensors;
}

std::vector<std::vector<std::byte>> encode_sdnq(const SdnqForm& form, std::span<const float> values,
                                                const Shape& shape) {
  const Sizes sizes = sizes_of(form, shape);
  const Codec& f32 = *find_codec("f32");
  std::vector<float> rest;
  Factors factors;
  if (rank_of(form, sizes) > 0) {
    rest.assign(values.begin(), values.end());
    factors = split_off(form, sizes, rest);
    values = rest;
  }
  Codes codes = encode_codes(form, sizes, values);
  std::vector<std::vector<std::byte>> out;
  out.push_back(form.type.is_packed() ? packed(codes.codes) : std::move(codes.codes));
  out.push_back(stored(f32, codes.scale));
  if (form.type.is_unsigned) out.push_back(stored(f32, codes.zero));
  if (!factors.up.empty()) {
    out.push_back(std::move(factors.up));
    out.push_back(std::move(factors.down));
  }
  return out;
}

}  // namespace veneer::codec
