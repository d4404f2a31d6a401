// The layout from shapes alone. Nothing tells a weight stored for the quantized product but the shape of its scale:
// [1, rows] is transposed, [rows, 1] is not; only where that is silent the settings decide.
#include "codec/sdnq_layout.h"

#include "codec/hadamard.h"
#include "codec/side.h"

namespace veneer::codec {
namespace {

// The sizes that everything is measured against.
struct Sizes {
  int64_t rows, inputs, positions;
  int64_t row_values() const { return inputs * positions; }
};

Sizes sizes_of(const Weight& weight) {
  const int64_t inputs = weight.shape.rank() > 1 ? weight.shape[1] : 1;
  return {weight.rows(), inputs, weight.row_values() / inputs};
}

// Whether the settings lay this layer out for the quantized product, which needs sizes of whole tiles.
bool product_in_force(const Weight& weight, const Sizes& sizes) {
  const bool conv = weight.shape.rank() > 2;
  const auto whole = [](int64_t size) { return size >= 32 && size % 16 == 0; };
  return weight.side->setting(conv ? "product_conv" : "product_linear", 0) != 0 && whole(sizes.rows) &&
         whole(sizes.inputs);
}

// One scale a row of codes stored [row values, rows]; true when that is what the shapes say.
bool is_transposed(const Weight& weight, const Sizes& sizes, const Shape& scale) {
  const int64_t stored_rows = weight.side->setting("stored_rows", -1);
  if (stored_rows != sizes.row_values() || scale.rank() != 2 || scale[0] != 1) return false;
  if (scale[1] > 1) return scale[1] == sizes.rows;
  const bool square = stored_rows == sizes.rows;
  return !square || (product_in_force(weight, sizes) && weight.side->setting("product_weight", 0) != 0);
}

// Scales of a transposed convolution, [1, outputs, kernel]: its first size is the inputs.
bool is_per_column(const Sizes& sizes, const Shape& scale) {
  return scale.rank() > 2 && scale[0] == 1 && scale[1] == sizes.inputs && scale.elements() == sizes.row_values();
}

// Scales lie as [rows, groups, (table,) positions], whatever ones stand between.
Status spread_scales(const Weight& weight, const Sizes& sizes, const Shape& scale, SdnqLayout& layout) {
  const int64_t entries = weight.side->setting("codebook", 0) != 0 ? int64_t{1} << layout.type.bits : 1;
  layout.group = sizes.inputs;
  layout.table_step = entries > 1 ? 1 : 0;
  if (scale.elements() == entries) return {};  // one for the whole tensor
  if (entries == 1 && layout.transposed) {
    layout.scale_row = 1;
    return {};
  }
  layout.scale_position = 1;
  if (entries == 1 && is_per_column(sizes, scale)) {
    layout.group = 1;
    layout.scale_group = sizes.positions;
    return {};
  }
  const int64_t per_group = entries * sizes.positions;
  const int64_t groups = scale.elements() / (sizes.rows * per_group);
  const bool rows_agree = scale.rank() == 1 || scale[0] == sizes.rows;
  if (groups == 0 || groups * sizes.rows * per_group != scale.elements() || sizes.inputs % groups != 0 || !rows_agree)
    return misfit(weight, concat("its scale ", scale.to_string(), " cannot be spread over it"));
  layout.group = sizes.inputs / groups;
  layout.scale_row = groups * per_group;
  layout.scale_group = per_group;
  if (entries > 1) layout.table_step = sizes.positions;
  return {};
}

Status place_factors(const Weight& weight, const Sizes& sizes, SdnqLayout& layout) {
  const Weight* up = weight.side->find("svd_up");
  const Weight* down = weight.side->find("svd_down");
  if (up == nullptr && down == nullptr) return {};
  if (up == nullptr || down == nullptr) return misfit(weight, "only one of svd_up and svd_down is there");
  const Shape& u = up->shape;
  const Shape& d = down->shape;
  const bool matrices = u.rank() == 2 && d.rank() == 2;
  const bool plain = matrices && u == Shape{sizes.rows, u[1]} && d == Shape{u[1], sizes.row_values()};
  const bool turned = matrices && u == Shape{u[0], sizes.rows} && d == Shape{sizes.row_values(), u[0]};
  if (!plain && !turned)
    return misfit(weight, concat("its svd_up ", u.to_string(), " and svd_down ", d.to_string(), " do not fit it"));
  layout.factors_transposed = turned && (!plain || product_in_force(weight, sizes));
  layout.rank = layout.factors_transposed ? u[0] : u[1];
  for (const Weight* factor : {up, down}) VENEER_TRY_STATUS(factor->codec->check(*factor));
  return {};
}

// The scale and the zero point, each as a flat array of numbers.
Status check_vectors(const Weight& weight, const Weight& scale) {
  const Weight* zero_point = weight.side->find("zero_point");
  if (zero_point != nullptr && zero_point->elements() != scale.elements())
    return misfit(weight, concat("its zero point ", zero_point->shape.to_string(), " is unlike its scale ",
                                 scale.shape.to_string()));
  for (const Weight* vector : {&scale, zero_point}) {
    if (vector == nullptr) continue;
    Weight flat = *vector;
    flat.shape = {vector->elements()};
    VENEER_TRY_STATUS(flat.codec->check(flat));
  }
  return {};
}

Status check_codes(const Weight& weight, const SdnqLayout& layout) {
  const auto expected = sdnq_bytes(layout.type, layout.word_bytes, weight.elements());
  if (expected && *expected == static_cast<int64_t>(weight.bytes.size())) return {};
  return misfit(weight, concat("codes of ", layout.type.bits, " bits take ",
                               expected ? concat(*expected, " bytes") : "a whole number of groups", ", found ",
                               weight.bytes.size(), " bytes"));
}

}  // namespace

Result<SdnqLayout> sdnq_layout(const Weight& weight) {
  if (!weight.side) return misfit(weight, "has no side tensors");
  if (weight.elements() <= 0) return misfit(weight, "is empty");
  const Weight* scale = weight.side->find("scale");
  if (scale == nullptr) return misfit(weight, "has no scale");
  const Sizes sizes = sizes_of(weight);
  SdnqLayout layout;
  layout.type = sdnq_type_from(weight.side->setting("type", 0));
  layout.word_bytes = static_cast<int>(weight.side->setting("word_bytes", 1));
  if (weight.side->setting("codebook", 0) != 0 && !(layout.type.is_integer() && layout.type.is_unsigned))
    return misfit(weight, "a codebook needs codes without a sign");
  layout.positions = sizes.positions;
  layout.transposed = !layout.type.is_packed() && is_transposed(weight, sizes, scale->shape);
  VENEER_TRY_STATUS(check_codes(weight, layout));
  VENEER_TRY_STATUS(check_vectors(weight, *scale));
  VENEER_TRY_STATUS(spread_scales(weight, sizes, scale->shape, layout));
  VENEER_TRY_STATUS(place_factors(weight, sizes, layout));
  if (const int64_t cap = weight.side->setting("rotation_cap", 0); cap > 0)
    layout.rotation = hadamard_group(sizes.inputs, cap);
  return layout;
}

}  // namespace veneer::codec
