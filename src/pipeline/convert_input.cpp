// Opening for conversion.
#include "pipeline/convert_input.h"

#include <algorithm>

#include "core/format.h"
#include "io/assemble.h"
#include "io/container.h"
#include "io/diffusers_folder.h"
#include "io/part_names.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kQuantization = "quantization_config";

struct PartOption {
  std::string_view name;
  fs::path io::ModelPaths::*path;
  io::Part part;
};
constexpr PartOption kOptions[] = {
    {"--diffusion-model", &io::ModelPaths::denoiser, io::Part::kDenoiser},
    {"--clip_l", &io::ModelPaths::clip_l, io::Part::kTextEncoder},
    {"--clip_g", &io::ModelPaths::clip_g, io::Part::kTextEncoder2},
    {"--t5xxl", &io::ModelPaths::t5xxl, io::Part::kTextEncoder3},
    {"--vae", &io::ModelPaths::vae, io::Part::kVae},
};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<ConvertComponent> open_file(const fs::path& path, MappedFile::Mode mode, std::vector<std::string>& warnings) {
  ConvertComponent component;
  VENEER_TRY(stored, io::open_weights(path, mode));
  VENEER_TRY(assembled, io::assemble_quantized(stored, Json(), path.string()));
  warnings.insert(warnings.end(), assembled.warnings.begin(), assembled.warnings.end());
  component.stored = std::move(stored);
  component.joined = std::move(assembled.weights);
  return component;
}

Result<ConvertComponent> open_folder(const fs::path& path, MappedFile::Mode mode, std::vector<std::string>& warnings) {
  ConvertComponent component;
  VENEER_TRY(opened, io::open_component_folder(path, mode));
  VENEER_TRY(file, io::find_component_weights(path));
  if (file.empty())
    return Error{ErrorCode::kNotFound, concat(path.string(), ": holds a configuration but no weights"), path.string()};
  VENEER_TRY(stored, io::open_weights(file, mode));
  warnings.insert(warnings.end(), opened.warnings.begin(), opened.warnings.end());
  component.stored = std::move(stored);
  component.joined = std::move(opened.weights);
  component.config = std::move(opened.config);
  component.quantization = std::move(opened.quantization);
  if (component.config.is_object()) component.config.erase(kQuantization);
  return component;
}

Result<ConvertComponent> open_any(const fs::path& path, MappedFile::Mode mode, std::vector<std::string>& warnings) {
  return is_folder(path) ? open_folder(path, mode, warnings) : open_file(path, mode, warnings);
}

Status open_diffusers(const fs::path& folder, MappedFile::Mode mode, ConvertInput& input) {
  for (const io::ComponentFolder& known : io::component_folders()) {
    if (!is_folder(folder / known.name)) continue;
    VENEER_TRY(weights, io::find_component_weights(folder / known.name));
    if (weights.empty()) continue;  // a configuration alone
    VENEER_TRY(component, open_folder(folder / known.name, mode, input.warnings));
    // A T5 is the third text encoder, wherever the folder numbers it.
    const bool is_t5 = io::recognise_part(component.joined.entries()) == io::Part::kTextEncoder3;
    component.part = is_t5 ? io::Part::kTextEncoder3 : known.part;
    component.folder = known.name;
    input.components.push_back(std::move(component));
  }
  const fs::path scheduler = folder / "scheduler" / "scheduler_config.json";
  std::error_code ignored;
  if (!fs::exists(scheduler, ignored)) return {};
  VENEER_TRY(text, read_text_file(scheduler));
  VENEER_TRY(json, parse_json(text, scheduler.string()));
  input.scheduler = std::move(json);
  return {};
}

std::string folder_of(io::Part part) {
  const auto folders = io::component_folders();
  const auto found = std::ranges::find(folders, part, &io::ComponentFolder::part);
  return found == folders.end() ? std::string(io::name_of(part)) : found->name;
}

io::WeightStore without(const io::WeightStore& store, io::Part part) {
  return store.renamed([part](std::string_view name) {
    const auto place = io::place_of(name);
    return place && place->part == part ? std::string() : std::string(name);
  });
}

// An option's file takes the place of the whole part, for two spellings of the same layers must not be mixed.
Status take_option(const PartOption& option, const fs::path& path, MappedFile::Mode mode, ConvertInput& input) {
  auto opened = open_any(path, mode, input.warnings);
  if (!opened) {
    Error error = std::move(opened).error();
    error.message = concat(option.name, " ", error.message);
    return error;
  }
  ConvertComponent& component = *opened;
  component.part = option.part;
  component.folder = folder_of(option.part);
  for (ConvertComponent& lower : input.components) {
    if (lower.part == option.part) {
      component.folder = lower.folder;
      if (component.config.is_null()) component.config = std::move(lower.config);
    } else if (!lower.part) {
      lower.stored = without(lower.stored, option.part);
      lower.joined = without(lower.joined, option.part);
    }
  }
  std::erase_if(input.components, [&](const auto& lower) { return lower.part == option.part; });
  input.components.push_back(std::move(component));
  return {};
}

bool is_clip(io::Part part) { return part == io::Part::kTextEncoder || part == io::Part::kTextEncoder2; }

// OpenCLIP's names have no place in the canonical spelling.
bool has_canonical_names(io::Part part, const model::NameSet& names) {
  return !is_clip(part) || model::has_prefix(names, "text_model.") || model::has_prefix(names, "encoder.layers.");
}

}  // namespace

std::vector<std::shared_ptr<const MappedFile>> ConvertInput::files() const {
  std::vector<std::shared_ptr<const MappedFile>> all;
  for (const ConvertComponent& component : components)
    all.insert(all.end(), component.stored.files().begin(), component.stored.files().end());
  return all;
}

Result<ConvertInput> open_convert_input(const io::ModelPaths& paths) {
  ConvertInput input;
  if (!paths.model.empty() && is_folder(paths.model) && io::is_diffusers_folder(paths.model)) {
    VENEER_TRY_STATUS(open_diffusers(paths.model, paths.mode, input));
  } else if (!paths.model.empty()) {
    VENEER_TRY(component, open_any(paths.model, paths.mode, input.warnings));
    input.components.push_back(std::move(component));
  }
  if (is_folder(paths.model)) input.folder = paths.model;
  for (const PartOption& option : kOptions)
    if (const fs::path& path = paths.*option.path; !path.empty())
      VENEER_TRY_STATUS(take_option(option, path, paths.mode, input));
  if (input.components.empty())
    return Error{ErrorCode::kUsage, "convert: expected a model after -m or an option of a part, found none", "--model"};
  // In the order of their names in a single file, so that converting that file again gives the same one.
  std::ranges::sort(input.components, {}, [](const ConvertComponent& component) {
    return component.part ? model::original_prefix(*component.part) : std::string_view();
  });
  return input;
}

ComponentNames::ComponentNames(const ConvertComponent& component) : part_(component.part), bare_(component.part) {
  io::WeightStore::Entries bare;
  std::map<io::Part, model::NameSet> sorted;
  for (const auto& [name, entry] : component.stored.entries()) {
    if (const auto place = io::place_of(name))
      sorted[place->part].emplace(place->name);
    else if (!io::is_marker(name))
      bare.emplace(name, entry);
  }
  if (!bare_) bare_ = io::recognise_part(bare);
  if (bare_)
    for (const auto& [name, entry] : bare) sorted[*bare_].insert(name);
  for (const auto& [part, names] : sorted)
    if (has_canonical_names(part, names)) names_.emplace(part, model::OriginalNames(part, names));
}

std::optional<ComponentNames::Located> ComponentNames::locate(std::string_view name) const {
  if (const auto place = io::place_of(name)) return Located{place->part, place->name};
  if (!bare_ || io::is_marker(name)) return std::nullopt;
  return Located{*bare_, name};
}

std::string ComponentNames::canonical(std::string_view name) const {
  const auto located = locate(name);
  const auto names = located ? names_.find(located->part) : names_.end();
  return names == names_.end() ? std::string(name) : names->second(located->name);
}

std::string ComponentNames::prefixed(std::string_view name) const {
  if (!part_ || io::place_of(name) || io::is_marker(name)) return std::string(name);
  return concat(model::original_prefix(*part_), name);
}

}  // namespace veneer::pipeline
