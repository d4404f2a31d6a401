// Original modules to maps and to spellings.
#include "model/original_modules.h"

#include <map>

namespace veneer::model {

OriginalModule same_module(std::string name, std::string layer) {
  return {std::move(name), {{std::move(layer)}}, false};
}

NameMap canonical_map(std::span<const OriginalModule> modules, int64_t width) {
  NameMap map;
  for (const OriginalModule& module : modules) {
    if (module.parts.size() == 1 && !module.swap_halves) {
      map.add(module.name, module.parts.front().layer);
      continue;
    }
    std::vector<FusedPart> parts;
    for (const OriginalModule::Part& part : module.parts) parts.push_back({part.layer, part.widths * width});
    map.add_fused(module.name, std::move(parts), module.swap_halves ? width : 0);
  }
  return map;
}

std::vector<nn::Spelling> original_spellings(std::span<const OriginalModule> modules, io::Part part,
                                             const nn::LayerList& layers) {
  std::map<std::string, const nn::Layer*, std::less<>> by_name;
  for (const nn::Layer& layer : layers.all()) by_name.emplace(layer.name.substr(layer.name.find('.') + 1), &layer);

  std::vector<nn::Spelling> out;
  for (const OriginalModule& module : modules) {
    nn::Spelling spelling{part, module.name, {}, module.swap_halves};
    for (const OriginalModule::Part& piece : module.parts)
      if (const auto found = by_name.find(piece.layer); found != by_name.end())
        spelling.ranges.push_back({found->second, 0, found->second->out()});
    if (spelling.ranges.size() == module.parts.size()) out.push_back(std::move(spelling));
  }
  return out;
}

}  // namespace veneer::model
