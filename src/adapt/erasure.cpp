// Doing what a merge does, to some rows of a weight, and comparing.
#include "adapt/erasure.h"

#include <algorithm>
#include <cmath>

#include "codec/form_of.h"
#include "core/format.h"
#include "nn/adapted_rows.h"

namespace veneer::adapt {
namespace {

constexpr int64_t kSampledValues = int64_t{1} << 18;
constexpr int64_t kStripes = 4;  // of rows, spread over the weight

struct Rows {
  int64_t first, count;
};

// The scale of one tensor and a low-rank part look at all rows.
bool judges_rows_together(const codec::Form& form) {
  if (const auto* scaled = std::get_if<codec::ScaledForm>(&form)) return !scaled->per_row;
  const auto* sdnq = std::get_if<codec::SdnqForm>(&form);
  return sdnq && sdnq->svd_rank > 0;
}

std::vector<Rows> sample(const codec::Weight& weight, const codec::Form& form) {
  const int64_t rows = weight.rows();
  if (weight.elements() <= kSampledValues || weight.shape.rank() < 2 || judges_rows_together(form)) return {{0, rows}};
  const int64_t count = std::max<int64_t>(1, kSampledValues / kStripes / weight.row_values());
  if (count * kStripes >= rows) return {{0, rows}};
  std::vector<Rows> stripes;
  for (int64_t i = 0; i < kStripes; ++i) stripes.push_back({i * (rows - count) / (kStripes - 1), count});
  return stripes;
}

Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

// What the form makes of these numbers.
Result<std::vector<float>> rounded(const codec::Form& form, std::span<const float> values, const Shape& shape,
                                   const std::string& name) {
  if (codec::stored_tensors(form, shape).empty())
    return Error{ErrorCode::kUnsupported,
                 concat("tensor ", name, ": its shape ", shape.to_string(), " does not fit the type asked for"), name};
  VENEER_TRY(encoded, codec::encode(form, values, shape, name));
  return codec::decodable(form, std::move(encoded), shape, name).decode_all();
}

bool lies_in(const codec::Weight& weight, const codec::Form& form) {
  const auto own = codec::form_of(weight);
  if (!own || own->index() != form.index()) return false;
  if (const auto* plain = std::get_if<codec::PlainForm>(&*own))
    return plain->codec == std::get<codec::PlainForm>(form).codec;
  if (const auto* scaled = std::get_if<codec::ScaledForm>(&*own)) {
    const auto& other = std::get<codec::ScaledForm>(form);
    return scaled->codec == other.codec && scaled->per_row == other.per_row;
  }
  const auto &sdnq = std::get<codec::SdnqForm>(*own), &other = std::get<codec::SdnqForm>(form);
  return sdnq.type == other.type && sdnq.group_size == other.group_size && other.svd_rank == 0;
}

// New values of these rows, in double.
std::vector<double> changed(const nn::Layer& layer, std::span<const nn::Program> programs, const Rows& rows) {
  if (layer.kind == nn::LayerKind::kNorm) return nn::adapted_vector(layer, programs, nn::Vector::Of::kWeight);
  return nn::adapted_rows(layer, programs, rows.first, rows.count);
}

Result<ErasureSums> measure_rows(const nn::Layer& layer, std::span<const nn::Program> programs, const codec::Form& form,
                                 const Rows& rows) {
  const codec::Weight& weight = layer.weight;
  const Shape shape = with_rows(weight.shape, rows.count);
  std::vector<double> change = changed(layer, programs, rows);
  std::vector<float> base(change.size());
  weight.decode_rows(rows.first, rows.count, base.data());
  for (size_t i = 0; i < base.size(); ++i) change[i] -= base[i];
  if (!lies_in(weight, form)) {
    VENEER_TRY(held, rounded(form, base, shape, weight.name));
    base = std::move(held);
  }
  std::vector<float> wanted(base.size());
  for (size_t i = 0; i < base.size(); ++i) wanted[i] = static_cast<float>(base[i] + change[i]);
  VENEER_TRY(achieved, rounded(form, wanted, shape, weight.name));

  ErasureSums sums;
  for (size_t i = 0; i < base.size(); ++i) {
    sums.measured.add(base[i], base[i] + change[i], achieved[i]);
    sums.change += change[i] * change[i];
    sums.weight += static_cast<double>(base[i]) * base[i];
  }
  if (const auto expected = expected_on_grids(form, shape, base, change))
    sums.expected = *expected;
  else
    sums.unpredicted = sums.change;
  return sums;
}

}  // namespace

void ErasureSums::add(const ErasureSums& other) {
  measured.add(other.measured);
  change += other.change;
  weight += other.weight;
  expected.add(other.expected);
  unpredicted += other.unpredicted;
}

double ErasureSums::rho() const { return weight > 0 ? std::sqrt(change / weight) : 0; }

std::optional<Achieved> ErasureSums::predicted() const {
  if (unpredicted > 0 || expected.change == 0) return std::nullopt;
  return Achieved{expected.kept / expected.change, std::sqrt(std::max(0.0, expected.lost / expected.change))};
}

Result<ErasureSums> measure_erasure(const nn::Layer& layer, std::span<const nn::Program> programs,
                                    const codec::Form& form) {
  ErasureSums sums;
  for (const Rows& rows : sample(layer.weight, form)) {
    VENEER_TRY(some, measure_rows(layer, programs, form, rows));
    sums.add(some);
  }
  return sums;
}

}  // namespace veneer::adapt
