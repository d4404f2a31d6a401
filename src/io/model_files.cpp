// From what the user named to a model's parts: opens each path, keeps what its option is for, lays one over the other.
#include "io/model_files.h"

#include <algorithm>

#include "core/format.h"
#include "io/assemble.h"
#include "io/carried_config.h"
#include "io/container.h"
#include "io/diffusers_folder.h"
#include "io/printable.h"
#include "io/single_file.h"
#include "io/tiny_vae_files.h"

namespace veneer::io {
namespace {

namespace fs = std::filesystem;

struct PartOption {
  std::string_view name;
  fs::path ModelPaths::*path;
  Part part;
};

constexpr PartOption kOptions[] = {
    {"--diffusion-model", &ModelPaths::denoiser, Part::kDenoiser},
    {"--clip_l", &ModelPaths::clip_l, Part::kTextEncoder},
    {"--clip_g", &ModelPaths::clip_g, Part::kTextEncoder2},
    {"--t5xxl", &ModelPaths::t5xxl, Part::kTextEncoder3},
    {"--vae", &ModelPaths::vae, Part::kVae},
    {"--taesd", &ModelPaths::tiny_vae, Part::kTinyVae},
};

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Error named(std::string_view option, Error error) {
  error.message = concat(option, " ", error.message);
  return error;
}

Result<Component> open_component(const fs::path& path, MappedFile::Mode mode, std::optional<Part> wanted) {
  if (wanted == Part::kTinyVae) return open_tiny_vae(path, mode);
  if (is_folder(path)) return open_component_folder(path, mode);
  VENEER_TRY(weights, open_weights(path, mode));
  VENEER_TRY(assembled, assemble_quantized(weights, Json(), path.string()));
  return Component{std::move(assembled.weights), Json(), Json(), std::move(assembled.warnings)};
}

// Everything that one path holds; bare names are taken for `wanted`.
Result<ModelFiles> open_path(const fs::path& path, MappedFile::Mode mode, std::optional<Part> wanted) {
  if (is_folder(path) && is_diffusers_folder(path)) return open_diffusers_folder(path, mode);
  VENEER_TRY(component, open_component(path, mode, wanted));
  ModelFiles files = sort_into_parts(component.weights, path.string(), wanted);
  files.warnings.insert(files.warnings.end(), component.warnings.begin(), component.warnings.end());
  if (files.parts.size() == 1) files.parts.begin()->second.config = std::move(component.config);
  VENEER_TRY_STATUS(take_carried_config(files));
  return files;
}

bool has_all_names_of(const WeightStore& lower, const WeightStore& upper) {
  return std::all_of(upper.entries().begin(), upper.entries().end(),
                     [&](const auto& entry) { return lower.contains(entry.first); });
}

void lay_over(ModelPart& lower, ModelPart upper) {
  const bool patch = has_all_names_of(lower.weights, upper.weights);
  // A configuration goes with weights of its structure; one that came without weights is meant for those that follow.
  if (upper.config.is_null() && (patch || lower.weights.empty())) upper.config = std::move(lower.config);
  if (patch) upper.weights = lower.weights.layered(upper.weights);
  lower = std::move(upper);
}

std::string part_names(const std::map<Part, ModelPart>& parts) {
  std::vector<std::string> names;
  for (const auto& [part, ignored] : parts) names.emplace_back(name_of(part));
  return names.empty() ? "no part of a model" : join(names, ", ");
}

Status take_option(const PartOption& option, const fs::path& path, MappedFile::Mode mode, ModelFiles& files) {
  auto opened = open_path(path, mode, option.part);
  if (!opened) return named(option.name, std::move(opened).error());
  const auto found = opened->parts.find(option.part);
  if (found == opened->parts.end() || found->second.weights.empty())
    return Error{ErrorCode::kMismatch,
                 concat(option.name, " ", path.string(), ": expected a ", name_of(option.part), ", found ",
                        part_names(opened->parts)),
                 path.string()};
  if (opened->parts.size() > 1)
    files.warnings.push_back(concat(option.name, " ", path.string(), ": only its ", name_of(option.part), " is used"));
  lay_over(files.parts[option.part], std::move(found->second));
  files.ignored_tensors += opened->ignored_tensors;
  files.unused_tensors.insert(files.unused_tensors.end(), opened->unused_tensors.begin(), opened->unused_tensors.end());
  if (option.part != Part::kDenoiser) return {};
  files.markers = std::move(opened->markers);
  files.alphas_cumprod = std::move(opened->alphas_cumprod);
  files.warnings.insert(files.warnings.end(), opened->warnings.begin(), opened->warnings.end());
  return {};
}

Status take_tokenizer_option(const fs::path& folder, ModelFiles& files) {
  ModelFiles given;
  if (!take_tokenizer(folder, given))
    return Error{
        ErrorCode::kNotFound,
        concat("--tokenizer ", folder.string(), ": expected a folder with merges.txt, spiece.model or tokenizer.json"),
        folder.string()};
  if (!given.tokenizer.empty()) files.tokenizer = given.tokenizer;
  if (!given.t5_tokenizer.empty()) files.t5_tokenizer = given.t5_tokenizer;
  return {};
}

Result<ModelFiles> open_model(const fs::path& path, MappedFile::Mode mode) {
  auto model = open_path(path, mode, std::nullopt);
  if (!model) return named("--model", std::move(model).error());
  if (!model->parts.empty()) return model;
  const auto& unused = model->unused_tensors;
  return Error{ErrorCode::kMismatch,
               concat("--model ", path.string(), ": holds no part of a model (",
                      unused.empty() ? "no tensors" : concat("its tensors are such as ", printable(unused.front())),
                      "); an adapter or embedding has an option of its own"),
               path.string()};
}

// Parts whose folder had only a configuration, and for which no option brought weights.
void drop_empty_parts(ModelFiles& files) {
  for (const auto& [part, model_part] : files.parts)
    if (model_part.weights.empty())
      files.warnings.push_back(concat(model_part.source, ": holds a configuration but no weights"));
  std::erase_if(files.parts, [](const auto& entry) { return entry.second.weights.empty(); });
}

std::string model_name(const ModelPaths& paths) {
  const fs::path path = (paths.model.empty() ? paths.denoiser : paths.model).lexically_normal();
  return base_name(path.has_filename() ? path : path.parent_path());
}

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::kDenoiser: return "denoiser";
    case Part::kTextEncoder: return "text_encoder";
    case Part::kTextEncoder2: return "text_encoder_2";
    case Part::kTextEncoder3: return "text_encoder_3";
    case Part::kVae: return "vae";
    case Part::kTinyVae: return "tiny_vae";
  }
  return "?";
}

const ModelPart* ModelFiles::find(Part part) const {
  const auto found = parts.find(part);
  return found == parts.end() ? nullptr : &found->second;
}

Result<ModelFiles> open_model_files(const ModelPaths& paths) {
  ModelFiles files;
  if (!paths.model.empty()) {
    VENEER_TRY(model, open_model(paths.model, paths.mode));
    files = std::move(model);
  }
  for (const PartOption& option : kOptions)
    if (const fs::path& path = paths.*option.path; !path.empty())
      VENEER_TRY_STATUS(take_option(option, path, paths.mode, files));
  if (!paths.tokenizer.empty()) VENEER_TRY_STATUS(take_tokenizer_option(paths.tokenizer, files));
  drop_empty_parts(files);
  files.name = model_name(paths);
  return files;
}

}  // namespace veneer::io
