// The programs of adapters as new values of a model's tensors, by the tensors' names in its files.
#pragma once

#include <map>
#include <set>
#include <string>

#include "adapt/layer_programs.h"
#include "io/model_files.h"
#include "pipeline/convert_changes.h"

namespace veneer::pipeline {

class MergeChanges {
 public:
  // The programs, their layers and the files that the layers are of must outlive this.
  // Errors: unsupported for a bias that the model's file does not have.
  static Result<MergeChanges> make(std::span<const adapt::LayerPrograms> programs, const io::ModelFiles& files);

  // As ConvertChanges::find. A tensor that was found counts as taken.
  const WeightChange* find(const ConvertComponent& component, std::string_view name);
  // Errors: unsupported naming a tensor that nobody asked for: it has no place in the output.
  Status all_taken() const;

 private:
  // A change of some rows of a tensor that a file holds for several layers.
  struct Slice {
    int64_t first = 0;
    WeightChange change;
  };
  struct Fused {
    codec::Weight whole;
    std::vector<Slice> slices;
  };
  using FusedTensors = std::map<std::pair<std::string, io::Part>, Fused>;
  void add(const std::string& name, io::Part part, int64_t first, const codec::Weight* stored, WeightChange change,
           FusedTensors& fused);
  static WeightChange joined(Fused fused);

  std::map<std::string, std::map<io::Part, WeightChange>, std::less<>> changes_;  // by the tensor's name
  std::set<const WeightChange*> taken_;
};

// Whether they change the layer's weight, and its bias.
bool changes_weight(const adapt::LayerPrograms& layer);
bool changes_bias(const adapt::LayerPrograms& layer);
// The weight's change where all of it is low-rank pairs, one below the other; else empty.
std::optional<LowRankChange> low_rank_change(const adapt::LayerPrograms& layer);

}  // namespace veneer::pipeline
