// PixArt's names.
#include "model/pixart_names.h"

#include "core/format.h"

namespace veneer::model {
namespace {

void add_embedder(const std::string& original, const std::string& embedder, std::vector<OriginalModule>& modules) {
  modules.push_back(same_module(original + ".mlp.0", concat("adaln_single.emb.", embedder, ".linear_1")));
  modules.push_back(same_module(original + ".mlp.2", concat("adaln_single.emb.", embedder, ".linear_2")));
}

void add_block(const std::string& original, const std::string& block, std::vector<OriginalModule>& modules) {
  modules.push_back(
      {original + ".attn.qkv", {{block + ".attn1.to_q"}, {block + ".attn1.to_k"}, {block + ".attn1.to_v"}}});
  modules.push_back(same_module(original + ".attn.proj", block + ".attn1.to_out.0"));
  modules.push_back(same_module(original + ".cross_attn.q_linear", block + ".attn2.to_q"));
  modules.push_back({original + ".cross_attn.kv_linear", {{block + ".attn2.to_k"}, {block + ".attn2.to_v"}}});
  modules.push_back(same_module(original + ".cross_attn.proj", block + ".attn2.to_out.0"));
  modules.push_back(same_module(original + ".mlp.fc1", block + ".ff.net.0.proj"));
  modules.push_back(same_module(original + ".mlp.fc2", block + ".ff.net.2"));
}

int64_t block_count(const io::WeightStore& store) {
  int64_t blocks = 0;
  while (has_prefix(store, concat("blocks.", blocks, "."))) ++blocks;
  return blocks;
}

}  // namespace

bool is_original_pixart(const io::WeightStore& store) { return has_prefix(store, "blocks.0.cross_attn.kv_linear."); }

std::vector<OriginalModule> original_pixart_modules(int64_t blocks) {
  std::vector<OriginalModule> modules{
      same_module("x_embedder.proj", "pos_embed.proj"),
      same_module("y_embedder.y_proj.fc1", "caption_projection.linear_1"),
      same_module("y_embedder.y_proj.fc2", "caption_projection.linear_2"),
      same_module("t_block.1", "adaln_single.linear"),
      same_module("final_layer.linear", "proj_out"),
  };
  add_embedder("t_embedder", "timestep_embedder", modules);
  add_embedder("csize_embedder", "resolution_embedder", modules);
  add_embedder("ar_embedder", "aspect_ratio_embedder", modules);
  for (int64_t i = 0; i < blocks; ++i) add_block(concat("blocks.", i), concat("transformer_blocks.", i), modules);
  return modules;
}

NameMap original_pixart_names(const io::WeightStore& store) {
  const int64_t blocks = block_count(store);
  const io::Entry* patch = store.find("x_embedder.proj.weight");
  NameMap map = canonical_map(original_pixart_modules(blocks), patch ? patch->weight.rows() : 0);
  for (int64_t i = 0; i < blocks; ++i)
    map.add(concat("blocks.", i, ".scale_shift_table"), concat("transformer_blocks.", i, ".scale_shift_table"));
  map.add("final_layer.scale_shift_table", "scale_shift_table");
  map.add("y_embedder.y_embedding", "");
  return map;
}

std::vector<nn::Spelling> pixart_spellings(const nn::LayerList& layers) {
  bool is_pixart = false;
  int64_t blocks = 0;
  for (const nn::Layer& layer : layers.all()) {
    is_pixart = is_pixart || layer.name.ends_with(".adaln_single.linear");
    blocks += layer.name.ends_with(".attn2.to_q");
  }
  if (!is_pixart) return {};
  return original_spellings(original_pixart_modules(blocks), io::Part::kDenoiser, layers);
}

}  // namespace veneer::model
