// What all families share: reading the parts of a group while keeping account of those that were used, and the words
// for what does not fit a layer. Knows no family.
#pragma once

#include "adapt/family.h"

namespace veneer::adapt {

// Reads parts of `keys` and writes into `lowered.used` which ones took effect.
class Parts {
 public:
  Parts(const KeyGroup& keys, const Site& site, Lowered& lowered) : keys_(keys), site_(site), lowered_(lowered) {}

  bool has(std::string_view part) const { return keys_.has(part); }
  const GroupSettings& settings() const { return keys_.settings; }
  Shape shape(std::string_view part) const;  // empty when the part is missing

  // Errors: those of KeyGroup::need and number.
  Result<Tensor> tensor(std::string_view part);
  Result<double> number(std::string_view part);
  // A tensor of `count` values in any shape, as [count]. Errors also: mismatch naming the layer and both sizes.
  Result<Tensor> vector(std::string_view part, int64_t count);
  // KeyGroup::scale_for; tells the user when it is 0.
  Result<double> scale(int64_t rank);

  // Counts the part as used when it is there: a named rule says that it means nothing here.
  void ignore(std::string_view part);
  void notice(std::string text) { lowered_.notices.push_back(std::move(text)); }
  // A factor or difference of zeros is well-formed and does nothing: the user is told.
  void notice_if_zero(std::string_view part, const Tensor& tensor);

 private:
  const KeyGroup& keys_;
  const Site& site_;
  Lowered& lowered_;
};

// "<layer>: <what>", mismatch or unsupported.
template <typename... What>
Error mismatch(const Site& site, const What&... what) {
  return {ErrorCode::kMismatch, concat(site.layer->name, ": ", what...), site.layer->name};
}
template <typename... What>
Error unsupported(const Site& site, const What&... what) {
  return {ErrorCode::kUnsupported, concat(site.layer->name, ": ", what...), site.layer->name};
}

// The layer has a matrix that can be added to: anything but a norm. Errors: mismatch.
Status require_matrix(const Site& site, std::string_view family);
// The layer multiplies, so that its input and output can be turned: linear or convolution. Errors: unsupported.
Status require_product(const Site& site, std::string_view family);

// Whether two shapes differ at most by trailing dimensions of 1.
bool same_but_trailing_ones(const Shape& a, const Shape& b);

Tensor to_tensor(std::span<const double> values, const Shape& shape);

}  // namespace veneer::adapt
