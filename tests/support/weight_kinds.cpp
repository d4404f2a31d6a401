// One maker for each way of storing: encoded numbers, random bytes with sound scales, and codes with side parts.
#include "tests/support/weight_kinds.h"

#include <algorithm>
#include <random>

#include "codec/blocks.h"
#include "codec/sdnq_types.h"

namespace veneer::test {
namespace {

using codec::Codec;
using codec::Weight;

constexpr std::string_view kSdnqKinds[] = {
    "sdnq:int8",        "sdnq:int8:svd",      "sdnq:int8:rotated", "sdnq:int8:transposed", "sdnq:uint8",
    "sdnq:int4",        "sdnq:uint4",         "sdnq:uint4:svd",    "sdnq:uint4:rotated",   "sdnq:uint4:svd:rotated",
    "sdnq:uint5",       "sdnq:int6",          "sdnq:uint2",        "sdnq:float8_e4m3fn",   "sdnq:float6_e3m2fn",
    "sdnq:float16:svd", "sdnq:float4_e2m1fn",
};

class Maker {
 public:
  Maker(const Codec* codec, const Shape& shape, uint32_t seed) : codec_(codec), shape_(shape), random_(seed) {}

  std::vector<float> numbers(int64_t count, float low, float high) {
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = uniform(random_);
    return values;
  }
  std::vector<uint8_t> bytes(int64_t count, int low = 0, int high = 255) {
    std::vector<uint8_t> out(static_cast<size_t>(count));
    for (uint8_t& byte : out) byte = static_cast<uint8_t>(low + static_cast<int>(random_() % (high - low + 1u)));
    return out;
  }

  Maker& part(const std::string& key, const Shape& shape, float low, float high) {
    return part(key, numbers(shape.elements(), low, high), shape);
  }
  Maker& part(const std::string& key, const std::vector<float>& values, const Shape& shape) {
    side_.tensors[key] = codec::weight_from(values, shape, *codec::find_codec("f32"), key);
    return *this;
  }
  Maker& bytes_part(const std::string& key, std::vector<uint8_t> values) {
    const Shape shape{static_cast<int64_t>(values.size())};
    side_.tensors[key] = of_bytes(key, nullptr, shape, std::move(values));
    return *this;
  }
  Maker& set(const std::string& key, int64_t value) {
    side_.settings[key] = value;
    return *this;
  }

  Weight made(std::vector<uint8_t> codes) {
    Weight weight = of_bytes("w", codec_, shape_, std::move(codes));
    if (!side_.tensors.empty()) weight.side = std::make_shared<const codec::SideParts>(std::move(side_));
    return weight;
  }

 private:
  static Weight of_bytes(std::string name, const Codec* codec, const Shape& shape, std::vector<uint8_t> bytes) {
    const auto memory = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    return {std::move(name), codec, shape, std::as_bytes(std::span(*memory)), memory, nullptr};
  }

  const Codec* codec_;
  Shape shape_;
  std::mt19937 random_;
  codec::SideParts side_;
};

struct Site {
  Shape shape;
  int64_t rows() const { return shape[0]; }
  int64_t inputs() const { return shape[1]; }
  int64_t row_values() const { return shape.elements() / shape[0]; }
};

Weight encoded(const Codec& codec, const Site& site, Maker& maker) {
  const int64_t blocks = (site.shape.elements() + codec.block_values - 1) / codec.block_values;
  std::vector<uint8_t> bytes(static_cast<size_t>(blocks * codec.block_bytes));
  codec.encode(maker.numbers(blocks * codec.block_values, -1, 1), std::as_writable_bytes(std::span(bytes)).data());
  return maker.made(std::move(bytes));
}

Weight doubles(const Site& site, Maker& maker) {
  const std::vector<float> numbers = maker.numbers(site.shape.elements(), -1, 1);
  const std::vector<double> wide(numbers.begin(), numbers.end());
  std::vector<uint8_t> bytes(wide.size() * sizeof(double));
  std::memcpy(bytes.data(), wide.data(), bytes.size());
  return maker.made(std::move(bytes));
}

// Where blocks of formats without an encoder keep their F16 scales, and what lies there.
struct ScaleField {
  std::string_view codec;
  std::vector<int> places;
  float scale;
};
const ScaleField* scale_field(const Codec& codec) {
  static const ScaleField kFields[] = {{"q2_K", {80, 82}, 0.02f}, {"q3_K", {108}, 0.008f},  {"q5_K", {0, 2}, 0.0005f},
                                       {"iq4_nl", {0}, 0.008f},   {"iq4_xs", {0}, 0.0003f}, {"tq1_0", {52}, 1},
                                       {"tq2_0", {64}, 1}};
  const auto* found = std::ranges::find(kFields, codec.name, &ScaleField::codec);
  return found == std::end(kFields) ? nullptr : found;
}

Weight blocks(const Codec& codec, const Site& site, Maker& maker) {
  std::vector<uint8_t> bytes = maker.bytes(codec::encoded_bytes(codec, site.shape.elements()));
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(codec.block_bytes)) {
    if (const ScaleField* field = scale_field(codec))
      for (const int place : field->places) codec::store_f16(field->scale, &bytes[block + static_cast<size_t>(place)]);
    if (codec.name == "mxfp4") bytes[block] = static_cast<uint8_t>(124 + bytes[block] % 4);
    if (codec.name == "nvfp4")
      for (size_t i = 0; i < 4; ++i) bytes[block + i] = static_cast<uint8_t>(0x20 + bytes[block + i] % 16);
  }
  return maker.made(std::move(bytes));
}

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// MXFP8 and NVFP4 with padded rows and columns; `tiled` as one of the two makers stores them.
Weight short_runs(const Codec& codec, const Site& site, bool tiled, Maker& maker) {
  const bool mx = codec.name == "mxfp8";
  const int64_t run = mx ? 32 : 16, rows = round_up(site.rows(), run), columns = round_up(site.row_values(), run);
  const int64_t scales = tiled ? round_up(rows, 128) * round_up(columns / run, 4) : rows * (columns / run);
  maker.set("stored_rows", rows).set("stored_columns", columns).set("tiled", tiled);
  maker.bytes_part("block_scale", mx ? maker.bytes(scales, 118, 122) : maker.bytes(scales, 0x28, 0x38));
  maker.part("scale", Shape{}, 0.1f, 0.2f);
  // No code of MXFP8 is NaN.
  return maker.made(mx ? maker.bytes(rows * columns, 0, 0x7E) : maker.bytes(rows * columns / 2));
}

Weight bitsandbytes(const Site& site, Maker& maker) {
  constexpr int64_t kBlock = 64, kNestedBlock = 256;
  const int64_t blocks = (site.shape.elements() + kBlock - 1) / kBlock;
  maker.set("block", kBlock).set("nested_block", kNestedBlock);
  maker.part("table", Shape{16}, -1, 1).part("nested_table", Shape{256}, -1, 1);
  maker.part("nested_absmax", Shape{(blocks + kNestedBlock - 1) / kNestedBlock}, 0.1f, 0.3f);
  maker.part("nested_offset", Shape{1}, 0.5f, 1).bytes_part("absmax", maker.bytes(blocks));
  return maker.made(maker.bytes((site.shape.elements() + 1) / 2));
}

Weight scaled(const Codec& codec, const Site& site, Maker& maker) {
  const bool int8 = codec.name == "int8_scaled", e5m2 = codec.name == "f8_e5m2_scaled";
  maker.part("scale", Shape{site.rows()}, 0.5f * 0x1p-7f, 0x1p-7f);
  return maker.made(maker.bytes(site.shape.elements(), 0, int8 ? 255 : e5m2 ? 0x50 : 0x7E));
}

// A scale and a zero point for groups of up to 64 inputs and each kernel position, or one for a row when transposed.
std::optional<Weight> sdnq(const std::string& kind, const Site& site, Maker& maker) {
  const std::string name = kind.substr(5, kind.find(':', 5) - 5);
  const codec::SdnqType type = *codec::parse_sdnq_type(name);
  const bool transposed = contains(kind, ":transposed");
  const int word_bytes = type.bits > 8 ? 2 : 1;
  const auto size = codec::sdnq_bytes(type, word_bytes, site.shape.elements());
  if (!size || (transposed && site.rows() < 2)) return std::nullopt;
  maker.set("type", codec::to_setting(type)).set("word_bytes", word_bytes);
  if (transposed) maker.set("stored_rows", site.row_values());
  int64_t group = 64;
  while (site.inputs() % group != 0) --group;
  const int64_t positions = site.row_values() / site.inputs();
  const Shape scales = transposed ? Shape{1, site.rows()} : Shape{site.rows(), site.inputs() / group, 1, positions};
  const float unit = type.is_integer() ? 1 / static_cast<float>(1 << (type.bits - 1)) : 0.01f;
  maker.part("scale", scales, 0.5f * unit, unit);
  if (type.is_unsigned) maker.part("zero_point", scales, -1, -0.5f);
  if (contains(kind, ":rotated")) maker.set("rotation_cap", 256);
  if (contains(kind, ":svd")) {
    const int64_t rank = std::min<int64_t>({32, site.rows(), site.row_values()});
    maker.part("svd_up", Shape{site.rows(), rank}, -0.2f, 0.2f);
    maker.part("svd_down", Shape{rank, site.row_values()}, -0.2f, 0.2f);
  }
  // Codes of E4M3 and F16 without NaN and infinity.
  const bool native = type.kind != codec::SdnqType::Kind::kInteger && type.kind != codec::SdnqType::Kind::kMinifloat;
  return maker.made(maker.bytes(*size, 0, native ? 0x50 : 255));
}

}  // namespace

std::vector<std::string> weight_kinds() {
  std::vector<std::string> kinds;
  for (const Codec* codec : codec::codecs())
    if (codec->name != "sdnq") kinds.emplace_back(codec->name);
  kinds.emplace_back("nvfp4_scaled:plain");
  kinds.insert(kinds.end(), std::begin(kSdnqKinds), std::end(kSdnqKinds));
  return kinds;
}

std::optional<Weight> weight_of_kind(const std::string& kind, const Shape& shape, uint32_t seed) {
  const Codec* codec = codec::find_codec(kind.substr(0, kind.find(':')));
  VENEER_CHECK(codec != nullptr);
  const Site site{shape};
  Maker maker(codec, shape, seed);
  if (codec->name == "sdnq") return sdnq(kind, site, maker);
  if (codec->encode != nullptr) return encoded(*codec, site, maker);
  if (codec->name == "f64") return doubles(site, maker);
  if (codec->name == "mxfp8" || codec->name == "nvfp4_scaled")
    return short_runs(*codec, site, !contains(kind, ":plain"), maker);
  if (codec->name.starts_with("bnb")) return bitsandbytes(site, maker);
  if (codec->name.ends_with("_scaled")) return scaled(*codec, site, maker);
  return blocks(*codec, site, maker);
}

}  // namespace veneer::test
