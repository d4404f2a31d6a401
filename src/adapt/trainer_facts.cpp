// Reading metadata of trainers.
#include "adapt/trainer_facts.h"

#include <algorithm>

#include "core/format.h"
#include "core/json.h"

namespace veneer::adapt {
namespace {

constexpr size_t kTriggerWords = 10;

std::string value_of(const io::WeightStore::Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() || found->second == "None" ? "" : found->second;
}

// {"folder": {"tag": count}}: the counts of a tag in all folders are added.
std::vector<std::string> frequent_tags(const std::string& text) {
  if (text.empty()) return {};
  const auto json = parse_json(text, "ss_tag_frequency");
  if (!json || !json->is_object()) return {};
  std::map<std::string, int64_t> counts;
  for (const auto& folder : *json) {
    if (!folder.is_object()) continue;
    for (const auto& [tag, count] : folder.items())
      if (count.is_number_integer()) counts[std::string(trim(tag))] += count.get<int64_t>();
  }
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> tags;
  for (size_t i = 0; i < std::min(sorted.size(), kTriggerWords); ++i) tags.push_back(sorted[i].first);
  return tags;
}

std::string network_of(const io::WeightStore::Metadata& metadata) {
  std::string network = value_of(metadata, "ss_network_module");
  const std::string arguments = value_of(metadata, "ss_network_args");
  if (network.empty() || arguments.empty()) return network;
  const auto json = parse_json(arguments, "ss_network_args");
  if (!json || !json->is_object()) return network;
  const auto algorithm = json->find("algo");
  if (algorithm != json->end() && algorithm->is_string()) network += concat(" (", algorithm->get<std::string>(), ")");
  return network;
}

}  // namespace

TrainerFacts trainer_facts(const io::WeightStore::Metadata& metadata) {
  TrainerFacts facts;
  facts.title = value_of(metadata, "modelspec.title");
  facts.alias = value_of(metadata, "ss_output_name");
  facts.base_model = value_of(metadata, "ss_base_model_version");
  if (facts.base_model.empty()) facts.base_model = value_of(metadata, "modelspec.architecture");
  facts.network = network_of(metadata);
  facts.rank = value_of(metadata, "ss_network_dim");
  facts.alpha = value_of(metadata, "ss_network_alpha");
  if (const std::string phrase = value_of(metadata, "modelspec.trigger_phrase"); !phrase.empty())
    facts.trigger_words = {phrase};
  else
    facts.trigger_words = frequent_tags(value_of(metadata, "ss_tag_frequency"));
  return facts;
}

}  // namespace veneer::adapt
