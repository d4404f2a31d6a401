// Storing weights: numbers in memory become the tensors that a file holds, in every form that this program writes.
// One form per file (plain and block types here, scaled_encode.h, sdnq_encode.h); nothing here knows of files or
// containers. All functions are pure, so any number of threads may encode at once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/sdnq_types.h"
#include "codec/weight.h"

namespace veneer::codec {

// A type with an encoder: plain numbers or a stream of blocks.
struct PlainForm {
  const Codec* codec = nullptr;
};

// F8 codes times a scale in float32, one for the tensor or one for each row.
struct ScaledForm {
  const Codec* codec = nullptr;  // "f8_e4m3" or "f8_e5m2"
  bool per_row = false;
};

// SDNQ integers of 8 or 4 bits (sdnq_encode.h).
struct SdnqForm {
  SdnqType type;
  int64_t group_size = 0;          // inputs that share a scale; 0: chosen by the type; -1: the whole row
  int64_t svd_rank = 0;            // of the low-rank part; 0: none
  const Codec* factors = nullptr;  // of the low-rank part: F32 (also when null) or BF16
  bool is_embedding = false;       // a table of rows, not a product; its automatic group is half as wide
};

using Form = std::variant<PlainForm, ScaledForm, SdnqForm>;

// By the name that options use: any type with an encoder ("f16", "q4_K", "f8_e4m3"); "f8_e4m3_scaled",
// "f8_e4m3_scaled_rows" and the same of e5m2; "sdnq_int8", "sdnq_uint4" (also int4, uint8), with "_svd" behind for a
// low-rank part of rank 32. Letters of either case. Empty when there is no such form.
std::optional<Form> find_form(std::string_view name);
// All those names, for messages.
std::vector<std::string> form_names();

// A tensor as a file will hold it. Its name is the layer's name and the suffix: ".weight", ".weight_scale", ".scale",
// ".zero_point", ".svd_up", ".svd_down". A plain form has the one suffix "" and keeps the tensor's own name.
struct StoredTensor {
  std::string_view suffix;
  std::string type;  // as both containers spell types: "F16", "F8_E4M3", "U8", "Q4_K"
  Shape shape;
};

// The type of a plain form as both containers spell it.
std::string type_name(const Codec& codec);

// The tensors that a weight of this shape becomes, the weight first. Empty when the form cannot hold the shape: rows
// that are no whole number of blocks, or a weight of fewer than two dimensions (scaled and SDNQ forms).
std::vector<StoredTensor> stored_tensors(const Form& form, const Shape& shape);

// The bytes of each of stored_tensors(form, shape), which must not be empty (checked). `name` is for messages.
// Errors: bad_file naming the tensor for a value that is not finite, or too large for the scales of the type; plain F8
// saturates instead (f8.h).
Result<std::vector<std::vector<std::byte>>> encode(const Form& form, std::span<const float> values, const Shape& shape,
                                                   std::string_view name);

// A part of a plain form: `values`, a whole number of blocks, to `out`, which is just as long as they take (checked).
// For weights that are encoded piece by piece. Errors: as above.
Status encode_values(const Codec& codec, std::span<const float> values, std::string_view name,
                     std::span<std::byte> out);

// What was encoded, as a weight that decodes to the numbers that were really stored; owns its bytes.
Weight decodable(const Form& form, std::vector<std::vector<std::byte>> encoded, const Shape& shape, std::string name);

}  // namespace veneer::codec
