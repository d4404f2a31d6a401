// Each term cut by rows. Factors whose rows are the outputs are cut themselves; what cannot be cut as it is becomes a
// dense term that works out only the rows of the window.
#include "adapt/row_cut.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "nn/rotated_rows.h"
#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

// Calls work(row of the whole, row of the window, count) for each run that does not pass the end.
template <typename Work>
void for_runs(const RowWindow& window, int64_t first, int64_t count, const Work& work) {
  for (int64_t done = 0; done < count;) {
    const int64_t from = (window.first + first + done) % window.of;
    const int64_t run = std::min(count - done, window.of - from);
    work(from, done, run);
    done += run;
  }
}

// Rows of a tensor [rows, ...], of which one stands for `group` rows of the matrix.
Tensor rows_of(const Tensor& tensor, const RowWindow& window, int64_t group = 1) {
  Shape shape = tensor.shape;
  const int64_t width = tensor.elements() / shape[0];
  shape[0] = window.count / group;
  Tensor out = Tensor::zeros(shape);
  const RowWindow groups{window.first / group, window.count / group, window.of / group};
  for_runs(groups, 0, groups.count, [&](int64_t from, int64_t to, int64_t run) {
    std::copy_n(tensor.f32() + from * width, run * width, out.f32() + to * width);
  });
  return out;
}

bool is_at_borders(const RowWindow& window, int64_t group) {
  return window.first % group == 0 && window.count % group == 0 && window.of % group == 0;
}

// Trainers write separate pairs for q, k and v as one of three times the rank with zeros between: ranks that reach no
// row of the window are left out.
nn::Pair without_idle_ranks(nn::Pair pair) {
  const int64_t rows = pair.up.shape[0], rank = pair.up.shape[1], width = pair.down.elements() / rank;
  std::vector<int64_t> used;
  for (int64_t k = 0; k < rank; ++k)
    for (int64_t row = 0; row < rows; ++row)
      if (pair.up.f32()[row * rank + k] != 0.0f) {
        used.push_back(k);
        break;
      }
  if (used.empty()) used.push_back(0);
  const auto kept = static_cast<int64_t>(used.size());
  if (kept == rank) return pair;
  Shape down_shape = pair.down.shape;
  down_shape[0] = kept;
  nn::Pair out{Tensor::zeros(down_shape), Tensor::zeros({rows, kept}), pair.scale, pair.side};
  for (int64_t k = 0; k < kept; ++k) {
    const int64_t from = used[static_cast<size_t>(k)];
    std::copy_n(pair.down.f32() + from * width, width, out.down.f32() + k * width);
    for (int64_t row = 0; row < rows; ++row) out.up.f32()[row * kept + k] = pair.up.f32()[row * rank + from];
  }
  return out;
}

// One way to cut each kind of term.
class Cutter {
 public:
  Cutter(const std::shared_ptr<const nn::Layer>& whole, const RowWindow& window) : whole_(whole), window_(window) {}

  Result<nn::Term> operator()(const nn::Pair& pair) const {
    if (pair.side == nn::Side::kInput) return nn::Term(pair);
    return nn::Term(without_idle_ranks({pair.down, rows_of(pair.up, window_), pair.scale, pair.side}));
  }

  Result<nn::Term> operator()(const nn::Kron& kron) const {
    const int64_t c = kron.right_up.empty() ? kron.right_down.shape[0] : kron.right_up.shape[0];
    if (is_at_borders(window_, c))
      return nn::Term(nn::Kron{rows_of(kron.left, window_, c), kron.right_down, kron.right_up, kron.scale});
    nn::Dense dense;
    dense.held_bytes = nn::held_bytes(kron);
    dense.what = nn::describe(kron);
    dense.rows = [whole = whole_, window = window_, kron](int64_t first, int64_t count, float* rows) {
      const int64_t width = whole->weight.row_values();
      std::fill_n(rows, count * width, 0.0f);
      for_runs(window, first, count, [&](int64_t from, int64_t to, int64_t run) {
        nn::add_term_rows(kron, width, from, run, 1.0f, nullptr, rows + to * width);
      });
    };
    return nn::Term(std::move(dense));
  }

  Result<nn::Term> operator()(const nn::Dense& dense) const {
    nn::Dense cut = dense;
    cut.rows = [rows_of_whole = dense.rows, width = whole_->weight.row_values(), window = window_](
                   int64_t first, int64_t count, float* rows) {
      for_runs(window, first, count,
               [&](int64_t from, int64_t to, int64_t run) { rows_of_whole(from, run, rows + to * width); });
    };
    return nn::Term(std::move(cut));
  }

  Result<nn::Term> operator()(const nn::Vector& vector) const {
    return nn::Term(nn::Vector{vector.of, rows_of(vector.delta, window_)});
  }

  Result<nn::Term> operator()(const nn::Gain& gain) const {
    if (gain.side == nn::Side::kInput) return nn::Term(gain);
    return nn::Term(nn::Gain{rows_of(gain.factors, window_), gain.side});
  }

  Result<nn::Term> operator()(const nn::Rotate& rotate) const {
    if (rotate.side == nn::Side::kInput) return nn::Term(rotate);
    const int64_t n = rotate.blocks.shape[1];
    if (rotate.order.empty() && is_at_borders(window_, n))
      return nn::Term(nn::Rotate{rows_of(rotate.blocks, window_, n), {}, rotate.side});
    if (!is_first) return unsupported("a rotation that mixes outputs of several layers of this model");
    const auto base = [whole = whole_](int64_t first, int64_t count, float* rows) {
      whole->weight.decode_rows(first, count, rows);
    };
    return (*this)(nn::rotated_outputs(rotate, base, whole_->weight.row_values()));
  }

  Result<nn::Term> operator()(const nn::Replace&) const {
    return unsupported("a whole weight in the place of those of several layers");
  }

  bool is_first = true;  // nothing was done to the outputs before

 private:
  static Error unsupported(std::string_view what) {
    return {ErrorCode::kUnsupported, concat(what, " can not be taken apart"), "adapter"};
  }

  const std::shared_ptr<const nn::Layer>& whole_;
  const RowWindow& window_;
};

}  // namespace

Result<std::vector<nn::Term>> cut_rows(std::span<const nn::Term> terms, const std::shared_ptr<const nn::Layer>& whole,
                                       RowWindow window) {
  Cutter cutter(whole, window);
  std::vector<nn::Term> out;
  for (const nn::Term& term : terms) {
    VENEER_TRY(cut, std::visit(cutter, term));
    out.push_back(std::move(cut));
    if (!nn::acts_on_input(term)) cutter.is_first = false;
  }
  return out;
}

}  // namespace veneer::adapt
