// Where the numbers of one SDNQ weight lie: which scale goes with which code, whether codes and low-rank factors are
// stored transposed, how wide the rotation is. All of it follows from the layer's shape, the stored shapes and the
// settings; nothing here reads a value.
//
// Side parts: "scale", "zero_point" (both plain or SDNQ themselves), "svd_up", "svd_down".
// Settings:   "type"            what the codes mean, to_setting(SdnqType)
//             "word_bytes"      size of a packed word (1, 2, or 8 for one-bit codes)
//             "stored_rows"     first size of unpacked codes stored as a matrix; else absent
//             "codebook"        1: "scale" is a table that the codes index
//             "rotation_cap"    0: not rotated; else the largest group of the rotation
//             "product_linear", "product_conv"  1: the file is laid out for a quantized product of such a layer
//             "product_weight"  1: so is its weight, not only its low-rank factors
#pragma once

#include "codec/sdnq_types.h"
#include "codec/weight.h"

namespace veneer::codec {

struct SdnqLayout {
  SdnqType type;
  int word_bytes = 1;
  bool transposed = false;  // codes lie as [row values, rows]

  // The scale of input i at kernel position p of row r lies at
  // r * scale_row + i / group * scale_group + p * scale_position; a codebook's entry q another q * table_step behind.
  int64_t positions = 1;  // of the kernel
  int64_t group = 1;      // inputs that share a scale
  int64_t scale_row = 0, scale_group = 0, scale_position = 0, table_step = 0;

  int64_t rank = 0;  // of the low-rank part; 0 when there is none
  bool factors_transposed = false;
  int64_t rotation = 1;  // values in a group; 1 is no rotation

  bool is_codebook() const { return table_step > 0; }
};

// Errors: bad_file naming the tensor and what does not fit.
Result<SdnqLayout> sdnq_layout(const Weight& weight);

}  // namespace veneer::codec
