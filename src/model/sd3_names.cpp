// SD3 names. Two-part modulations are (shift, scale) in original files and (scale, shift) here.
#include "model/sd3_names.h"

#include "core/format.h"

namespace veneer::model {
namespace {

// One side of a block: `x_block` and the layers that stand for its modules.
void add_attention(const std::string& original, const std::string& attention, bool text,
                   std::vector<OriginalModule>& modules) {
  const auto layer = [&](const char* of_image, const char* of_text) {
    return concat(attention, ".", text ? of_text : of_image);
  };
  modules.push_back({original + ".qkv",
                     {{layer("to_q", "add_q_proj")}, {layer("to_k", "add_k_proj")}, {layer("to_v", "add_v_proj")}}});
  modules.push_back(same_module(original + ".proj", layer("to_out.0", "to_add_out")));
  modules.push_back(same_module(original + ".ln_q", layer("norm_q", "norm_added_q")));
  modules.push_back(same_module(original + ".ln_k", layer("norm_k", "norm_added_k")));
}

void add_mlp(const std::string& original, const std::string& feed_forward, std::vector<OriginalModule>& modules) {
  modules.push_back(same_module(original + ".fc1", feed_forward + ".net.0.proj"));
  modules.push_back(same_module(original + ".fc2", feed_forward + ".net.2"));
}

int64_t block_count(const io::WeightStore& store) {
  int64_t blocks = 0;
  while (has_prefix(store, concat("joint_blocks.", blocks, "."))) ++blocks;
  return blocks;
}

}  // namespace

bool is_original_sd3(const io::WeightStore& store) { return has_prefix(store, "joint_blocks.0.x_block.attn.qkv."); }

std::vector<OriginalModule> original_sd3_modules(int64_t blocks) {
  std::vector<OriginalModule> modules{
      same_module("x_embedder.proj", "pos_embed.proj"),
      same_module("t_embedder.mlp.0", "time_text_embed.timestep_embedder.linear_1"),
      same_module("t_embedder.mlp.2", "time_text_embed.timestep_embedder.linear_2"),
      same_module("y_embedder.mlp.0", "time_text_embed.text_embedder.linear_1"),
      same_module("y_embedder.mlp.2", "time_text_embed.text_embedder.linear_2"),
      same_module("final_layer.linear", "proj_out"),
      {"final_layer.adaLN_modulation.1", {{"norm_out.linear", 2}}, true},
  };
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string image = concat("joint_blocks.", i, ".x_block"),
                      text = concat("joint_blocks.", i, ".context_block");
    const std::string block = concat("transformer_blocks.", i);
    add_attention(image + ".attn", block + ".attn", false, modules);
    add_attention(image + ".attn2", block + ".attn2", false, modules);
    add_attention(text + ".attn", block + ".attn", true, modules);
    add_mlp(image + ".mlp", block + ".ff", modules);
    add_mlp(text + ".mlp", block + ".ff_context", modules);
    modules.push_back(same_module(image + ".adaLN_modulation.1", block + ".norm1.linear"));
    OriginalModule of_text = same_module(text + ".adaLN_modulation.1", block + ".norm1_context.linear");
    of_text.swap_halves = i == blocks - 1;
    of_text.parts.front().widths = 2;
    modules.push_back(std::move(of_text));
  }
  return modules;
}

NameMap original_sd3_names(const io::WeightStore& store) {
  const io::Entry* patch = store.find("x_embedder.proj.weight");
  const int64_t width = patch && patch->weight.shape.rank() > 0 ? patch->weight.shape[0] : 0;
  NameMap map = canonical_map(original_sd3_modules(block_count(store)), width);
  map.add("pos_embed", "pos_embed.pos_embed");
  return map;
}

std::vector<nn::Spelling> sd3_spellings(const nn::LayerList& layers) {
  int64_t blocks = 0;
  for (const nn::Layer& layer : layers.all()) {
    if (layer.name.ends_with(".proj_mlp")) return {};  // FLUX.1, which has joint blocks too
    blocks += layer.name.ends_with(".norm1_context.linear");
  }
  if (blocks == 0) return {};
  return original_spellings(original_sd3_modules(blocks), io::Part::kDenoiser, layers);
}

}  // namespace veneer::model
