// Counting of tensors by type and part.
#include "pipeline/describe.h"

#include <algorithm>
#include <map>

#include "model/family.h"

namespace veneer::pipeline {
namespace {

struct Count {
  int64_t tensors = 0;
  int64_t parameters = 0;
  uint64_t bytes = 0;

  void add(const io::Entry& entry) {
    ++tensors;
    parameters += entry.weight.elements();
    bytes += entry.weight.stored_bytes();
  }
  Json json() const { return {{"tensors", tensors}, {"parameters", parameters}, {"bytes", bytes}}; }
};

const model::Family* family_of(const io::ModelFiles& files) {
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  if (denoiser == nullptr) return nullptr;
  const auto families = model::families();
  const auto found =
      std::ranges::find_if(families, [&](const model::Family& family) { return family.recognise(denoiser->weights); });
  return found == families.end() ? nullptr : &*found;
}

}  // namespace

Json describe_weights(std::span<const io::WeightStore* const> stores) {
  Count all;
  std::map<std::string, Count> types;
  for (const io::WeightStore* store : stores) {
    for (const auto& [name, entry] : store->entries()) {
      all.add(entry);
      types[entry.weight.codec ? std::string(entry.weight.codec->name) : entry.type_name].add(entry);
    }
  }
  Json json = all.json();
  json["types"] = Json::object();
  for (const auto& [name, count] : types) json["types"][name] = count.json();
  return json;
}

Json describe_model(const io::ModelFiles& files) {
  const model::Family* family = family_of(files);
  Json json = {{"name", files.name},
               {"family", family ? Json(family->name) : Json()},
               {"supported", family != nullptr && family->build != nullptr},
               {"parts", Json::array()}};
  for (const auto& [part, held] : files.parts) {
    const io::WeightStore* const store = &held.weights;
    Json row = {{"part", io::name_of(part)}, {"source", held.source}};
    row.update(describe_weights({&store, 1}));
    json["parts"].push_back(std::move(row));
  }
  json["tokenizer"] = files.tokenizer.empty() ? Json() : Json(files.tokenizer.string());
  json["markers"] = Json::array();
  for (const auto& [name, values] : files.markers) json["markers"].push_back(name);
  json["ignored_tensors"] = files.ignored_tensors;
  json["unused_tensors"] = files.unused_tensors;
  json["warnings"] = files.warnings;
  return json;
}

}  // namespace veneer::pipeline
