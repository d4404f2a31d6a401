// GLoRA: delta = scale * (W a1 a2 + b1 b2): a pair on the layer's input and one beside it. An older layout swaps the
// names within both pairs.
#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("a1") || keys.has("a2") || keys.has("b1") || keys.has("b2"); }

// Whether up a [in, rank], down a [rank, in], up b [rows, rank], down b [rank, ...] would fit the layer.
bool fits(const Site& site, const Tensor& up_a, const Tensor& down_a, const Tensor& up_b, const Tensor& down_b) {
  const int64_t in = site.layer->in(), rank = rank_of(down_a.shape);
  const auto is = [](const Tensor& tensor, int64_t rows, int64_t columns) {
    return rank_of(tensor.shape) == rows && tensor.elements() == rows * columns;
  };
  return is(up_a, in, rank) && is(down_a, rank, in) && is(up_b, site.rows, rank_of(down_b.shape));
}

struct Pairs {
  Tensor up_a, down_a, up_b, down_b;
};

Result<Pairs> read(Parts& parts, const Site& site) {
  VENEER_TRY(a1, parts.tensor("a1"));
  VENEER_TRY(a2, parts.tensor("a2"));
  VENEER_TRY(b1, parts.tensor("b1"));
  VENEER_TRY(b2, parts.tensor("b2"));
  if (fits(site, a1, a2, b1, b2)) return Pairs{a1, a2, b1, b2};
  if (fits(site, a2, a1, b2, b1)) return Pairs{a2, a1, b2, b1};
  return mismatch(site, "a1 ", a1.shape.to_string(), ", a2 ", a2.shape.to_string(), ", b1 ", b1.shape.to_string(),
                  ", b2 ", b2.shape.to_string(), " fit in neither layout, layer is ", site.shape().to_string());
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "GLoRA"));
  if (site.layer->geometry.groups != 1)
    return unsupported(site, "GLoRA mixes all input channels, a grouped convolution keeps them apart");
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(pairs, read(parts, site));
  const int64_t rank = rank_of(pairs.down_a.shape), in = site.layer->in();
  VENEER_TRY(scale, parts.scale(rank));
  if (parts.has("bm")) {
    VENEER_TRY(middle, parts.tensor("bm"));
    VENEER_TRY(folded, fold_core(site, "bm", middle, pairs.down_b));
    pairs.down_b = std::move(folded);
  }
  VENEER_TRY(beside, fit_factors(site, "b up", pairs.up_b, "b down", pairs.down_b));
  // The pair beside the layer comes first: it reads the input that the other has not yet changed.
  lowered.terms.push_back(low_rank_term(site, beside, scale, "glora"));
  const Shape down = site.shape().rank() == 4 ? Shape{rank, in, 1, 1} : Shape{rank, in};
  lowered.terms.push_back(nn::Pair{pairs.down_a.reshaped(down), pairs.up_a.reshaped({in, rank}),
                                   static_cast<float>(scale), nn::Side::kInput});
  return lowered;
}

}  // namespace

extern const Family kGlora{"glora", claims, to_terms};

}  // namespace veneer::adapt
