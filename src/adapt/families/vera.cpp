// VeRA: delta = diag(b) B diag(d) A, with projections A and B that all modules of a file share and of which a layer
// takes the corner of its size.
#include <algorithm>

#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("vera_lambda_b") || keys.has("vera_lambda_d"); }

// The first rows and columns of a shared projection, each row times its factor.
Tensor scaled_corner(const Tensor& shared, const Shape& shape, const Tensor& row_factors) {
  Tensor corner = Tensor::zeros(shape);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      corner.f32()[i * shape[1] + j] = row_factors.f32()[i] * shared.f32()[i * shared.shape[1] + j];
  return corner;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_matrix(site, "VeRA"));
  if (!keys.vera_down || !keys.vera_up)
    return unsupported(site,
                       "the file has no vera_A and vera_B: they came from the trainer's random generator; "
                       "save the adapter again with save_projection");
  VENEER_TRY(down, as_tensor(*keys.vera_down));
  VENEER_TRY(up, as_tensor(*keys.vera_up));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  const int64_t in = site.layer->weight.row_values();
  const bool fits = down.shape.rank() == 2 && up.shape.rank() == 2 && down.shape[0] == up.shape[1] &&
                    down.shape[1] >= in && up.shape[0] >= site.rows && site.layer->kernel_size() == 1;
  if (!fits)
    return mismatch(site, "vera_B ", up.shape.to_string(), " x vera_A ", down.shape.to_string(),
                    " does not cover a layer of ", site.shape().to_string());
  const int64_t rank = down.shape[0];
  VENEER_TRY(row_factors, parts.vector("vera_lambda_b", site.rows));
  VENEER_TRY(rank_factors, parts.vector("vera_lambda_d", rank));
  VENEER_TRY(factors, fit_factors(site, "vera_B", scaled_corner(up, {site.rows, rank}, row_factors), "vera_A",
                                  scaled_corner(down, {rank, in}, rank_factors)));
  lowered.terms.push_back(low_rank_term(site, factors, 1, "vera"));
  return lowered;
}

}  // namespace

extern const Family kVera{"vera", claims, to_terms};

}  // namespace veneer::adapt
