// Which files of a folder are read: rules of the layout, no look into any tensor.
#include "io/diffusers_folder.h"

#include <algorithm>

#include "core/format.h"
#include "io/assemble.h"
#include "io/container.h"
#include "io/single_file.h"

namespace veneer::io {
namespace {

namespace fs = std::filesystem;

constexpr ComponentFolder kComponents[] = {
    {"unet", Part::kDenoiser},
    {"transformer", Part::kDenoiser},
    {"vae", Part::kVae},
    {"text_encoder", Part::kTextEncoder},
    {"text_encoder_2", Part::kTextEncoder2},
    {"text_encoder_3", Part::kTextEncoder3},
};

constexpr const char* kTokenizers[] = {"tokenizer", "tokenizer_2", "tokenizer_3"};
constexpr std::string_view kStems[] = {"diffusion_pytorch_model", "model"};
constexpr std::string_view kPickleStems[] = {"diffusion_pytorch_model", "pytorch_model"};
constexpr std::string_view kPickleEnds[] = {".bin", ".ckpt", ".pt", ".pth"};
constexpr uint64_t kConfigLimit = 4 << 20;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<std::string> file_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) names.push_back(base_name(entry.path()));
  std::sort(names.begin(), names.end());
  return names;
}

// A JSON file, or null when it does not exist.
Result<Json> read_json_if_there(const fs::path& path) {
  if (!is_there(path)) return Json();
  VENEER_TRY(text, read_text_file(path, kConfigLimit));
  return parse_json(text, path.string());
}

// How the weights of a component are quantized, or null.
Result<Json> quantization_config(const fs::path& folder, const Json& config) {
  if (config.is_object())
    if (const auto found = config.find("quantization_config"); found != config.end() && !found->is_null())
      return *found;
  return read_json_if_there(folder / "quantization_config.json");
}

// "model.fp16.safetensors", "model.fp16.safetensors.index.json", "model.safetensors.index.fp16.json"; no shard by
// itself.
bool is_variant(const std::string& name) {
  const bool of_stem = std::any_of(std::begin(kStems), std::end(kStems),
                                   [&](std::string_view stem) { return name.starts_with(std::string(stem) + "."); });
  const bool shard = contains(name, "-of-");
  const bool index = contains(name, ".safetensors.index.") && name.ends_with(".json");
  return of_stem && !shard && (index || name.ends_with(".safetensors"));
}

bool is_pickle_name(const std::string& name) {
  return std::any_of(std::begin(kPickleEnds), std::end(kPickleEnds),
                     [&](std::string_view end) { return name.ends_with(end); });
}

// The model index may say of a component that the pipeline goes without it: [null, null].
bool is_left_out(const Json& index, const char* name) {
  if (!index.is_object()) return false;
  const auto entry = index.find(name);
  return entry != index.end() && entry->is_array() && !entry->empty() && entry->front().is_null();
}

// Adds the sorted tensors of one component; a part that is there already keeps its place.
void add_component(Component component, const fs::path& folder, Part part, ModelFiles& files) {
  ModelFiles sorted = sort_into_parts(component.weights, folder.string(), part);
  files.warnings.insert(files.warnings.end(), component.warnings.begin(), component.warnings.end());
  if (sorted.parts.empty()) sorted.parts[part].source = folder.string();
  files.ignored_tensors += sorted.ignored_tensors;
  files.unused_tensors.insert(files.unused_tensors.end(), sorted.unused_tensors.begin(), sorted.unused_tensors.end());
  for (auto& [found, model_part] : sorted.parts) {
    model_part.config = component.config;
    if (!files.parts.emplace(found, std::move(model_part)).second)
      files.warnings.push_back(concat(folder.string(), ": is not used, another folder holds the ", name_of(found)));
  }
}

}  // namespace

std::span<const ComponentFolder> component_folders() { return kComponents; }

bool is_diffusers_folder(const fs::path& folder) {
  return is_there(folder / "model_index.json") || is_folder(folder / "unet") || is_folder(folder / "transformer");
}

Result<fs::path> find_component_weights(const fs::path& folder) {
  for (const std::string_view stem : kStems)
    for (const std::string_view end : {".safetensors", ".safetensors.index.json"})
      if (const fs::path plain = folder / concat(stem, end); is_there(plain)) return plain;
  const std::vector<std::string> names = file_names(folder);
  std::vector<std::string> variants;
  std::copy_if(names.begin(), names.end(), std::back_inserter(variants), is_variant);
  if (variants.size() == 1) return folder / variants.front();
  if (variants.size() > 1)
    return Error{ErrorCode::kBadFile,
                 concat(folder.string(), ": holds several variants of its weights (", join(variants, ", "),
                        "), expected a plain one or one variant only; name the wanted file with its own option"),
                 folder.string()};
  for (const std::string_view stem : kPickleStems)
    for (const std::string_view end : {".bin", ".bin.index.json"})
      if (const fs::path pickle = folder / concat(stem, end); is_there(pickle)) return pickle;
  if (const auto pickle = std::find_if(names.begin(), names.end(), is_pickle_name); pickle != names.end())
    return Error{ErrorCode::kUnsupported,
                 concat(folder.string(), ": holds its weights as ", *pickle, " only, expected ", kPickleStems[0],
                        ".bin or ", kPickleStems[1], ".bin; name the file with its own option"),
                 folder.string()};
  return fs::path();
}

Result<Component> open_component_folder(const fs::path& folder, MappedFile::Mode mode) {
  Component component;
  VENEER_TRY(config, read_json_if_there(folder / "config.json"));
  component.config = std::move(config);
  VENEER_TRY(file, find_component_weights(folder));
  if (file.empty() && component.config.is_null())
    return Error{ErrorCode::kNotFound,
                 concat(folder.string(), ": holds neither weights (", kStems[0], ".safetensors or ", kStems[1],
                        ".safetensors) nor a config.json"),
                 folder.string()};
  if (file.empty()) return component;
  VENEER_TRY(weights, open_weights(file, mode));
  VENEER_TRY(quantization, quantization_config(folder, component.config));
  VENEER_TRY(assembled, assemble_quantized(weights, quantization, folder.string()));
  component.weights = std::move(assembled.weights);
  component.warnings = std::move(assembled.warnings);
  component.quantization = std::move(quantization);
  return component;
}

bool take_tokenizer(const fs::path& folder, ModelFiles& files) {
  const bool clip = is_there(folder / "merges.txt");
  const bool t5 = !clip && (is_there(folder / "spiece.model") || is_there(folder / "tokenizer.json"));
  if (clip && files.tokenizer.empty()) files.tokenizer = folder;
  if (t5 && files.t5_tokenizer.empty()) files.t5_tokenizer = folder;
  return clip || t5;
}

Result<ModelFiles> open_diffusers_folder(const fs::path& folder, MappedFile::Mode mode) {
  ModelFiles files;
  VENEER_TRY(index, read_json_if_there(folder / "model_index.json"));
  for (const ComponentFolder& known : kComponents) {
    const fs::path path = folder / known.name;
    if (!is_folder(path) || is_left_out(index, known.name)) continue;
    VENEER_TRY(component, open_component_folder(path, mode));
    add_component(std::move(component), path, known.part, files);
  }
  VENEER_TRY(scheduler, read_json_if_there(folder / "scheduler" / "scheduler_config.json"));
  files.scheduler_config = std::move(scheduler);
  for (const char* name : kTokenizers) take_tokenizer(folder / name, files);
  return files;
}

}  // namespace veneer::io
