// Counting what is in an adapter file.
#include "adapt/adapter_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "adapt/family.h"
#include "adapt/fingerprint.h"
#include "core/format.h"

namespace veneer::adapt {
namespace {

// Parts that mean nothing without each other.
constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
    {"down", "up"},
    {"hada_w1_a", "hada_w1_b"},
    {"hada_w2_a", "hada_w2_b"},
    {"lokr_w1_a", "lokr_w1_b"},
    {"lokr_w2_a", "lokr_w2_b"},
    {"a1", "a2"},
    {"b1", "b2"},
    {"bias_indices", "bias_values"},
};

// Factors whose first size is the rank.
constexpr std::string_view kRanked[] = {"down", "hada_w1_b", "lokr_w2_b", "lokr_w1_b", "a2"};

// The component that a prefix is for. A prefix that may be for several is judged by the module's name.
std::string component_of(const AdapterModule& module) {
  const auto parts = parts_of(module.prefix);
  if (parts.empty()) return "other";
  const bool is_text = underscored(module.name).starts_with("text_model_");
  const bool may_be_text = std::ranges::find(parts, io::Part::kTextEncoder) != parts.end();
  return std::string(io::name_of(is_text && may_be_text ? io::Part::kTextEncoder : parts.front()));
}

// 0 when the parts do not show one.
int64_t rank_of(const KeyGroup& keys) {
  for (const std::string_view part : kRanked)
    if (const KeyPart* factor = keys.find(part); factor && factor->weight.shape.rank() >= 2)
      return factor->weight.shape[0];
  return keys.settings.rank.value_or(0);
}

// Counts by value, so that reports list small ranks first.
template <typename Value>
Json counts_json(const std::map<Value, int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [value, count] : counts) json[concat(value)] = count;
  return json;
}

std::map<std::string, int64_t> families_in(const Adapter& adapter) {
  std::map<std::string, int64_t> families;
  for (const AdapterModule& module : adapter.modules)
    if (const std::string name = family_name(module.keys); !name.empty()) ++families[name];
  return families;
}

std::map<int64_t, int64_t> ranks_in(const Adapter& adapter) {
  std::map<int64_t, int64_t> ranks;
  for (const AdapterModule& module : adapter.modules)
    if (const int64_t rank = rank_of(module.keys); rank > 0) ++ranks[rank];
  return ranks;
}

std::map<double, int64_t> alphas_in(const Adapter& adapter) {
  std::map<double, int64_t> alphas;
  for (const AdapterModule& module : adapter.modules) {
    if (module.keys.settings.alpha) {
      ++alphas[*module.keys.settings.alpha];
    } else if (module.keys.has("alpha")) {
      if (const auto alpha = module.keys.number("alpha")) ++alphas[*alpha];
    }
  }
  return alphas;
}

template <typename Value>
std::string names_of(const std::map<Value, int64_t>& counts) {
  std::vector<std::string> names;
  for (const auto& [value, count] : counts) names.push_back(concat(value));
  return join(names, ", ");
}

class Defects {
 public:
  void look_at(const AdapterModule& module) {
    const KeyGroup& keys = module.keys;
    for (const auto& [name, part] : keys.parts) look_at(name, part);
    for (const auto& [one, other] : kPairs)
      if (keys.has(one) != keys.has(other)) {
        const std::string_view has = keys.has(one) ? one : other, lacks = keys.has(one) ? other : one;
        add(keys.find(has)->key, concat("module ", keys.module, " has ", has, " but no ", lacks));
      }
    if (family_name(keys).empty() && !keys.parts.empty() && !keys.has(""))
      add(keys.parts.begin()->second.key, concat("module ", keys.module, " is of no known family"));
  }

  Json take() { return std::move(json_); }

 private:
  void look_at(const std::string& name, const KeyPart& part) {
    if (name.empty()) return add(part.key, "its ending is no known one");
    if (!part.weight.codec) return;
    if (const auto tensor = as_tensor(part); !tensor) add(part.key, tensor.error().message);
  }

  void add(const std::string& key, std::string what) { json_.push_back({{"key", key}, {"what", std::move(what)}}); }

  Json json_ = Json::array();
};

Json components_json(const Adapter& adapter) {
  std::map<std::string, std::pair<int64_t, size_t>> counts;  // modules and keys
  for (const AdapterModule& module : adapter.modules) {
    auto& [modules, keys] = counts[component_of(module)];
    ++modules;
    keys += module.keys.parts.size();
  }
  Json components = Json::object();
  for (const auto& [name, count] : counts) components[name] = {{"modules", count.first}, {"keys", count.second}};
  return components;
}

Json types_json(const Adapter& adapter) {
  std::map<std::string, int64_t> types;
  for (const AdapterModule& module : adapter.modules)
    for (const auto& [name, part] : module.keys.parts) ++types[part.type];
  return counts_json(types);
}

Json trainer_json(const TrainerFacts& facts) {
  Json json = Json::object();
  const std::pair<const char*, const std::string&> rows[] = {
      {"title", facts.title},     {"alias", facts.alias}, {"base_model", facts.base_model},
      {"network", facts.network}, {"rank", facts.rank},   {"alpha", facts.alpha}};
  for (const auto& [name, value] : rows)
    if (!value.empty()) json[name] = value;
  return json;
}

}  // namespace

Json summarize(const Adapter& adapter) {
  std::error_code ignored;
  const auto guess = fingerprint(adapter);
  std::string base = adapter.facts.base_model;
  if (base.empty() && guess) base = guess->family;
  return {{"name", adapter.name},
          {"path", adapter.path.string()},
          {"bytes", std::filesystem::file_size(adapter.path, ignored)},
          {"family", names_of(families_in(adapter))},
          {"rank", names_of(ranks_in(adapter))},
          {"keys", adapter.key_count},
          {"base", base},
          {"sha256", adapter.sha256},
          {"auto_v2", adapter.auto_v2()},
          {"auto_v3", adapter.auto_v3}};
}

Json describe(const Adapter& adapter) {
  Json json = summarize(adapter);
  json["components"] = components_json(adapter);
  json["families"] = counts_json(families_in(adapter));
  json["ranks"] = counts_json(ranks_in(adapter));
  json["alphas"] = counts_json(alphas_in(adapter));
  json["types"] = types_json(adapter);
  const auto guess = fingerprint(adapter);
  json["looks_like"] = guess ? Json{{"family", guess->family}, {"evidence", guess->evidence}} : Json();
  json["trainer"] = trainer_json(adapter.facts);
  json["trigger_words"] = adapter.facts.trigger_words;
  json["embeddings"] = Json::array();
  for (const BundledEmbedding& embedding : adapter.embeddings) json["embeddings"].push_back(embedding.name);
  json["ignored"] = Json::array();
  for (const IgnoredKey& key : adapter.ignored) json["ignored"].push_back({{"key", key.key}, {"rule", key.rule}});
  Defects defects;
  for (const AdapterModule& module : adapter.modules) defects.look_at(module);
  json["defects"] = defects.take();
  json["metadata"] = adapter.metadata;
  return json;
}

}  // namespace veneer::adapt
