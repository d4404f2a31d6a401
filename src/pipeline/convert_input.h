// What is converted: files of tensors as they lie on disk, each beside the view in which quantized weights are joined
// with their side tensors, and the names that its tensors have among all models.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "io/model_files.h"
#include "model/original_names.h"

namespace veneer::pipeline {

// One file of tensors (its shards together), alone or in a component's folder.
struct ConvertComponent {
  std::optional<io::Part> part;  // of all its tensors, where a folder or option says so
  std::string folder;            // its folder's name in the model's, "unet"; empty for a model that is one file
  io::WeightStore stored;        // every tensor of the file
  io::WeightStore joined;        // weights with their side tensors, by the same names
  Json config;                   // config.json without "quantization_config", or null
  Json quantization;             // "quantization_config", or null
};

struct ConvertInput {
  std::filesystem::path folder;  // a folder that is the model; else empty
  std::vector<ConvertComponent> components;
  Json scheduler;  // of a folder, or null
  std::vector<std::string> warnings;

  std::vector<std::shared_ptr<const MappedFile>> files() const;
};

// Errors: those of io::open_model_files; usage when nothing is named.
Result<ConvertInput> open_convert_input(const io::ModelPaths& paths);

class ComponentNames {
 public:
  explicit ComponentNames(const ConvertComponent& component);
  // In the original spelling, prefix in front; a tensor of no known part keeps its name.
  std::string canonical(std::string_view name) const;
  // As it is, with the part's prefix in front where the component is of one part and the name has no prefix yet.
  std::string prefixed(std::string_view name) const;

 private:
  struct Located {
    io::Part part;
    std::string_view name;  // without prefix
  };
  std::optional<Located> locate(std::string_view name) const;

  std::optional<io::Part> part_;  // that the component is
  std::optional<io::Part> bare_;  // that names without a prefix belong to
  std::map<io::Part, model::OriginalNames> names_;
};

}  // namespace veneer::pipeline
