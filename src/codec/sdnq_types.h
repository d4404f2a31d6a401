// The number types of SDNQ by name: integers and small floats of 1 to 16 bits, and the processors' own floats. Knows
// how an array of codes lies in bytes and what each code means; nothing of scales and shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace veneer::codec {

struct SdnqType {
  enum class Kind : uint8_t {
    kInteger,    // signed ones of other widths than 8 and 16 are stored with an offset of 2^(bits - 1)
    kMinifloat,  // every code a finite number (minifloat.h)
    kE4M3,
    kE5M2,
    kF16,
    kBf16,
    kF32,
  };
  Kind kind = Kind::kInteger;
  bool is_unsigned = false;
  int bits = 8;
  int exponent = 0;  // bits of it; small floats only
  int mantissa = 0;

  bool is_integer() const { return kind == Kind::kInteger; }
  bool is_packed() const { return kind <= Kind::kMinifloat && bits != 8 && bits != 16; }
  bool operator==(const SdnqType&) const = default;
};

// "int8", "uint4", "float8_e4m3fn", "float6_e3m2fn", "float4_e2m2fnu", and the short names "fp8", "ufp4".
std::optional<SdnqType> parse_sdnq_type(std::string_view name);

// As one number, for SideParts::settings.
int64_t to_setting(const SdnqType& type);
SdnqType sdnq_type_from(int64_t setting);

// The bytes that hold `codes` codes, a whole number of groups. Empty when they are not, or `word_bytes` is impossible.
std::optional<int64_t> sdnq_bytes(const SdnqType& type, int word_bytes, int64_t codes);

// An array of codes as it lies in a file; `word_bytes` matters for packed types only.
struct SdnqCodes {
  SdnqType type;
  const std::byte* bytes;
  int word_bytes;
};
// The values of the codes [first, first + count).
void sdnq_numbers(const SdnqCodes& codes, int64_t first, int64_t count, float* out);

}  // namespace veneer::codec
