// Names of an autoencoder. Original decoders count their levels from the picture inwards, canonical ones from the
// latent outwards.
#include "model/autoencoder_names.h"

#include "core/format.h"

namespace veneer::model {
namespace {

void add_attention(NameMap& map, const std::string& from, const std::string& to) {
  map.add(from + ".norm", to + ".group_norm");
  for (const char* part : {"q", "k", "v"}) map.add(from + "." + part, to + ".to_" + part);
  map.add(from + ".proj_out", to + ".to_out.0");
}

// Older diffusers files have their own words for the same layers.
void add_old_attention(NameMap& map, const std::string& name) {
  map.add(name + ".query", name + ".to_q");
  map.add(name + ".key", name + ".to_k");
  map.add(name + ".value", name + ".to_v");
  map.add(name + ".proj_attn", name + ".to_out.0");
}

void add_resnet(NameMap& map, const std::string& from, const std::string& to) {
  map.add(from, to);
  map.add(from + ".nin_shortcut", to + ".conv_shortcut");
}

// The original layers of one side and the canonical ones; `names` are in either spelling.
void add_side(NameMap& map, const NameSet& names, const std::string& side, const std::string& list,
              const std::string& resample) {
  const std::string original = concat(side, ".", list, "."), canonical = concat(side, ".", list, "_blocks.");
  int levels = 0;
  while (has_prefix(names, concat(original, levels, ".")) || has_prefix(names, concat(canonical, levels, ".")))
    ++levels;
  for (int i = 0; i < levels; ++i) {
    const std::string from = concat(original, i), to = concat(canonical, list == "up" ? levels - 1 - i : i);
    for (int j = 0;
         has_prefix(names, concat(from, ".block.", j, ".")) || has_prefix(names, concat(to, ".resnets.", j, ".")); ++j)
      add_resnet(map, concat(from, ".block.", j), concat(to, ".resnets.", j));
    map.add(concat(from, ".", resample, ".conv"), concat(to, ".", resample, "rs.0.conv"));
  }
  add_resnet(map, side + ".mid.block_1", side + ".mid_block.resnets.0");
  add_resnet(map, side + ".mid.block_2", side + ".mid_block.resnets.1");
  add_attention(map, side + ".mid.attn_1", side + ".mid_block.attentions.0");
  map.add(side + ".norm_out", side + ".conv_norm_out");
}

NameMap original_to_canonical(const NameSet& names) {
  NameMap map;
  add_side(map, names, "encoder", "down", "downsample");
  add_side(map, names, "decoder", "up", "upsample");
  return map;
}

}  // namespace

NameMap autoencoder_names(const NameSet& names) {
  NameMap map = original_to_canonical(names);
  for (const std::string side : {"encoder", "decoder"}) add_old_attention(map, side + ".mid_block.attentions.0");
  return map;
}

NameMap original_autoencoder_names(const NameSet& canonical) { return original_to_canonical(canonical).inverted(); }

}  // namespace veneer::model
