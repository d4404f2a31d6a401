// Rows of additive terms, each added as a sum of scaled rows of its factors, so that the inner loops run along memory.
#include "nn/term_rows.h"

#include <algorithm>

#include "codec/row_sums.h"

namespace veneer::nn {
namespace {

template <typename Real>
void add_scaled(const float* from, int64_t count, Real factor, Real* to) {
  if (factor == 0) return;
  for (int64_t i = 0; i < count; ++i) to[i] += factor * static_cast<Real>(from[i]);
}

// Where a term's rows go.
template <typename Real>
struct Block {
  int64_t first, count, width;
  Real factor;
  const float* base;
  Real* rows;
};

template <typename Real>
void add_rows(const Pair& pair, const Block<Real>& block) {
  const int64_t rank = pair.up.shape[1];
  std::vector<Real> factors(static_cast<size_t>(rank));
  for (int64_t row = 0; row < block.count; ++row) {
    const float* up = pair.up.f32() + (block.first + row) * rank;
    for (int64_t k = 0; k < rank; ++k)
      factors[static_cast<size_t>(k)] = block.factor * static_cast<Real>(pair.scale) * static_cast<Real>(up[k]);
    codec::add_scaled_rows(pair.down.f32(), block.width, factors.data(), rank, block.width,
                           block.rows + row * block.width);
  }
}

// Row p c + u, columns [q width, (q + 1) width), width = d * kh * kw: left[p, q] * row u of the right factor. The
// kernel is innermost on both sides, so a convolution is no case of its own.
template <typename Real>
void add_rows(const Kron& kron, const Block<Real>& block) {
  const bool split = !kron.right_up.empty();
  const int64_t a_columns = kron.left.shape[1], rank = split ? kron.right_up.shape[1] : 1;
  const int64_t c = split ? kron.right_up.shape[0] : kron.right_down.shape[0];
  const int64_t width = kron.right_down.elements() / kron.right_down.shape[0];
  for (int64_t row = 0; row < block.count; ++row) {
    const int64_t p = (block.first + row) / c, u = (block.first + row) % c;
    for (int64_t q = 0; q < a_columns; ++q) {
      const Real factor =
          block.factor * static_cast<Real>(kron.scale) * static_cast<Real>(kron.left.f32()[p * a_columns + q]);
      Real* to = block.rows + row * block.width + q * width;
      for (int64_t k = 0; k < rank; ++k)
        add_scaled(kron.right_down.f32() + (split ? k : u) * width, width,
                   split ? factor * static_cast<Real>(kron.right_up.f32()[u * rank + k]) : factor, to);
    }
  }
}

template <typename Real>
void add_rows(const Dense& dense, const Block<Real>& block) {
  std::vector<float> delta(static_cast<size_t>(block.count * block.width));
  if (dense.needs_base) std::copy_n(block.base, delta.size(), delta.data());
  dense.rows(block.first, block.count, delta.data());
  add_scaled(delta.data(), block.count * block.width, block.factor * static_cast<Real>(dense.scale), block.rows);
}

template <typename Real>
void add(const Term& term, const Block<Real>& block) {
  VENEER_CHECK(is_additive(term));
  if (const auto* pair = std::get_if<Pair>(&term)) add_rows(*pair, block);
  if (const auto* kron = std::get_if<Kron>(&term)) add_rows(*kron, block);
  if (const auto* dense = std::get_if<Dense>(&term)) add_rows(*dense, block);
}

}  // namespace

bool is_additive(const Term& term) {
  if (const auto* pair = std::get_if<Pair>(&term)) return pair->side == Side::kOutput;
  return std::holds_alternative<Kron>(term) || std::holds_alternative<Dense>(term);
}

void add_term_rows(const Term& term, int64_t width, int64_t first, int64_t count, float factor, const float* base,
                   float* rows) {
  add(term, Block<float>{first, count, width, factor, base, rows});
}

void add_term_rows(const Term& term, int64_t width, int64_t first, int64_t count, double factor, const float* base,
                   double* rows) {
  add(term, Block<double>{first, count, width, factor, base, rows});
}

Term with_row_factors(const Term& term, int64_t width, std::span<const float> factors) {
  if (const Pair* pair = std::get_if<Pair>(&term)) {
    Pair scaled = *pair;
    scaled.up = pair->up.clone();
    const int64_t rank = pair->up.shape[1];
    for (size_t row = 0; row < factors.size(); ++row)
      for (float& value : scaled.up.values().subspan(row * static_cast<size_t>(rank), static_cast<size_t>(rank)))
        value *= factors[row];
    return scaled;
  }
  Dense rows;
  rows.what = concat(describe(term), " under a gain");
  rows.needs_base = needs_base(term);
  rows.held_bytes = held_bytes(term) + static_cast<int64_t>(factors.size_bytes());
  rows.rows = [term, width, factors = std::vector<float>(factors.begin(), factors.end()), needs_base = rows.needs_base](
                  int64_t first, int64_t count, float* out) {
    std::vector<float> base;
    if (needs_base) base.assign(out, out + count * width);
    std::fill_n(out, count * width, 0.0f);
    add_term_rows(term, width, first, count, 1.0f, base.data(), out);
    for (int64_t i = 0; i < count * width; ++i) out[i] *= factors[static_cast<size_t>(first + i / width)];
  };
  return rows;
}

}  // namespace veneer::nn
