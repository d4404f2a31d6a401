// From programs to values.
#include "pipeline/merge_changes.h"

#include <algorithm>

#include "codec/row_view.h"
#include "core/format.h"
#include "nn/adapted_rows.h"

namespace veneer::pipeline {
namespace {

bool is_vector_of(const nn::Term& term, nn::Vector::Of of) {
  const auto* vector = std::get_if<nn::Vector>(&term);
  return vector && vector->of == of;
}

template <typename Wanted>
bool has_term(const adapt::LayerPrograms& layer, const Wanted& wanted) {
  return std::ranges::any_of(layer.programs, [&](const nn::Program& program) {
    return !program.is_neutral() && std::ranges::any_of(program.terms, wanted);
  });
}

void copy_to(const std::vector<double>& values, float* out) {
  std::ranges::transform(values, out, [](double value) { return static_cast<float>(value); });
}

WeightChange weight_change(const adapt::LayerPrograms& layer) {
  const codec::Weight& weight = layer.layer->weight;
  WeightChange change{weight.shape, {}, low_rank_change(layer)};
  if (layer.layer->kind == nn::LayerKind::kNorm)
    change.rows = [&layer](int64_t first, int64_t count, float* out) {
      const auto all = nn::adapted_vector(*layer.layer, layer.programs, nn::Vector::Of::kWeight);
      copy_to({all.begin() + first, all.begin() + first + count}, out);
    };
  else
    change.rows = [&layer](int64_t first, int64_t count, float* out) {
      copy_to(nn::adapted_rows(*layer.layer, layer.programs, first, count), out);
    };
  return change;
}

WeightChange bias_change(const adapt::LayerPrograms& layer) {
  WeightChange change{{layer.layer->out()}, {}, {}};
  change.rows = [&layer](int64_t first, int64_t count, float* out) {
    const auto all = nn::adapted_vector(*layer.layer, layer.programs, nn::Vector::Of::kBias);
    copy_to({all.begin() + first, all.begin() + first + count}, out);
  };
  return change;
}

std::string bias_name(const std::string& weight_name) {
  constexpr std::string_view kWeight = "weight";
  return weight_name.ends_with(kWeight) ? weight_name.substr(0, weight_name.size() - kWeight.size()) + "bias"
                                        : std::string();
}

// The tensors of a model by their full names in its files.
class StoredTensors {
 public:
  explicit StoredTensors(const io::ModelFiles& files) {
    for (const auto& [part, content] : files.parts)
      for (const auto& [name, entry] : content.weights.entries()) tensors_[{part, entry.weight.name}] = &entry.weight;
  }
  const codec::Weight* find(io::Part part, const std::string& name) const {
    const auto found = tensors_.find({part, name});
    return found == tensors_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::pair<io::Part, std::string>, const codec::Weight*> tensors_;
};

}  // namespace

bool changes_weight(const adapt::LayerPrograms& layer) {
  return has_term(layer, [](const nn::Term& term) { return !is_vector_of(term, nn::Vector::Of::kBias); });
}

bool changes_bias(const adapt::LayerPrograms& layer) {
  return has_term(layer, [](const nn::Term& term) { return is_vector_of(term, nn::Vector::Of::kBias); });
}

std::optional<LowRankChange> low_rank_change(const adapt::LayerPrograms& layer) {
  const int64_t rows = layer.layer->out(), values = layer.layer->weight.row_values();
  struct Part {
    const nn::Pair* pair;
    float factor;
    int64_t first_row;
  };
  std::vector<Part> parts;
  LowRankChange change;
  for (const nn::Program& program : layer.programs)
    for (const nn::Term& term : program.terms) {
      if (program.is_neutral() || is_vector_of(term, nn::Vector::Of::kBias)) continue;
      const auto* pair = std::get_if<nn::Pair>(&term);
      if (!pair || pair->side == nn::Side::kInput || layer.layer->geometry.groups != 1) return std::nullopt;
      parts.push_back({pair, program.amount * pair->scale, program.first_row});
      change.rank += pair->up.shape[1];
    }
  if (parts.empty()) return std::nullopt;
  change.up.resize(static_cast<size_t>(rows * change.rank));
  change.down.resize(static_cast<size_t>(change.rank * values));
  int64_t at = 0;
  for (const auto& [pair, factor, first_row] : parts) {
    const int64_t rank = pair->up.shape[1];
    for (int64_t row = 0; row < pair->up.shape[0]; ++row)
      for (int64_t k = 0; k < rank; ++k)
        change.up[static_cast<size_t>((first_row + row) * change.rank + at + k)] =
            factor * pair->up.f32()[row * rank + k];
    std::copy_n(pair->down.f32(), rank * values, change.down.data() + at * values);
    at += rank;
  }
  return change;
}

// New values of the slices that change, stored ones between them.
WeightChange MergeChanges::joined(Fused fused) {
  WeightChange change{fused.whole.shape, {}, {}};
  change.rows = [fused = std::move(fused)](int64_t first, int64_t count, float* out) {
    const int64_t width = fused.whole.row_values(), rows = fused.whole.rows();
    fused.whole.decode_rows(first, count, out);
    for (const Slice& slice : fused.slices)
      for (int64_t at = 0, run = 0; at < slice.change.shape[0]; at += run) {
        // A view goes round past the end of what is stored.
        const int64_t row = (slice.first + at) % rows;
        run = std::min(slice.change.shape[0] - at, rows - row);
        const int64_t begin = std::max(first, row), end = std::min(first + count, row + run);
        if (begin < end) slice.change.rows(at + begin - row, end - begin, out + (begin - first) * width);
      }
  };
  return change;
}

void MergeChanges::add(const std::string& name, io::Part part, int64_t first, const codec::Weight* stored,
                       WeightChange change, FusedTensors& fused) {
  if (!stored || (first == 0 && change.shape[0] == stored->rows())) {
    changes_[name].emplace(part, std::move(change));
    return;
  }
  Fused& whole = fused[{name, part}];
  whole.whole = *stored;
  whole.slices.push_back({first, std::move(change)});
}

Result<MergeChanges> MergeChanges::make(std::span<const adapt::LayerPrograms> programs, const io::ModelFiles& files) {
  MergeChanges made;
  FusedTensors fused;
  const StoredTensors tensors(files);
  for (const adapt::LayerPrograms& layer : programs) {
    const std::string& name = layer.layer->weight.name;
    const codec::Weight* stored = tensors.find(layer.part, name);
    const bool is_slice = stored && stored->shape.rank() > 0;
    const int64_t first = is_slice ? codec::first_row_of(layer.layer->weight, *stored) : 0;
    if (changes_weight(layer)) made.add(name, layer.part, first, stored, weight_change(layer), fused);
    if (!changes_bias(layer)) continue;
    if (layer.layer->bias.empty())
      return Error{ErrorCode::kUnsupported,
                   concat("layer ", layer.layer->name,
                          ": an adapter adds to its bias, and the model has none to add to; "
                          "draw with the adapter instead of merging it"),
                   layer.layer->name};
    const std::string bias = bias_name(name);
    made.add(bias, layer.part, first, tensors.find(layer.part, bias), bias_change(layer), fused);
  }
  for (auto& [place, whole] : fused) made.changes_[place.first].emplace(place.second, joined(std::move(whole)));
  return made;
}

const WeightChange* MergeChanges::find(const ConvertComponent& component, std::string_view name) {
  const auto named = changes_.find(name);
  if (named == changes_.end()) return nullptr;
  const auto found = component.part ? named->second.find(*component.part) : named->second.begin();
  if (found == named->second.end()) return nullptr;
  taken_.insert(&found->second);
  return &found->second;
}

Status MergeChanges::all_taken() const {
  for (const auto& [name, parts] : changes_)
    for (const auto& [part, change] : parts)
      if (!taken_.contains(&change))
        return Error{ErrorCode::kUnsupported,
                     concat("tensor ", name, " of ", io::name_of(part),
                            ": an adapter changes it, and it is not among the tensors that are written"),
                     name};
  return {};
}

}  // namespace veneer::pipeline
