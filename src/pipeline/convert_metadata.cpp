// Metadata of converted files.
#include "pipeline/convert_metadata.h"

#include <algorithm>
#include <cstdint>

#include "core/format.h"
#include "io/carried_config.h"
#include "io/quant_metadata.h"
#include "io/safetensors_write.h"
#include "io/sdnq_config.h"

namespace veneer::pipeline {
namespace {

constexpr const char* kModelPrefix = "model.diffusion_model.";  // that names in records may lack

bool is_gguf(const io::WeightStore& store) {
  constexpr std::string_view kMagic = "GGUF";
  if (store.files().empty()) return false;
  const auto bytes = store.files().front()->bytes();
  return bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) == kMagic;
}

bool is_number_or_truth(std::string_view text) {
  double ignored = 0;
  return text == "true" || text == "false" || parse_number(text, ignored);
}

// Of one layer among others with another: all that decoding and a reader's checks look at.
Json layer_override(const codec::SdnqForm& form) {
  Json config = io::sdnq_config(form, {});
  for (const char* whole : {"quant_method", "sdnq_version", "modules_to_not_convert", "modules_to_not_use_matmul",
                            "modules_dtype_dict", "modules_quant_config"})
    config.erase(whole);
  return config;
}

bool same_form(const codec::SdnqForm& a, const codec::SdnqForm& b) {
  return a.type == b.type && a.group_size == b.group_size && a.svd_rank == b.svd_rank;
}

}  // namespace

ConvertNotes::ConvertNotes(const ConvertInput& input, ConvertTarget target) : target_(target) {
  if (target == ConvertTarget::kFolder) return;
  for (const ConvertComponent& component : input.components)
    if (component.part && component.config.is_object())
      carried_[std::string(io::name_of(*component.part))] = component.config;
  if (input.scheduler.is_object()) carried_[io::kCarriedScheduler] = input.scheduler;
}

void ConvertNotes::add_metadata(const io::WeightStore& source) {
  const bool typed = is_gguf(source);
  for (const auto& [key, text] : source.metadata())
    if (!typed || !is_number_or_truth(text)) metadata_.emplace(key, text);
}

void ConvertNotes::add_encoded(const std::string& out_layer, const std::string& layer, const io::TargetType& type) {
  if (const auto* scaled = std::get_if<codec::ScaledForm>(&type.form)) scaled_.emplace(out_layer, *scaled);
  if (const auto* sdnq = std::get_if<codec::SdnqForm>(&type.form)) sdnq_.emplace_back(layer + ".weight", *sdnq);
}

void ConvertNotes::add_factors(const std::string& parameter, int64_t rank) { factors_[parameter] = rank; }

void ConvertNotes::add_kept(const std::string& out_layer, const std::string& layer, const codec::Weight& weight) {
  if (weight.side) kept_.emplace(layer, out_layer);
  keeps_sdnq_ = keeps_sdnq_ || (weight.side && weight.codec->name == "sdnq");
  if (!weight.side && weight.shape.rank() >= 2 && !layer.empty()) plain_.push_back(layer + ".weight");
}

void ConvertNotes::fit_into_record(io::TensorPlan& tensor, const codec::Codec* codec) {
  if (tensor.shape.rank() == 0) tensor.shape = {1};
  const int64_t block = codec ? codec->block_values : 1;
  const bool countable = std::ranges::all_of(tensor.shape, [](int64_t size) { return size <= INT32_MAX; });
  if (tensor.shape.back() % block == 0 || !countable) return;
  true_shapes_.push_back(io::gguf_true_shape(tensor.name, tensor.shape));
  tensor.shape = {tensor.shape.elements() / block, block};
}

// The source's records of layers that are copied, and new ones.
Result<Json> ConvertNotes::records() const {
  Json layers = Json::object();
  if (const auto found = metadata_.find(io::kQuantizationMetadata); found != metadata_.end()) {
    VENEER_TRY(source, parse_json(found->second, io::kQuantizationMetadata));
    if (const auto of = source.find("layers"); of != source.end())
      for (const auto& [name, record] : of->items()) {
        auto kept = kept_.find(name);
        if (kept == kept_.end()) kept = kept_.find(kModelPrefix + name);
        if (kept != kept_.end()) layers[kept->second] = record;
      }
  }
  for (const auto& [layer, form] : scaled_) {
    VENEER_TRY(made, parse_json(io::scaled_records(form, {&layer, 1}), io::kQuantizationMetadata));
    layers.update(made["layers"]);
  }
  return layers;
}

Result<io::WeightStore::Metadata> ConvertNotes::texts() const {
  io::WeightStore::Metadata texts = metadata_;
  VENEER_TRY(layers, records());
  texts.erase(io::kQuantizationMetadata);
  if (!layers.empty())
    texts[io::kQuantizationMetadata] = Json{{"format_version", "1.0"}, {"layers", std::move(layers)}}.dump();
  if (!carried_.empty()) texts[io::kCarriedConfig] = carried_.dump();
  return texts;
}

Result<io::FileLayout> ConvertNotes::layout(std::span<const io::TensorPlan> tensors) const {
  VENEER_TRY(metadata, texts());
  if (target_ != ConvertTarget::kGguf) return io::safetensors_layout(tensors, metadata);
  io::GgufMetadata pairs = true_shapes_;
  for (const auto& [key, text] : metadata) pairs.emplace_back(key, text);
  return io::gguf_layout(tensors, pairs);
}

// The first entry that matches a parameter holds for it, so a new one repeats what an older one says of it.
void ConvertNotes::override_factors(const Json& older, Json& overrides) const {
  for (const auto& [parameter, rank] : factors_) {
    Json fields = Json::object();
    if (older.is_object())
      for (const auto& [pattern, said] : older.items())
        if (said.is_object() && io::sdnq_matches(parameter, pattern)) {
          fields = said;
          break;
        }
    fields["use_svd"] = true;
    fields["svd_rank"] = rank;
    overrides[parameter] = std::move(fields);
  }
}

Result<Json> ConvertNotes::quantization(const ConvertComponent& component) const {
  if (sdnq_.empty() && factors_.empty()) return kept_.empty() ? Json() : component.quantization;
  Json config = keeps_sdnq_ ? component.quantization : io::sdnq_config(sdnq_.front().second, plain_);
  Json overrides = Json::object();
  override_factors(config.value("modules_quant_config", Json()), overrides);
  for (const auto& [parameter, form] : sdnq_)
    if (keeps_sdnq_ || !same_form(form, sdnq_.front().second)) overrides[parameter] = layer_override(form);
  if (overrides.empty()) return config;
  if (const auto types = config.find("modules_dtype_dict"); !sdnq_.empty() && types != config.end() && !types->empty())
    return Error{ErrorCode::kUnsupported,
                 concat(component.stored.source(),
                        ": its configuration names types by layer, and cannot also describe newly encoded SDNQ "
                        "weights; convert it to f16 first"),
                 component.stored.source()};
  if (const auto older = config.find("modules_quant_config"); older != config.end() && older->is_object())
    for (const auto& [pattern, fields] : older->items())
      if (!overrides.contains(pattern)) overrides[pattern] = fields;
  config["modules_quant_config"] = std::move(overrides);
  return config;
}

Result<Json> ConvertNotes::component_config(const ConvertComponent& component) const {
  VENEER_TRY(quantized, quantization(component));
  Json config = component.config;
  if (!quantized.is_null()) config["quantization_config"] = std::move(quantized);
  return config;
}

}  // namespace veneer::pipeline
