// What a converted file says beside its tensors: the source's metadata, the records of its quantized layers, the
// configurations that a single file carries, and the configuration of a component in a folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/gguf_write.h"
#include "io/tensor_file.h"
#include "io/type_rules.h"
#include "pipeline/convert_input.h"

namespace veneer::pipeline {

enum class ConvertTarget { kSafetensors, kGguf, kFolder };

class ConvertNotes {
 public:
  ConvertNotes(const ConvertInput& input, ConvertTarget target);

  // Of a source; what an earlier one said of a key stays. Numbers and truth values of GGUF sources are left out,
  // because their kinds are no longer known.
  void add_metadata(const io::WeightStore& source);
  // A weight that is encoded: its layer's name in the output and in the source.
  void add_encoded(const std::string& out_layer, const std::string& layer, const io::TargetType& type);
  // Side factors, of this rank with what was there, come to an SDNQ weight that is copied.
  void add_factors(const std::string& parameter, int64_t rank);
  // One that is copied.
  void add_kept(const std::string& out_layer, const std::string& layer, const codec::Weight& weight);
  // Gives a tensor a record that GGUF can hold: a scalar becomes a row of one, blocks that run across the true rows get
  // rows of their own, and a pair that keeps the shape.
  void fit_into_record(io::TensorPlan& tensor, const codec::Codec* codec);

  // Errors: those of safetensors_layout and gguf_layout.
  Result<io::FileLayout> layout(std::span<const io::TensorPlan> tensors) const;
  // The component's config.json with the quantization of its weights; null where there is nothing to say.
  // Errors: unsupported for SDNQ weights beside others whose configuration cannot be told apart.
  Result<Json> component_config(const ConvertComponent& component) const;

 private:
  Result<io::WeightStore::Metadata> texts() const;
  Result<Json> records() const;
  Result<Json> quantization(const ConvertComponent& component) const;
  void override_factors(const Json& older, Json& overrides) const;

  ConvertTarget target_;
  io::WeightStore::Metadata metadata_;
  Json carried_ = Json::object();
  io::GgufMetadata true_shapes_;
  std::map<std::string, std::string> kept_;                    // source layer -> layer in the output; quantized ones
  std::map<std::string, codec::ScaledForm> scaled_;            // by layer in the output
  std::vector<std::pair<std::string, codec::SdnqForm>> sdnq_;  // parameters, in the source's spelling
  std::map<std::string, int64_t> factors_;                     // ranks by parameter, in the source's spelling
  std::vector<std::string> plain_;                             // matrices that stay as they are
  bool keeps_sdnq_ = false;
};

}  // namespace veneer::pipeline
