// Small floats with a scale for each short run of a row: MXFP8 (E4M3, a power of two for 32 values) and NVFP4 (E2M1, an
// E4M3 scale for 16 values and one float32 scale for all). The stored matrix may be larger than the layer: rows and
// columns are padded.
//
// Side parts: "block_scale", bytes only; "scale", one float32 (NVFP4). Settings: "stored_rows", "stored_columns" in
// values; "tiled": 1 when the block scales lie in tiles of 128 x 4 and the even column is the high nibble, 0 when they
// lie in plain rows and the even column is the low nibble. Two makers use the same tensor names for these two.
#include <algorithm>
#include <array>
#include <bit>

#include "codec/f8.h"
#include "codec/nibble_pairs.h"
#include "codec/side.h"

namespace veneer::codec {
namespace {

// Bit 3 is the sign.
constexpr std::array<float, 16> kE2M1 = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
constexpr NibblePairs kLowFirst(kE2M1, NibblePairs::First::kLow), kHighFirst(kE2M1, NibblePairs::First::kHigh);

struct Kind {
  int64_t run;      // values that share a scale
  int64_t padding;  // what stored rows and columns are a multiple of
  int64_t bits;     // of a code
};
constexpr Kind kMx{32, 32, 8};
constexpr Kind kNv{16, 16, 4};

struct Stored {
  int64_t rows, columns;
  bool tiled;
};

Stored stored_of(const Weight& weight) {
  return {weight.side->setting("stored_rows", 0), weight.side->setting("stored_columns", 0),
          weight.side->setting("tiled", 1) != 0};
}

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// The place of the scale of stored row r and run c.
int64_t scale_place(const Stored& stored, int64_t runs, int64_t r, int64_t c) {
  if (!stored.tiled) return r * runs + c;
  const int64_t tile = r / 128 * round_up(runs, 4) / 4 + c / 4;
  return tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

Status check_blocks_of(const Weight& weight, const Kind& kind) {
  const Weight* scales = weight.side ? weight.side->find("block_scale") : nullptr;
  if (scales == nullptr) return misfit(weight, "has no block scales");
  const Stored stored = stored_of(weight);
  const auto fits = [&](int64_t size, int64_t stored_size) {
    return size > 0 && (size == stored_size || (size < stored_size && stored_size == round_up(size, kind.padding)));
  };
  if (!fits(weight.rows(), stored.rows) || !fits(weight.row_values(), stored.columns) || stored.columns % kind.run != 0)
    return misfit(weight, concat("does not fit what is stored, ", stored.rows, " rows of ", stored.columns));
  if (static_cast<int64_t>(weight.bytes.size()) != stored.rows * stored.columns * kind.bits / 8)
    return misfit(
        weight, concat("takes ", stored.rows * stored.columns * kind.bits / 8, " bytes, found ", weight.bytes.size()));
  const int64_t runs = stored.columns / kind.run;
  const int64_t expected = stored.tiled ? round_up(stored.rows, 128) * round_up(runs, 4) : stored.rows * runs;
  if (static_cast<int64_t>(scales->bytes.size()) != expected)
    return misfit(weight, concat("expected ", expected, " block scales, found ", scales->shape.to_string()));
  return {};
}

Status check_mxfp8(const Weight& weight) { return check_blocks_of(weight, kMx); }

Status check_nvfp4(const Weight& weight) {
  VENEER_TRY_STATUS(check_blocks_of(weight, kNv));
  const Weight* scale = weight.side->find("scale");
  if (scale == nullptr || scale->elements() != 1) return misfit(weight, "expected one scale for the whole tensor");
  return scale->codec->check(*scale);
}

// 2^(code - 127); code 0 stands for nothing at all.
float e8m0(std::byte code) { return std::bit_cast<float>(static_cast<uint32_t>(code) << 23); }

// Multiplies each run of a row by its scale; `scale_of` gives that of the place of a block scale.
template <typename ScaleOf>
void scale_runs(const Stored& stored, int64_t run, int64_t row, std::span<float> values, const ScaleOf& scale_of) {
  for (size_t begin = 0, c = 0; begin < values.size(); begin += static_cast<size_t>(run), ++c) {
    const float scale = scale_of(scale_place(stored, stored.columns / run, row, static_cast<int64_t>(c)));
    for (float& value : values.subspan(begin, std::min(static_cast<size_t>(run), values.size() - begin)))
      value *= scale;
  }
}

void decode_mxfp8(const Weight& weight, int64_t first, int64_t count, float* out) {
  const Stored stored = stored_of(weight);
  const std::byte* scales = weight.side->find("block_scale")->bytes.data();
  const int64_t row_values = weight.row_values();
  for (int64_t row = first; row < first + count; ++row, out += row_values) {
    f8_e4m3_to_f32(weight.bytes.data() + row * stored.columns, row_values, out);
    scale_runs(stored, kMx.run, row, {out, static_cast<size_t>(row_values)},
               [&](int64_t place) { return e8m0(scales[place]); });
  }
}

void decode_nvfp4(const Weight& weight, int64_t first, int64_t count, float* out) {
  const Stored stored = stored_of(weight);
  const std::byte* scales = weight.side->find("block_scale")->bytes.data();
  const float tensor_scale = weight.side->find("scale")->decode_all().front();
  const NibblePairs& pairs = stored.tiled ? kHighFirst : kLowFirst;
  const int64_t row_values = weight.row_values();
  for (int64_t row = first; row < first + count; ++row, out += row_values) {
    pairs.decode(weight.bytes.data(), row * stored.columns, row_values, out);
    scale_runs(stored, kNv.run, row, {out, static_cast<size_t>(row_values)},
               [&](int64_t place) { return f8_e4m3_to_f32(static_cast<uint8_t>(scales[place])) * tensor_scale; });
  }
}

}  // namespace

extern const Codec kMxfp8{"mxfp8", kMx.run, 33, check_mxfp8, decode_mxfp8, nullptr};
extern const Codec kScaledNvfp4{"nvfp4_scaled", kNv.run, 9, check_nvfp4, decode_nvfp4, nullptr};

}  // namespace veneer::codec
