// Receipts as JSON and as lines.
#include "adapt/receipt.h"

#include "core/format.h"

namespace veneer::adapt {
namespace {

Json account_json(const AdapterAccount& account) {
  Json components = Json::object();
  for (const auto& [part, counts] : account.components)
    components[std::string(io::name_of(part))] = {
        {"sites", counts.sites}, {"applied", counts.applied}, {"weights", counts.weights}, {"biases", counts.biases}};
  Json refused = Json::array(), unmatched = Json::array(), ignored = Json::array();
  for (const RefusedKey& key : account.refused) refused.push_back({{"key", key.key}, {"reason", key.reason}});
  for (const UnmatchedKey& key : account.unmatched) {
    unmatched.push_back({{"key", key.key}});
    if (!key.nearest.empty()) unmatched.back()["nearest"] = key.nearest;
  }
  for (const IgnoredKey& key : account.ignored) ignored.push_back({{"key", key.key}, {"rule", key.rule}});
  Json json = {{"name", account.name},
               {"sha256", account.sha256},
               {"family", account.family},
               {"strength", account.strength},
               {"keys",
                {{"total", account.keys.total},
                 {"applied", account.keys.applied},
                 {"refused", account.keys.refused},
                 {"unmatched", account.keys.unmatched},
                 {"ignored", account.keys.ignored}}},
               {"components", components},
               {"refused", refused},
               {"unmatched", unmatched},
               {"ignored", ignored}};
  if (!account.blocks.empty()) json["blocks"] = account.blocks;
  if (!account.words.empty()) json["words"] = account.words;
  if (!account.notices.empty()) json["notices"] = account.notices;
  if (!account.looks_like.empty()) json["looks_like"] = account.looks_like;
  return json;
}

Json layer_json(const LayerAccount& layer) {
  Json json = {{"layer", layer.layer}, {"held", layer.held},         {"route", nn::name_of(layer.route)},
               {"terms", layer.terms}, {"survival", layer.survival}, {"error", layer.error}};
  if (layer.base_products > 1) json["base_products"] = layer.base_products;
  return json;
}

}  // namespace

std::map<std::string, int64_t> Receipt::routes() const {
  std::map<std::string, int64_t> counts = {{"beside", 0}, {"folded", 0}, {"merged", 0}};
  for (const LayerAccount& layer : layers) ++counts[std::string(nn::name_of(layer.route))];
  return counts;
}

Json Receipt::to_json(bool with_layers) const {
  Json json = {{"combine", combine}, {"dora", dora},       {"policy", policy},
               {"mode", mode},       {"compute", compute}, {"adapters", Json::array()},
               {"routes", routes()}, {"bytes", held_bytes}};
  for (const AdapterAccount& account : adapters) json["adapters"].push_back(account_json(account));
  if (!not_merged.empty()) json["not_merged"] = not_merged;
  if (!with_layers) return json;
  json["layers"] = Json::array();
  for (const LayerAccount& layer : layers) json["layers"].push_back(layer_json(layer));
  return json;
}

std::string count_line(const AdapterAccount& account) {
  const KeyCounts& keys = account.keys;
  std::string line =
      concat("(", keys.applied, " / ", keys.total, ") LoRA tensors have been applied, lora_file_path = ", account.path);
  if (keys.applied == keys.total) return line;
  line = concat("Only ", line, ", refused=", keys.refused, " unmatched=", keys.unmatched, " ignored=", keys.ignored);
  std::vector<std::string> first;
  const auto add = [&](const std::string& key, const std::string& why) {
    if (first.size() < 3) first.push_back(why.empty() ? key : concat(key, " (", why, ")"));
  };
  for (const RefusedKey& key : account.refused) add(key.key, key.reason);
  for (const UnmatchedKey& key : account.unmatched)
    add(key.key, key.nearest.empty() ? std::string() : "nearest known: " + key.nearest);
  for (const IgnoredKey& key : account.ignored) add(key.key, key.rule);
  return concat(line, ": ", join(first, "; "));
}

}  // namespace veneer::adapt
