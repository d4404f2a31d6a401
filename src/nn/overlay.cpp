// Brings programs into their running form: plain additions, combined gains, and what is left as programs.
#include "nn/overlay.h"

#include <algorithm>
#include <cstring>

#include "codec/side_factors.h"
#include "nn/rotated_rows.h"
#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

// Beside, a low-rank term costs this share of the base product at most before folding is preferred. Folding costs one
// pass over the weight when a panel is made, whatever the number of tokens.
constexpr double kFoldAbove = 0.04;

bool is_output_turn(const Term& term) {
  return (std::holds_alternative<Gain>(term) || std::holds_alternative<Rotate>(term)) && !acts_on_input(term);
}

bool is_rotation(const Term& term) { return std::holds_alternative<Rotate>(term); }

// The program with its only rotation as a change of the weight, which can be folded; nothing where other terms stand
// between the rotation and the weight. The overlay outlives what it folds.
std::optional<Program> with_rotated_rows(const Layer& layer, const Overlay& overlay, const Program& program) {
  if (layer.kind == LayerKind::kEmbedding || layer.geometry.groups != 1) return std::nullopt;
  if (program.terms.empty() || !is_rotation(program.terms.front())) return std::nullopt;
  const std::span<const Term> others = std::span(program.terms).subspan(1);
  if (std::ranges::any_of(others, [](const Term& t) { return is_rotation(t) || acts_on_input(t); }))
    return std::nullopt;
  const Rotate& rotate = std::get<Rotate>(program.terms.front());
  if (rotate.side == Side::kInput && std::ranges::any_of(others, is_additive)) return std::nullopt;
  Program changed = program;
  if (rotate.side == Side::kInput) {
    changed.terms.front() = rotated_inputs(rotate, layer.kernel_size());
  } else {
    const auto base = [&layer, &overlay](int64_t first, int64_t count, float* rows) {
      overlay.weight_of(layer).decode_rows(first, count, rows);
    };
    changed.terms.front() = rotated_outputs(rotate, base, layer.weight.row_values());
  }
  return changed;
}

// blocks[b, i, j] -> blocks[b, j, i], as RotateColumns reads them.
Rotate for_device(const Rotate& rotate) {
  Rotate turned = rotate;
  turned.blocks = rotate.blocks.clone();
  const int64_t n = rotate.blocks.shape[1];
  for (int64_t b = 0; b < rotate.blocks.shape[0]; ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        turned.blocks.f32()[(b * n + j) * n + i] = rotate.blocks.f32()[(b * n + i) * n + j];
  return turned;
}

class Maker {
 public:
  Maker(const Layer& layer, const OverlayOptions& options, Overlay& overlay)
      : layer_(layer), options_(options), overlay_(overlay) {}

  // Vectors and replacements, which take part in no product.
  void add_copies(const Program& program) {
    for (const Term& term : program.terms) {
      if (const Vector* vector = std::get_if<Vector>(&term)) add_vector(program, *vector);
      if (const Replace* replace = std::get_if<Replace>(&term)) add_replacement(*replace);
    }
  }

  void add_products(const Program& program) {
    Program rest = products_of(program);
    if (rest.terms.empty()) return;
    const bool input = std::any_of(rest.terms.begin(), rest.terms.end(), acts_on_input);
    const bool output = std::any_of(rest.terms.begin(), rest.terms.end(), is_output_turn);
    const bool rotates = std::ranges::any_of(rest.terms, is_rotation);
    if (!input && !rotates) return add_gained(rest);
    // Beside, a rotation costs up to an eighth of the product; folded nothing.
    if (options_.fold_pairs && options_.fold_dense && is_whole(rest))
      if (const auto changed = with_rotated_rows(layer_, overlay_, rest)) return add_gained(*changed);
    turn_rotations(rest);
    // A changed input reaches all outputs: where only a slice of them is meant, it is not a shift.
    const bool shifts = !output && is_whole(rest);
    (shifts ? overlay_.shifts : overlay_.turns).push_back(std::move(rest));
  }

  // Programs of additive terms alone give the same sum in any order and on anything.
  void add_chain(std::span<const Program> programs) {
    std::vector<Program> chain;
    bool turns = false;
    for (const Program& program : programs) {
      if (program.is_neutral()) continue;
      Program& rest = chain.emplace_back(products_of(program));
      if (rest.terms.empty()) {
        chain.pop_back();
        continue;
      }
      turns |= !std::all_of(rest.terms.begin(), rest.terms.end(), is_additive);
    }
    if (!turns || chain.size() < 2) {
      for (const Program& program : chain) add_products(program);
      return;
    }
    for (Program& program : chain) turn_rotations(program);
    overlay_.chain = std::move(chain);
  }

  void finish() {
    if (std::any_of(gain_.begin(), gain_.end(), [](double g) { return g != 1; }))
      overlay_.gain_out.assign(gain_.begin(), gain_.end());
    if (options_.side_factors && join_side_factors()) return;
    if (!should_fold()) return;
    overlay_.folded = std::move(overlay_.beside);
    overlay_.beside.clear();
    overlay_.route = Route::kFolded;
  }

 private:
  // Without the vectors and replacements.
  static Program products_of(const Program& program) {
    Program rest = program;
    std::erase_if(rest.terms, [](const Term& t) {
      return std::holds_alternative<Vector>(t) || std::holds_alternative<Replace>(t);
    });
    return rest;
  }

  static void turn_rotations(Program& program) {
    for (Term& term : program.terms)
      if (const Rotate* rotate = std::get_if<Rotate>(&term)) term = for_device(*rotate);
  }

  void add_vector(const Program& program, const Vector& vector) {
    const bool bias = vector.of == Vector::Of::kBias;
    std::optional<std::vector<float>>& copy = bias ? overlay_.bias : overlay_.norm;
    const std::vector<float>& own = bias ? layer_.bias : layer_.gain;
    if (!copy) copy = own.empty() ? std::vector<float>(static_cast<size_t>(layer_.out())) : own;
    for (int64_t i = 0; i < vector.delta.elements(); ++i)
      (*copy)[static_cast<size_t>(program.first_row + i)] += program.amount * vector.delta.f32()[i];
  }

  void add_replacement(const Replace& replace) {
    if (layer_.kind == LayerKind::kNorm)
      overlay_.norm = replace.weight.decode_all();
    else
      overlay_.weight = replace.weight;
  }

  bool is_whole(const Program& program) const {
    return program.first_row == 0 && (program.rows == 0 || program.rows == layer_.out());
  }

  // z = g (y0 + T x) is z = g y0 + (g T) x: the terms become plain additions, and all gains of the layer one vector.
  void add_gained(const Program& program) {
    const int64_t rows = program.rows == 0 ? layer_.out() : program.rows;
    std::vector<float> gain;
    std::vector<Addend> addends;
    for (auto term = program.terms.rbegin(); term != program.terms.rend(); ++term) {
      if (const Gain* factors = std::get_if<Gain>(&*term)) {
        if (gain.empty()) gain.assign(static_cast<size_t>(rows), 1.0f);
        for (size_t i = 0; i < gain.size(); ++i) gain[i] *= factors->factors.f32()[i];
      } else {
        addends.push_back({gain.empty() ? *term : with_row_factors(*term, layer_.weight.row_values(), gain),
                           program.amount, program.first_row});
      }
    }
    overlay_.beside.insert(overlay_.beside.end(), addends.rbegin(), addends.rend());
    if (gain.empty()) return;
    if (gain_.empty()) gain_.assign(static_cast<size_t>(layer_.out()), 1.0);
    for (size_t i = 0; i < gain.size(); ++i)
      gain_[static_cast<size_t>(program.first_row) + i] += double{program.amount} * (double{gain[i]} - 1);
  }

  // Beside, in multiplications for each output pixel.
  double cost(const Term& term) const {
    const double columns = static_cast<double>(layer_.weight.row_values()), out = static_cast<double>(layer_.out());
    if (const Pair* pair = std::get_if<Pair>(&term)) return static_cast<double>(pair->up.shape[1]) * (columns + out);
    if (const Kron* kron = std::get_if<Kron>(&term)) {
      const double groups = static_cast<double>(kron->left.shape[1]);
      return groups * static_cast<double>(kron->right_down.elements()) + groups * out;
    }
    return columns * out;
  }

  // All of them at once, when all are pairs for the whole layer.
  bool join_side_factors() {
    if (overlay_.weight || overlay_.beside.empty() || overlay_.turns_output() || !overlay_.shifts.empty()) return false;
    codec::Weight weight = layer_.weight;
    for (const Addend& addend : overlay_.beside) {
      const Pair* pair = std::get_if<Pair>(&addend.term);
      if (!pair || pair->up.shape[0] != layer_.out()) return false;
      Tensor up = pair->up.clone();
      for (float& value : up.values()) value *= addend.factor * pair->scale;
      auto joined = codec::with_side_factors(weight, up.values(), pair->down.values(), pair->up.shape[1]);
      if (!joined) return false;
      weight = *std::move(joined);
    }
    overlay_.weight = std::move(weight);
    overlay_.beside.clear();
    overlay_.route = Route::kFolded;
    return true;
  }

  bool should_fold() const {
    if (layer_.kind == LayerKind::kEmbedding || overlay_.beside.empty()) return false;
    if (!overlay_.turns.empty() || !overlay_.shifts.empty()) return false;
    double total = 0;
    bool dense = false;
    for (const Addend& addend : overlay_.beside) {
      if (addend.first_row != 0) return false;
      if (const Pair* pair = std::get_if<Pair>(&addend.term); pair && pair->up.shape[0] != layer_.out()) return false;
      dense |= std::holds_alternative<Dense>(addend.term);
      total += cost(addend.term);
    }
    if (dense) return options_.fold_dense;
    const double base = static_cast<double>(layer_.weight.elements());
    return options_.fold_pairs && total > kFoldAbove * base;
  }

  const Layer& layer_;
  const OverlayOptions& options_;
  Overlay& overlay_;
  std::vector<double> gain_;
};

}  // namespace

std::string_view name_of(Route route) {
  switch (route) {
    case Route::kBeside: return "beside";
    case Route::kFolded: return "folded";
    case Route::kMerged: return "merged";
  }
  return "";
}

int64_t Overlay::base_products() const {
  int64_t count = 1 + (turns_output() && !shifts.empty() ? 1 : 0);
  int64_t chained = 1;  // what an input reaches is run once for each way through the programs before
  for (const Program& program : chain)
    if (std::any_of(program.terms.begin(), program.terms.end(), acts_on_input)) chained *= 2;
  if (!chain.empty()) return chained;
  for (const Program& turn : turns) count += std::any_of(turn.terms.begin(), turn.terms.end(), acts_on_input) ? 1 : 0;
  return count;
}

int64_t Overlay::held_bytes() const {
  int64_t bytes =
      static_cast<int64_t>((gain_out.size() + (bias ? bias->size() : 0) + (norm ? norm->size() : 0)) * sizeof(float));
  for (const auto* addends : {&beside, &folded})
    for (const Addend& addend : *addends) bytes += nn::held_bytes(addend.term);
  for (const auto* programs : {&shifts, &turns, &chain})
    for (const Program& program : *programs)
      for (const Term& term : program.terms) bytes += nn::held_bytes(term);
  return bytes + (weight ? static_cast<int64_t>(weight->stored_bytes()) : 0);
}

std::shared_ptr<const Overlay> make_overlay(const Layer& layer, std::span<const Program> programs,
                                            const OverlayOptions& options, std::optional<codec::Weight> merged) {
  auto overlay = std::make_shared<Overlay>();
  Maker maker(layer, options, *overlay);
  bool changes = false;
  for (const Program& program : programs) {
    if (program.is_neutral()) continue;
    changes = true;
    for (const Term& term : program.terms) overlay->terms.push_back(describe(term));
    maker.add_copies(program);
    if (!merged && !options.chain) maker.add_products(program);
  }
  if (!changes) return nullptr;
  if (!merged && options.chain) maker.add_chain(programs);
  maker.finish();
  if (merged) {
    overlay->weight = std::move(merged);
    overlay->route = Route::kMerged;
  }
  return overlay;
}

}  // namespace veneer::nn
