// FLUX.1 names. The final modulation is (shift, scale) in original files and (scale, shift) here.
#include "model/flux_names.h"

#include "core/format.h"

namespace veneer::model {
namespace {

constexpr int64_t kMlpWidths = 4;  // of the inner layer of every feed-forward part

constexpr std::pair<std::string_view, std::string_view> kEmbeddings[] = {
    {"time_in", "timestep_embedder"}, {"vector_in", "text_embedder"}, {"guidance_in", "guidance_embedder"}};

// One side of a double block: the modules of "double_blocks.0.img_*".
void add_side(const std::string& original, const std::string& block, bool text, std::vector<OriginalModule>& modules) {
  const std::string attention = block + ".attn.", feed_forward = block + (text ? ".ff_context" : ".ff");
  const auto layer = [&](const char* of_image, const char* of_text) { return attention + (text ? of_text : of_image); };
  modules.push_back({original + "_attn.qkv",
                     {{layer("to_q", "add_q_proj")}, {layer("to_k", "add_k_proj")}, {layer("to_v", "add_v_proj")}}});
  modules.push_back(same_module(original + "_attn.proj", layer("to_out.0", "to_add_out")));
  modules.push_back(same_module(original + "_attn.norm.query_norm", layer("norm_q", "norm_added_q")));
  modules.push_back(same_module(original + "_attn.norm.key_norm", layer("norm_k", "norm_added_k")));
  modules.push_back(same_module(original + "_mlp.0", feed_forward + ".net.0.proj"));
  modules.push_back(same_module(original + "_mlp.2", feed_forward + ".net.2"));
  modules.push_back(same_module(original + "_mod.lin", block + (text ? ".norm1_context.linear" : ".norm1.linear")));
}

void add_single(const std::string& original, const std::string& block, std::vector<OriginalModule>& modules) {
  modules.push_back(
      {original + ".linear1",
       {{block + ".attn.to_q"}, {block + ".attn.to_k"}, {block + ".attn.to_v"}, {block + ".proj_mlp", kMlpWidths}}});
  modules.push_back(same_module(original + ".linear2", block + ".proj_out"));
  modules.push_back(same_module(original + ".modulation.lin", block + ".norm.linear"));
  modules.push_back(same_module(original + ".norm.query_norm", block + ".attn.norm_q"));
  modules.push_back(same_module(original + ".norm.key_norm", block + ".attn.norm_k"));
}

int64_t block_count(const io::WeightStore& store, const char* list) {
  int64_t blocks = 0;
  while (has_prefix(store, concat(list, ".", blocks, "."))) ++blocks;
  return blocks;
}

// XLabs name what their adapters change, not modules: both attentions of a block, each by its place in it.
std::vector<OriginalModule> xlabs_modules(int64_t double_blocks, int64_t single_blocks) {
  std::vector<OriginalModule> modules;
  for (int64_t i = 0; i < double_blocks; ++i) {
    const std::string processor = concat("double_blocks.", i, ".processor."),
                      attention = concat("transformer_blocks.", i, ".attn.");
    modules.push_back({processor + "qkv_lora1", {{attention + "to_q"}, {attention + "to_k"}, {attention + "to_v"}}});
    modules.push_back({processor + "qkv_lora2",
                       {{attention + "add_q_proj"}, {attention + "add_k_proj"}, {attention + "add_v_proj"}}});
    modules.push_back(same_module(processor + "proj_lora1", attention + "to_out.0"));
    modules.push_back(same_module(processor + "proj_lora2", attention + "to_add_out"));
  }
  for (int64_t i = 0; i < single_blocks; ++i) {
    const std::string processor = concat("single_blocks.", i, ".processor."),
                      block = concat("single_transformer_blocks.", i, ".");
    modules.push_back({processor + "qkv_lora", {{block + "attn.to_q"}, {block + "attn.to_k"}, {block + "attn.to_v"}}});
    modules.push_back(same_module(processor + "proj_lora", block + "proj_out"));
  }
  return modules;
}

}  // namespace

bool is_original_flux(const io::WeightStore& store) { return has_prefix(store, "double_blocks.0.img_attn.qkv."); }

std::vector<OriginalModule> original_flux_modules(int64_t double_blocks, int64_t single_blocks) {
  std::vector<OriginalModule> modules{same_module("img_in", "x_embedder"),
                                      same_module("txt_in", "context_embedder"),
                                      same_module("final_layer.linear", "proj_out"),
                                      {"final_layer.adaLN_modulation.1", {{"norm_out.linear", 2}}, true}};
  for (const auto& [original, layer] : kEmbeddings) {
    const std::string path = concat("time_text_embed.", layer, ".linear_");
    modules.push_back(same_module(concat(original, ".in_layer"), path + "1"));
    modules.push_back(same_module(concat(original, ".out_layer"), path + "2"));
  }
  for (int64_t i = 0; i < double_blocks; ++i) {
    const std::string block = concat("transformer_blocks.", i);
    add_side(concat("double_blocks.", i, ".img"), block, false, modules);
    add_side(concat("double_blocks.", i, ".txt"), block, true, modules);
  }
  for (int64_t i = 0; i < single_blocks; ++i)
    add_single(concat("single_blocks.", i), concat("single_transformer_blocks.", i), modules);
  return modules;
}

NameMap original_flux_names(const io::WeightStore& store) {
  const io::Entry* in = store.find("img_in.weight");
  const int64_t width = in && in->weight.shape.rank() > 0 ? in->weight.shape[0] : 0;
  const auto modules = original_flux_modules(block_count(store, "double_blocks"), block_count(store, "single_blocks"));
  NameMap map = canonical_map(modules, width);
  // Norms of queries and keys call their weight "scale".
  for (const OriginalModule& module : modules)
    if (module.name.ends_with("_norm")) map.add(module.name + ".scale", module.parts.front().layer + ".weight");
  return map;
}

std::vector<nn::Spelling> flux_spellings(const nn::LayerList& layers) {
  int64_t double_blocks = 0, single_blocks = 0;
  for (const nn::Layer& layer : layers.all()) {
    double_blocks += layer.name.ends_with(".norm1_context.linear");
    single_blocks += layer.name.ends_with(".proj_mlp");
  }
  if (single_blocks == 0) return {};
  std::vector<nn::Spelling> spellings =
      original_spellings(original_flux_modules(double_blocks, single_blocks), io::Part::kDenoiser, layers);
  for (nn::Spelling& spelling :
       original_spellings(xlabs_modules(double_blocks, single_blocks), io::Part::kDenoiser, layers))
    spellings.push_back(std::move(spelling));
  return spellings;
}

}  // namespace veneer::model
