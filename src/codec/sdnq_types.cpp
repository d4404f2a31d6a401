// Names, sizes and values of SDNQ's number types.
#include "codec/sdnq_types.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/convert.h"
#include "codec/f8.h"
#include "codec/sdnq_packing.h"
#include "codec/sdnq_runs.h"
#include "core/format.h"

namespace veneer::codec {
namespace {

using Kind = SdnqType::Kind;

struct Named {
  std::string_view name;
  SdnqType type;
};

constexpr Named kNative[] = {
    {"float8_e4m3fn", {Kind::kE4M3, false, 8, 4, 3}}, {"fp8", {Kind::kE4M3, false, 8, 4, 3}},
    {"float8_e5m2", {Kind::kE5M2, false, 8, 5, 2}},   {"float16", {Kind::kF16, false, 16, 5, 10}},
    {"fp16", {Kind::kF16, false, 16, 5, 10}},         {"bfloat16", {Kind::kBf16, false, 16, 8, 7}},
    {"float32", {Kind::kF32, false, 32, 8, 23}},
};

// Exponent bits of the short names fp1 to fp16; the rest is sign and mantissa.
constexpr int kShortExponents[] = {1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5};

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_number(std::string_view& text, int& value) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t number = 0;
  if (digits == 0 || !parse_number(text.substr(0, digits), number) || number > 16) return false;
  text.remove_prefix(digits);
  value = static_cast<int>(number);
  return true;
}

std::optional<SdnqType> parse_integer(std::string_view text, bool is_unsigned) {
  SdnqType type{Kind::kInteger, is_unsigned, 0, 0, 0};
  if (!take_number(text, type.bits) || !text.empty() || type.bits < (is_unsigned ? 1 : 2)) return std::nullopt;
  return type;
}

std::optional<SdnqType> parse_short_float(std::string_view text, bool is_unsigned) {
  SdnqType type{Kind::kMinifloat, is_unsigned, 0, 0, 0};
  if (!take_number(text, type.bits) || !text.empty() || type.bits < (is_unsigned ? 1 : 2)) return std::nullopt;
  type.exponent = kShortExponents[type.bits - 1];
  type.mantissa = type.bits - type.exponent - (is_unsigned ? 0 : 1);
  return type;
}

// "6_e3m2fn", behind "float".
std::optional<SdnqType> parse_float(std::string_view text) {
  constexpr std::string_view kMark = "_sdnq";
  if (text.ends_with(kMark)) text.remove_suffix(kMark.size());
  SdnqType type{Kind::kMinifloat, false, 0, 0, 0};
  const bool numbers = take_number(text, type.bits) && take(text, "_e") && take_number(text, type.exponent) &&
                       take(text, "m") && take_number(text, type.mantissa) && take(text, "fn");
  type.is_unsigned = take(text, "u");
  const int expected = type.exponent + type.mantissa + (type.is_unsigned ? 0 : 1);
  if (!numbers || !text.empty() || type.exponent < 1 || type.exponent > 5 || type.bits != expected) return std::nullopt;
  return type;
}

constexpr int64_t kChunk = 512;
using Chunk = std::array<uint16_t, kChunk>;

// The values of codes with a word for each. Signed integers are stored with an offset.
void values_of(const SdnqType& type, const Chunk& codes, int64_t count, float* out) {
  if (type.is_integer()) return codes_to_f32(codes.data(), count, type.is_unsigned ? 0 : 1 << (type.bits - 1), out);
  minifloats_to_f32(codes.data(), count, {type.exponent, type.mantissa, !type.is_unsigned}, out);
}

void packed_numbers(const SdnqCodes& packed, int64_t first, int64_t count, float* out) {
  const SdnqType& type = packed.type;
  if (type.is_integer() && type.bits == 4 && first % 2 == 0)
    return nibbles_to_f32(packed.bytes + first / 2, count, type.is_unsigned ? 0 : 8, out);
  Chunk codes;
  const SdnqWords words{packed.bytes, packed.word_bytes, type.bits};
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t now = std::min(kChunk, count - done);
    sdnq_unpack(words, first + done, now, codes.data());
    values_of(type, codes, now, out + done);
  }
}

// One code in one or two bytes of its own; signed integers of these sizes have no offset.
void whole_numbers(const SdnqType& type, const std::byte* bytes, int64_t count, float* out) {
  const bool wide = type.bits == 16;
  if (type.is_integer() && !wide) return (type.is_unsigned ? u8_to_f32 : i8_to_f32)(bytes, count, out);
  const auto flip = static_cast<uint16_t>(type.is_integer() && !type.is_unsigned ? 0x8000 : 0);
  Chunk codes;
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t now = std::min(kChunk, count - done);
    for (int64_t i = 0; i < now; ++i) {
      uint16_t code = 0;
      std::memcpy(&code, bytes + (done + i) * (wide ? 2 : 1), wide ? 2 : 1);
      codes[static_cast<size_t>(i)] = code ^ flip;
    }
    values_of(type, codes, now, out + done);
  }
}

}  // namespace

std::optional<SdnqType> parse_sdnq_type(std::string_view name) {
  const auto native = std::ranges::find(kNative, name, &Named::name);
  if (native != std::end(kNative)) return native->type;
  if (take(name, "uint")) return parse_integer(name, true);
  if (take(name, "int")) return parse_integer(name, false);
  if (take(name, "ufp")) return parse_short_float(name, true);
  if (take(name, "fp")) return parse_short_float(name, false);
  if (take(name, "float")) return parse_float(name);
  return std::nullopt;
}

int64_t to_setting(const SdnqType& type) {
  return static_cast<int64_t>(type.kind) | (type.is_unsigned ? 256 : 0) | int64_t{type.bits} << 16 |
         int64_t{type.exponent} << 24 | int64_t{type.mantissa} << 32;
}

SdnqType sdnq_type_from(int64_t setting) {
  const auto byte = [&](int shift) { return static_cast<int>((setting >> shift) & 255); };
  return {static_cast<Kind>(byte(0)), byte(8) != 0, byte(16), byte(24), byte(32)};
}

std::optional<int64_t> sdnq_bytes(const SdnqType& type, int word_bytes, int64_t codes) {
  if (!type.is_packed()) return codes * (type.bits / 8);
  const SdnqPacking packing = sdnq_packing(type.bits);
  const bool possible = word_bytes == (type.bits > 8 ? 2 : 1) || (type.bits == 1 && word_bytes == 8);
  if (!possible || codes % packing.codes != 0) return std::nullopt;
  return codes / packing.codes * packing.words * word_bytes;
}

void sdnq_numbers(const SdnqCodes& codes, int64_t first, int64_t count, float* out) {
  const SdnqType& type = codes.type;
  if (type.is_packed()) return packed_numbers(codes, first, count, out);
  const std::byte* start = codes.bytes + first * (type.bits / 8);
  switch (type.kind) {
    case Kind::kE4M3: return f8_e4m3_to_f32(start, count, out);
    case Kind::kE5M2: return f8_e5m2_to_f32(start, count, out);
    case Kind::kF16: return f16_to_f32(start, count, out);
    case Kind::kBf16: return bf16_to_f32(start, count, out);
    case Kind::kF32: std::memcpy(out, start, static_cast<size_t>(count) * sizeof(float)); return;
    case Kind::kInteger:
    case Kind::kMinifloat: return whole_numbers(type, start, count, out);
  }
}

}  // namespace veneer::codec
