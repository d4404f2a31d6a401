// Spelling out the names of layers.
#include "model/spellings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "core/format.h"
#include "model/clip_names.h"
#include "model/flux_names.h"
#include "model/original_names.h"
#include "model/pixart_names.h"
#include "model/sd3_names.h"

namespace veneer::model {
namespace {

std::string without_component(const std::string& name) { return name.substr(name.find('.') + 1); }

nn::Spelling whole(io::Part part, std::string name, const nn::Layer& layer) {
  return {part, std::move(name), {{&layer, 0, layer.out()}}};
}

bool is_clip(io::Part part) { return part == io::Part::kTextEncoder || part == io::Part::kTextEncoder2; }

// Names of one layer besides the canonical and the original one, given its canonical one.
std::vector<std::string> variants(io::Part part, const std::string& name) {
  constexpr std::string_view kFirstOfList = ".to_out.0", kTop = "text_model.";
  if (part == io::Part::kDenoiser && name.ends_with(kFirstOfList)) return {name.substr(0, name.size() - 2)};
  // The newest library leaves out the top module of a CLIP encoder.
  if (is_clip(part) && name.starts_with(kTop)) return {name.substr(kTop.size())};
  return {};
}

using LayersByName = std::map<std::string, const nn::Layer*, std::less<>>;

// The modules that the earliest trainer counted inside one block, in its order.
constexpr std::array kCountedInUnetBlock = {
    "attn1.to_q", "attn1.to_k", "attn1.to_v", "attn1.to_out.0", "ff.net.0.proj",
    "attn2.to_q", "attn2.to_k", "attn2.to_v", "attn2.to_out.0",
};
constexpr std::array kCountedInClipLayer = {"k_proj", "v_proj", "q_proj", "out_proj"};

// Adds those modules of the block that are there; false when there is none.
template <size_t N>
bool count_block(const LayersByName& layers, const std::string& block, const std::array<const char*, N>& modules,
                 std::vector<const nn::Layer*>& counted) {
  const size_t before = counted.size();
  for (const char* module : modules)
    if (const auto found = layers.find(block + module); found != layers.end()) counted.push_back(found->second);
  return counted.size() > before;
}

void count_attentions(const LayersByName& layers, const std::string& list, std::vector<const nn::Layer*>& counted) {
  for (int j = 0;; ++j) {
    int blocks = 0;
    while (count_block(layers, concat(list, ".attentions.", j, ".transformer_blocks.", blocks, "."),
                       kCountedInUnetBlock, counted))
      ++blocks;
    if (blocks == 0) return;
  }
}

// The earliest layout names modules by number alone. A level of a UNet may have no attention, so levels are counted by
// their residual blocks; the order down, up, middle is that of the code of that time.
std::vector<const nn::Layer*> numbered(io::Part part, const LayersByName& layers) {
  std::vector<const nn::Layer*> counted;
  if (part == io::Part::kDenoiser) {
    for (const char* side : {"down_blocks.", "up_blocks."})
      for (int i = 0; layers.contains(concat(side, i, ".resnets.0.conv1")); ++i)
        count_attentions(layers, concat(side, i), counted);
    count_attentions(layers, "mid_block", counted);
  } else if (part == io::Part::kTextEncoder) {
    int i = 0;
    while (count_block(layers, concat("text_model.encoder.layers.", i, ".self_attn."), kCountedInClipLayer, counted))
      ++i;
  }
  return counted;
}

}  // namespace

std::vector<nn::Spelling> spellings_of(io::Part part, const nn::LayerList& layers) {
  LayersByName by_name;
  NameSet tensors;
  for (const nn::Layer& layer : layers.all()) {
    by_name.emplace(without_component(layer.name), &layer);
    tensors.insert(without_component(layer.name) + ".weight");
  }
  const OriginalNames original(part, tensors);
  const size_t prefix_size = original_prefix(part).size();

  std::vector<nn::Spelling> out;
  for (const nn::Layer& layer : layers.all()) {
    const std::string name = without_component(layer.name);
    out.push_back(whole(part, name, layer));
    const std::string original_name = original(name).substr(prefix_size);
    if (original_name != name) out.push_back(whole(part, original_name, layer));
    for (std::string& variant : variants(part, name)) out.push_back(whole(part, std::move(variant), layer));
  }
  const std::vector<const nn::Layer*> counted = numbered(part, by_name);
  for (size_t i = 0; i < counted.size(); ++i) out.push_back(whole(part, concat(":", i), *counted[i]));
  if (is_clip(part)) std::ranges::move(open_clip_spellings(part, layers), std::back_inserter(out));
  std::ranges::move(pixart_spellings(layers), std::back_inserter(out));
  std::ranges::move(sd3_spellings(layers), std::back_inserter(out));
  std::ranges::move(flux_spellings(layers), std::back_inserter(out));
  return out;
}

nn::NameTable name_table(const Model& model) {
  nn::NameTable table;
  table.parts = {io::Part::kDenoiser, io::Part::kVae, io::Part::kTinyVae};
  for (const TextUse& use : model.text_plan().uses) table.parts.push_back(use.part);
  for (const auto& [part, network] : model.networks()) {
    std::vector<nn::Spelling> names = spellings_of(part, network->layers());
    table.spellings.insert(table.spellings.end(), std::make_move_iterator(names.begin()),
                           std::make_move_iterator(names.end()));
  }
  return table;
}

}  // namespace veneer::model
