// Opening and sorting an adapter file.
#include "adapt/adapter.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "adapt/peft_config.h"
#include "core/format.h"
#include "core/hash.h"
#include "io/container.h"
#include "io/part_names.h"
#include "io/printable.h"

namespace veneer::adapt {
namespace {

constexpr std::string_view kBundle = "bundle_emb.";

// What follows the header of a safetensors file; empty for other containers.
std::span<const std::byte> safetensors_data(std::span<const std::byte> file) {
  const auto containers = io::containers();
  const auto found = std::ranges::find_if(containers, [&](const io::Container* c) { return c->sniff(file); });
  uint64_t header = 0;
  if (found == containers.end() || (*found)->name != "safetensors" || file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);  // little-endian, as every machine that this program runs on
  return header > file.size() - sizeof header ? std::span<const std::byte>{}
                                              : file.subspan(sizeof header + static_cast<size_t>(header));
}

Status add_hashes(Adapter& adapter, const io::WeightStore& store) {
  VENEER_TRY_STATUS(store.still_whole());
  Sha256 whole;
  for (const auto& file : store.files()) whole.add(file->bytes());
  adapter.sha256 = whole.hex();
  if (store.files().size() != 1) return {};
  const auto data = safetensors_data(store.files().front()->bytes());
  if (!data.empty()) adapter.auto_v3 = sha256_hex(data);
  return {};
}

bool has_peft_wrapper(const io::WeightStore& store) {
  const auto first = store.entries().lower_bound("base_model.");
  return first != store.entries().end() && first->first.starts_with("base_model.");
}

Result<PeftConfigs> read_peft_configs(const std::filesystem::path& path, const io::WeightStore& store) {
  const std::string place = path.string();
  constexpr const char* kKey = "lora_adapter_metadata";
  if (const auto found = store.metadata().find(kKey); found != store.metadata().end())
    return PeftConfigs::parse(found->second, concat(place, ": ", kKey));
  // A folder of many adapters may hold a configuration that is not this file's.
  if (path.stem() != "adapter_model" && !has_peft_wrapper(store)) return PeftConfigs();
  const std::filesystem::path config = path.parent_path() / "adapter_config.json";
  std::error_code error;
  if (!std::filesystem::exists(config, error)) return PeftConfigs();
  VENEER_TRY(text, read_text_file(config));
  return PeftConfigs::parse(text, config.string());
}

// Modules by number were counted among the trainer's target classes; with others among them the numbers mean other
// layers.
Status check_numbered_classes(const io::WeightStore& store, std::string_view place) {
  const std::set<std::string, std::less<>> known = {"CrossAttention", "Attention", "GEGLU", "CLIPAttention"};
  for (const char* component : {"unet", "text_encoder"}) {
    const auto found = store.metadata().find(component);
    if (found == store.metadata().end()) continue;
    VENEER_TRY(classes, parse_json(found->second, concat(place, ": metadata ", component)));
    for (const auto& name : classes)
      if (name.is_string() && !known.contains(name.get<std::string>()))
        return Error{ErrorCode::kUnsupported,
                     concat(place, ": modules are given by number among classes of which ",
                            io::printable(name.get<std::string>()), " is not known; convert the file to named modules"),
                     std::string(place)};
  }
  return {};
}

// Sorts entries into groups; keeps account of every key.
class Sorter {
 public:
  Sorter(Adapter& adapter, const io::WeightStore& store, const PeftConfigs& configs)
      : adapter_(adapter), store_(store), configs_(configs) {}

  void sort() {
    for (const auto& [key, entry] : store_.entries()) add(key, entry);
    adapter_.key_count = static_cast<int64_t>(store_.entries().size());
    for (AdapterModule& module : adapter_.modules) {
      module.keys.vera_down = adapter_.vera_down ? &*adapter_.vera_down : nullptr;
      module.keys.vera_up = adapter_.vera_up ? &*adapter_.vera_up : nullptr;
    }
  }

 private:
  void add(const std::string& key, const io::Entry& entry) {
    if (io::is_ignored(key)) {
      adapter_.ignored.push_back({key, "no part of any layer"});
      return;
    }
    if (add_embedding(key, entry)) return;
    ParsedKey parsed = parse_key(key);
    KeyPart part{key, entry.weight, entry.type_name};
    if (parsed.part == "vera_A" && !adapter_.vera_down) {
      adapter_.vera_down = std::move(part);
    } else if (parsed.part == "vera_B" && !adapter_.vera_up) {
      adapter_.vera_up = std::move(part);
    } else {
      KeyGroup& group = group_for(parsed);
      group.settings.is_peft |= parsed.is_peft;
      group.parts.emplace(std::move(parsed.part), std::move(part));
    }
  }

  bool add_embedding(const std::string& key, const io::Entry& entry) {
    std::string name;
    const auto token = store_.metadata().find(key);
    if (key.starts_with(kBundle)) {
      name = key.substr(kBundle.size());
      name.resize(std::min(name.find('.'), name.size()));
    } else if (token != store_.metadata().end() && token->second == "<embed>") {
      name = key;
    } else {
      return false;
    }
    auto& all = adapter_.embeddings;
    auto found = std::ranges::find(all, name, &BundledEmbedding::name);
    if (found == all.end()) found = all.insert(all.end(), {name, {}});
    found->parts.push_back({key, entry.weight, entry.type_name});
    return true;
  }

  // The module's group, or another one for it when the first has this part already.
  KeyGroup& group_for(const ParsedKey& parsed) {
    const std::string id = concat(parsed.prefix, '\n', parsed.module);
    std::vector<size_t>& groups = groups_[id];
    for (const size_t index : groups)
      if (!adapter_.modules[index].keys.has(parsed.part)) return adapter_.modules[index].keys;
    groups.push_back(adapter_.modules.size());
    adapter_.modules.push_back({parsed.prefix, parsed.module, {}});
    KeyGroup& group = adapter_.modules.back().keys;
    group.module = parsed.place;
    group.settings = configs_.settings(parsed.prefix, parsed.module);
    return group;
  }

  Adapter& adapter_;
  const io::WeightStore& store_;
  const PeftConfigs& configs_;
  std::map<std::string, std::vector<size_t>> groups_;
};

// A group that some family could claim; layers of a whole model have nothing but these four.
bool is_adapter_group(const AdapterModule& module) {
  return std::ranges::any_of(module.keys.parts, [](const auto& part) {
    return part.first != "" && part.first != "weight" && part.first != "bias" && part.first != "scale";
  });
}

bool is_embedding_file(const io::WeightStore& store) {
  return std::ranges::any_of(store.entries(), [](const auto& entry) {
    return entry.first == "emb_params" || entry.first == "clip_l" || entry.first == "clip_g" ||
           entry.first.starts_with("string_to_param.");
  });
}

Status check_is_adapter(const Adapter& adapter, const io::WeightStore& store) {
  if (std::ranges::any_of(adapter.modules, is_adapter_group)) return {};
  const std::string place = adapter.path.string();
  if (store.empty()) return Error{ErrorCode::kBadFile, concat(place, ": holds no tensors"), place};
  if (is_embedding_file(store) || !adapter.embeddings.empty())
    return Error{ErrorCode::kMismatch, concat(place, ": is a token embedding (textual inversion), not an adapter"),
                 place};
  return Error{ErrorCode::kMismatch,
               concat(place, ": is not an adapter: none of its ", adapter.key_count,
                      " tensors has an adapter's name (first: ", io::printable(store.entries().begin()->first),
                      "); a model is given with -m"),
               place};
}

}  // namespace

Result<std::shared_ptr<const Adapter>> open_adapter(const std::filesystem::path& path, MappedFile::Mode mode) {
  VENEER_TRY(store, io::open_weights(path, mode));
  VENEER_TRY(configs, read_peft_configs(path, store));
  auto adapter = std::make_shared<Adapter>();
  adapter->path = path;
  adapter->name = path.stem().string();
  adapter->metadata = store.metadata();
  adapter->facts = trainer_facts(store.metadata());
  Sorter(*adapter, store, configs).sort();
  VENEER_TRY_STATUS(check_is_adapter(*adapter, store));
  if (std::ranges::any_of(adapter->modules, [](const AdapterModule& m) { return is_numbered(m.name); }))
    VENEER_TRY_STATUS(check_numbered_classes(store, path.string()));
  VENEER_TRY_STATUS(add_hashes(*adapter, store));
  return std::shared_ptr<const Adapter>(std::move(adapter));
}

}  // namespace veneer::adapt
