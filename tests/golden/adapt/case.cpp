// Reading the cases. Settings come from the configuration as PEFT writes it; keys are parsed as a file's are.
#include "tests/golden/adapt/case.h"

#include "adapt/adapter_keys.h"
#include "core/json.h"
#include "io/container.h"
#include "tests/support/golden.h"

namespace veneer::test {
namespace {

nn::Layer layer_of(const Json& spec, const io::WeightStore& store) {
  const auto kind = spec["layer"].get<std::string>();
  nn::Layer layer;
  layer.name = "unet.test_layer";
  layer.weight = *store.weight(spec["base"].get<std::string>());
  const std::string bias = spec["id"].get<std::string>() + "/base.bias";
  if (store.contains(bias)) layer.bias = store.weight(bias)->decode_all();
  if (kind.ends_with("norm")) {
    layer.kind = nn::LayerKind::kNorm;
    layer.gain = layer.weight.decode_all();
  }
  if (spec.contains("geometry")) {
    layer.kind = nn::LayerKind::kConv2d;
    const Json& geometry = spec["geometry"];
    const auto pad = geometry["padding"][0].get<int64_t>();
    layer.geometry = {geometry["stride"][0].get<int64_t>(), pad, pad, pad, pad, geometry["groups"].get<int64_t>()};
  }
  return layer;
}

adapt::GroupSettings settings_of(const Json& spec) {
  adapt::GroupSettings settings;
  settings.is_peft = spec["family"].get<std::string>().starts_with("peft_");
  if (!spec.contains("config")) return settings;
  const Json& config = spec["config"];
  for (const char* name : {"lora_alpha", "alpha"})
    if (config.contains(name)) settings.alpha = config[name].get<double>();
  if (config.contains("alpha_pattern") && !config["alpha_pattern"].empty())
    settings.alpha = config["alpha_pattern"].begin()->get<double>();
  if (config.contains("r")) settings.rank = config["r"].get<int64_t>();
  settings.rank_stabilised = config.value("use_rslora", false);
  settings.cayley_neumann = config.value("use_cayley_neumann", true);
  settings.cayley_neumann_terms = config.value("num_cayley_neumann_terms", 5);
  settings.block_share = config.value("block_share", false);
  return settings;
}

// Combinations put the adapter's position in front of the key: "1:<key>".
void add_key(AdapterCase& into, const std::string& spelled, const io::Entry& entry,
             const adapt::GroupSettings& settings) {
  const bool numbered = spelled.size() > 1 && spelled[1] == ':';
  const auto at = static_cast<size_t>(numbered ? spelled[0] - '0' : 0);
  const std::string key = numbered ? spelled.substr(2) : spelled;
  const adapt::ParsedKey parsed = adapt::parse_key(key);
  const adapt::KeyPart part{key, entry.weight, entry.type_name};
  if (into.groups.size() <= at) into.groups.resize(at + 1);
  if (parsed.part == "vera_A" || parsed.part == "vera_B") {
    into.shared[parsed.part] = part;
    return;
  }
  into.groups[at].module = parsed.place;
  into.groups[at].settings = settings;
  into.groups[at].parts[parsed.part] = part;
}

AdapterCase case_of(const Json& spec, const io::WeightStore& store) {
  AdapterCase result;
  result.id = spec["id"].get<std::string>();
  result.family = spec["family"].get<std::string>();
  result.layer = layer_of(spec, store);
  const auto tensor = [&](const std::string& name) {
    const auto weight = store.weight(name);
    return Tensor::from(weight->decode_all(), weight->shape);
  };
  const adapt::GroupSettings settings = settings_of(spec);
  for (const Json& key : spec["file_keys"]) {
    const auto spelled = key.get<std::string>();
    add_key(result, spelled, *store.find(result.id + "/file/" + spelled), settings);
  }
  for (const auto& [name, part] : result.shared)
    (name == "vera_A" ? result.groups[0].vera_down : result.groups[0].vera_up) = &part;
  if (spec.contains("multipliers")) result.multipliers = spec["multipliers"].get<std::vector<double>>();
  if (store.contains(result.id + "/x")) result.x = tensor(result.id + "/x");
  for (const Json& entry : spec["expect"]) {
    Expectation expectation{entry["convention"].get<std::string>(),
                            entry["multiplier"].get<double>(),
                            entry.value("veneer_default", false),
                            tensor(entry["weight"].get<std::string>()),
                            {},
                            {}};
    if (entry.contains("bias")) expectation.bias = tensor(entry["bias"].get<std::string>());
    if (entry.contains("y")) expectation.y = tensor(entry["y"].get<std::string>());
    result.expectations.push_back(std::move(expectation));
  }
  return result;
}

}  // namespace

std::vector<AdapterCase> load_adapter_cases() {
  const auto text = read_text_file(data_path("adapters/index.json"));
  const auto store = io::open_weights(data_path("adapters/families.safetensors"));
  EXPECT_TRUE(text && store);
  if (!text || !store) return {};
  const auto index = parse_json(*text, "index.json");
  EXPECT_TRUE(index);
  std::vector<AdapterCase> cases;
  if (index)
    for (const Json& spec : (*index)["cases"]) cases.push_back(case_of(spec, *store));
  return cases;
}

}  // namespace veneer::test
