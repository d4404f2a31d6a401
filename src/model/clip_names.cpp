// Names and forms of CLIP's tensors.
#include "model/clip_names.h"

#include <algorithm>

#include "core/format.h"
#include "model/original_modules.h"

namespace veneer::model {
namespace {

constexpr std::string_view kBlocks = "transformer.resblocks.", kFusedWeight = ".in_proj_weight",
                           kFusedBias = ".in_proj_bias";
constexpr const char* kCanonicalProjection = "text_projection.weight";
// The transposed projection, in OpenCLIP's files and in those of converters that renamed only the rest.
constexpr const char* kTransposed[] = {"text_projection", "text_model.text_projection"};

bool is_open_clip(const NameSet& names) { return has_prefix(names, concat(kBlocks, "0.")); }

std::vector<OriginalModule> open_clip_modules(int64_t layers) {
  std::vector<OriginalModule> modules = {same_module("token_embedding", "text_model.embeddings.token_embedding"),
                                         same_module("ln_final", "text_model.final_layer_norm")};
  for (int64_t i = 0; i < layers; ++i) {
    const std::string from = concat(kBlocks, i), to = concat("text_model.encoder.layers.", i);
    modules.push_back(
        {from + ".attn.in_proj", {{to + ".self_attn.q_proj"}, {to + ".self_attn.k_proj"}, {to + ".self_attn.v_proj"}}});
    modules.push_back(same_module(from + ".attn.out_proj", to + ".self_attn.out_proj"));
    modules.push_back(same_module(from + ".ln_1", to + ".layer_norm1"));
    modules.push_back(same_module(from + ".ln_2", to + ".layer_norm2"));
    modules.push_back(same_module(from + ".mlp.c_fc", to + ".mlp.fc1"));
    modules.push_back(same_module(from + ".mlp.c_proj", to + ".mlp.fc2"));
  }
  return modules;
}

int64_t blocks_among(const NameSet& names) {
  int64_t count = 0;
  while (has_prefix(names, concat(kBlocks, count, "."))) ++count;
  return count;
}

void add_open_clip(NameMap& map, const NameSet& names) {
  map.add("positional_embedding", "text_model.embeddings.position_embedding.weight");
  for (const OriginalModule& module : open_clip_modules(blocks_among(names)))
    if (module.parts.size() == 1) map.add(module.name, module.parts.front().layer);
}

// "a.in_proj_weight" as the weight of a module, "a.in_proj.weight".
std::string as_module(std::string_view name) {
  for (const std::string_view end : {kFusedWeight, kFusedBias})
    if (name.ends_with(end)) return std::string(name).replace(name.rfind('_'), 1, ".");
  return std::string(name);
}

void add_fused(NameMap& map, const io::WeightStore& store) {
  for (const OriginalModule& module : open_clip_modules(blocks_among(names_of(store)))) {
    const io::Entry* fused = module.parts.size() > 1 ? store.find(module.name + ".weight") : nullptr;
    if (!fused) continue;
    std::vector<FusedPart> parts;
    for (const OriginalModule::Part& part : module.parts) parts.push_back({part.layer, fused->weight.rows() / 3});
    map.add_fused(module.name, std::move(parts));
  }
}

// A matrix that is none, or cannot be decoded, stays: whoever wants it finds what is wrong.
void transpose(io::Entry& entry) {
  const codec::Weight stored = entry.weight;
  if (!stored.codec || stored.shape.rank() != 2 || !stored.codec->check(stored)) return;
  const int64_t rows = stored.shape[0], columns = stored.shape[1];
  const std::vector<float> values = stored.decode_all();
  std::vector<float> turned(values.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      turned[static_cast<size_t>(j * rows + i)] = values[static_cast<size_t>(i * columns + j)];
  entry.weight = codec::weight_from(turned, {columns, rows}, *codec::find_codec("f32"), stored.name);
}

}  // namespace

NameMap clip_names(const NameSet& names) {
  NameMap map;
  if (is_open_clip(names)) add_open_clip(map, names);
  for (const char* name : kTransposed)
    if (names.contains(name)) map.add(name, kCanonicalProjection);
  if (has_prefix(names, "encoder.layers.0."))
    for (const char* top : {"embeddings", "encoder", "final_layer_norm"}) map.add(top, concat("text_model.", top));
  return map;
}

io::WeightStore canonical_clip(const io::WeightStore& store) {
  const io::WeightStore modules = store.renamed(as_module);
  NameMap map = clip_names(names_of(store));
  add_fused(map, modules);
  const io::WeightStore canonical = map.apply(modules);
  const io::Entry* projection = canonical.find(kCanonicalProjection);
  const bool transposed = std::ranges::any_of(kTransposed, [&](const char* name) { return store.contains(name); });
  if (!projection || !transposed) return canonical;
  io::WeightStore::Entries turned{{kCanonicalProjection, *projection}};
  transpose(turned.begin()->second);
  return canonical.layered({std::move(turned), {}, {}});
}

std::vector<nn::Spelling> open_clip_spellings(io::Part part, const nn::LayerList& layers) {
  const auto blocks = std::ranges::count_if(
      layers.all(), [](const nn::Layer& layer) { return layer.name.ends_with(".self_attn.q_proj"); });
  return original_spellings(open_clip_modules(blocks), part, layers);
}

}  // namespace veneer::model
