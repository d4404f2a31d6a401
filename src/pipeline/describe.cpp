// Counting of tensors by type and part.
#include "pipeline/describe.h"

#include <algorithm>
#include <map>

#include "model/clip.h"
#include "model/t5.h"
#include "model/tiny_autoencoder.h"
#include "pipeline/weight_words.h"

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

using Counts = std::map<std::string, Count>;

Json json_of(const Counts& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = count.json();
  return json;
}

uint64_t held_bytes(const codec::Weight& weight) {
  if (weight.codec == nullptr) return 0;
  return weight.shape.rank() < 2 ? static_cast<uint64_t>(weight.elements()) * sizeof(float) : weight.stored_bytes();
}

const model::Family* family_of(const io::ModelFiles& files) {
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  if (denoiser == nullptr) return nullptr;
  return model::recognised(*denoiser);
}

using BuiltNetwork = Result<std::unique_ptr<model::Network>>;

template <typename T>
BuiltNetwork as_network(Result<std::unique_ptr<T>> built) {
  if (!built) return std::move(built).error();
  return std::unique_ptr<model::Network>(*std::move(built));
}

BuiltNetwork build_alone(io::Part part, const io::ModelPart& content, const model::Family* family) {
  switch (part) {
    case io::Part::kDenoiser: {
      VENEER_TRY(known, model::identify(content));
      return as_network(known->build(content));
    }
    case io::Part::kTextEncoder:
    case io::Part::kTextEncoder2: return as_network(model::build_clip(content, std::string(io::name_of(part))));
    case io::Part::kVae:
      return as_network(model::build_autoencoder_kl(content, family ? family->latent : model::LatentScaling{}));
    case io::Part::kTinyVae: return as_network(model::build_tiny_autoencoder(content));
    case io::Part::kTextEncoder3: return as_network(model::build_t5(content, std::string(io::name_of(part))));
  }
  return Error{ErrorCode::kUnsupported, concat(content.source, ": is of no known part"), content.source};
}

Json describe_part(io::Part part, const io::ModelPart& content, const model::Network* network) {
  const io::WeightStore* const store = &content.weights;
  Json row = {{"part", io::name_of(part)}, {"source", content.source}};
  row.update(describe_weights({&store, 1}));
  row["unused_tensors"] = network ? Json(network->unused_tensors()) : Json();
  return row;
}

}  // namespace

Json describe_weights(std::span<const io::WeightStore* const> stores) {
  Count all;
  Counts types, storage;
  uint64_t held = 0;
  for (const io::WeightStore* store : stores) {
    for (const auto& [name, entry] : store->entries()) {
      all.add(entry);
      types[entry.weight.codec ? std::string(entry.weight.codec->name) : entry.type_name].add(entry);
      storage[storage_words(entry)].add(entry);
      held += held_bytes(entry.weight);
    }
  }
  Json json = all.json();
  json["held_bytes"] = held;
  json["types"] = json_of(types);
  json["storage"] = json_of(storage);
  return json;
}

Json describe_model(const io::ModelFiles& files, std::span<const model::Model::NamedNetwork> networks) {
  const model::Family* family = family_of(files);
  Json json = {{"name", files.name},
               {"family", family ? Json(family->name) : Json()},
               {"supported", family != nullptr && family->build != nullptr},
               {"parts", Json::array()}};
  for (const auto& [part, content] : files.parts) {
    const auto found = std::ranges::find(networks, part, &model::Model::NamedNetwork::part);
    json["parts"].push_back(describe_part(part, content, found == networks.end() ? nullptr : found->network));
  }
  json["tokenizer"] = files.tokenizer.empty() ? Json() : Json(files.tokenizer.string());
  json["markers"] = Json::array();
  for (const auto& [name, values] : files.markers) json["markers"].push_back(name);
  json["ignored_tensors"] = files.ignored_tensors;
  json["unused_tensors"] = files.unused_tensors;
  json["warnings"] = files.warnings;
  return json;
}

Json describe_files(const io::ModelFiles& files) {
  std::vector<std::unique_ptr<model::Network>> built;
  std::vector<model::Model::NamedNetwork> networks;
  std::map<std::string_view, std::string> problems;
  for (const auto& [part, content] : files.parts) {
    BuiltNetwork network = build_alone(part, content, family_of(files));
    if (!network) {
      problems.emplace(io::name_of(part), network.error().message);
      continue;
    }
    networks.push_back({part, network->get()});
    built.push_back(*std::move(network));
  }
  Json json = describe_model(files, networks);
  for (Json& part : json["parts"])
    if (const auto problem = problems.find(part["part"].get<std::string>()); problem != problems.end())
      part["problem"] = problem->second;
  return json;
}

}  // namespace veneer::pipeline
