// Original UNet names. A block list is walked in the order of its numbers; a downsampler or upsampler ends a level.
#include "model/unet_names.h"

#include <charconv>
#include <set>

#include "core/format.h"

namespace veneer::model {
namespace {

// The numbers N of "list.N.…", ascending.
std::set<int> block_numbers(const io::WeightStore& store, const std::string& list) {
  std::set<int> numbers;
  const std::string prefix = list + ".";
  for (auto it = store.entries().lower_bound(prefix); it != store.entries().end() && it->first.starts_with(prefix);
       ++it) {
    const char* begin = it->first.data() + prefix.size();
    int number = 0;
    const auto [end, error] = std::from_chars(begin, it->first.data() + it->first.size(), number);
    if (error == std::errc() && number >= 0 && *end == '.') numbers.insert(number);
  }
  return numbers;
}

void add_resnet(NameMap& map, const std::string& from, const std::string& to) {
  map.add(from + ".in_layers.0", to + ".norm1");
  map.add(from + ".in_layers.2", to + ".conv1");
  map.add(from + ".emb_layers.1", to + ".time_emb_proj");
  map.add(from + ".out_layers.0", to + ".norm2");
  map.add(from + ".out_layers.3", to + ".conv2");
  map.add(from + ".skip_connection", to + ".conv_shortcut");
}

void add_down_blocks(NameMap& map, const io::WeightStore& store) {
  int level = 0, position = 0;
  for (const int number : block_numbers(store, "input_blocks")) {
    const std::string from = concat("input_blocks.", number);
    const std::string to = concat("down_blocks.", level);
    if (number == 0) {
      map.add(from + ".0", "conv_in");
    } else if (has_prefix(store, from + ".0.op.")) {
      map.add(from + ".0.op", to + ".downsamplers.0.conv");
      ++level;
      position = 0;
    } else {
      add_resnet(map, from + ".0", concat(to, ".resnets.", position));
      map.add(from + ".1", concat(to, ".attentions.", position));
      ++position;
    }
  }
}

void add_middle_block(NameMap& map, const io::WeightStore& store) {
  int resnets = 0;
  for (const int number : block_numbers(store, "middle_block")) {
    const std::string from = concat("middle_block.", number);
    if (has_prefix(store, from + ".in_layers.")) {
      add_resnet(map, from, concat("mid_block.resnets.", resnets++));
    } else {
      map.add(from, "mid_block.attentions.0");
    }
  }
}

void add_up_blocks(NameMap& map, const io::WeightStore& store) {
  int level = 0, position = 0;
  for (const int number : block_numbers(store, "output_blocks")) {
    const std::string from = concat("output_blocks.", number);
    const std::string to = concat("up_blocks.", level);
    add_resnet(map, from + ".0", concat(to, ".resnets.", position));
    if (has_prefix(store, from + ".1.proj_in.")) map.add(from + ".1", concat(to, ".attentions.", position));
    ++position;
    for (const char* child : {".1.conv", ".2.conv"}) {
      if (!has_prefix(store, from + child + ".")) continue;
      map.add(from + child, to + ".upsamplers.0.conv");
      ++level;
      position = 0;
    }
  }
}

// The same three lists, walked in canonical names.
void number_down_blocks(NameMap& map, const NameSet& names) {
  map.add("input_blocks.0.0", "conv_in");
  int number = 1;
  for (int level = 0; has_prefix(names, concat("down_blocks.", level, ".")); ++level) {
    const std::string to = concat("down_blocks.", level);
    for (int j = 0; has_prefix(names, concat(to, ".resnets.", j, ".")); ++j, ++number) {
      const std::string from = concat("input_blocks.", number);
      add_resnet(map, from + ".0", concat(to, ".resnets.", j));
      map.add(from + ".1", concat(to, ".attentions.", j));
    }
    if (has_prefix(names, to + ".downsamplers.0."))
      map.add(concat("input_blocks.", number++, ".0.op"), to + ".downsamplers.0.conv");
  }
}

void number_middle_block(NameMap& map, const NameSet& names) {
  int number = 0;
  for (int j = 0; has_prefix(names, concat("mid_block.resnets.", j, ".")); ++j) {
    add_resnet(map, concat("middle_block.", number++), concat("mid_block.resnets.", j));
    if (j == 0 && has_prefix(names, "mid_block.attentions.0."))
      map.add(concat("middle_block.", number++), "mid_block.attentions.0");
  }
}

void number_up_blocks(NameMap& map, const NameSet& names) {
  int number = 0;
  for (int level = 0; has_prefix(names, concat("up_blocks.", level, ".")); ++level) {
    const std::string to = concat("up_blocks.", level);
    bool attention = false;
    for (int j = 0; has_prefix(names, concat(to, ".resnets.", j, ".")); ++j, ++number) {
      const std::string from = concat("output_blocks.", number);
      add_resnet(map, from + ".0", concat(to, ".resnets.", j));
      attention = has_prefix(names, concat(to, ".attentions.", j, "."));
      if (attention) map.add(from + ".1", concat(to, ".attentions.", j));
    }
    if (has_prefix(names, to + ".upsamplers.0."))
      map.add(concat("output_blocks.", number - 1, attention ? ".2" : ".1", ".conv"), to + ".upsamplers.0.conv");
  }
}

void add_ends(NameMap& map) {
  map.add("time_embed.0", "time_embedding.linear_1");
  map.add("time_embed.2", "time_embedding.linear_2");
  map.add("label_emb.0.0", "add_embedding.linear_1");
  map.add("label_emb.0.2", "add_embedding.linear_2");
  map.add("out.0", "conv_norm_out");
  map.add("out.2", "conv_out");
}

}  // namespace

bool is_original_unet(const io::WeightStore& store) { return store.contains("input_blocks.0.0.weight"); }

NameMap original_unet_names(const io::WeightStore& store) {
  NameMap map;
  add_ends(map);
  add_down_blocks(map, store);
  add_middle_block(map, store);
  add_up_blocks(map, store);
  return map;
}

NameMap unet_names_as_original(const NameSet& canonical) {
  NameMap map;
  add_ends(map);
  number_down_blocks(map, canonical);
  number_middle_block(map, canonical);
  number_up_blocks(map, canonical);
  return map.inverted();
}

}  // namespace veneer::model
