// Bytes that hold two codes of four bits, by one look-up for both: for formats whose codes index a table and whose
// neighbours share a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace veneer::codec {

class NibblePairs {
 public:
  enum class First : uint8_t { kLow, kHigh };  // which nibble comes first

  constexpr NibblePairs(std::span<const float, 16> table, First first) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const float low = table[byte & 15], high = table[byte >> 4];
      pairs_[byte] = first == First::kLow ? Pair{low, high} : Pair{high, low};
    }
  }

  // The codes [begin, begin + count) of an array, which may start and end inside a byte.
  void decode(const std::byte* in, int64_t begin, int64_t count, float* out) const {
    const int64_t end = begin + count;
    if (begin % 2 != 0 && begin < end) *out++ = pair(in[begin++ / 2])[1];
    for (; begin + 2 <= end; begin += 2, out += 2) {
      const Pair& both = pair(in[begin / 2]);
      out[0] = both[0];
      out[1] = both[1];
    }
    if (begin < end) *out = pair(in[begin / 2])[0];
  }

 private:
  using Pair = std::array<float, 2>;
  const Pair& pair(std::byte byte) const { return pairs_[static_cast<size_t>(byte)]; }

  std::array<Pair, 256> pairs_{};
};

}  // namespace veneer::codec
