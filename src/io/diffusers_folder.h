// Models as folders: one component per sub-folder, each a config.json with weights beside it, as the diffusers library
// saves them.
#pragma once

#include <filesystem>
#include <span>

#include "io/model_files.h"

namespace veneer::io {

// The components' folders and what each holds. Two names may mean one part; a model has one of them.
struct ComponentFolder {
  const char* name;
  Part part;
};
std::span<const ComponentFolder> component_folders();

// True when the folder has a model_index.json or a sub-folder of a denoiser.
bool is_diffusers_folder(const std::filesystem::path& folder);

// All components, the scheduler's configuration and the tokenizers. A component with a configuration but without
// weights gives a part of its own with an empty store, so that weights from another file can be laid under that
// configuration. Errors: those of open_component_folder.
Result<ModelFiles> open_diffusers_folder(const std::filesystem::path& folder, MappedFile::Mode mode);

struct Component {
  WeightStore weights;                     // empty when the folder has a configuration only
  Json config;                             // config.json, or null
  Json quantization = {};                  // how the weights are quantized, or null
  std::vector<std::string> warnings = {};  // of assemble_quantized
};
// The weights are assembled by the configuration's "quantization_config", or by quantization_config.json beside it.
// Errors: those of assemble_quantized; bad_file for several variants of the weights without a plain one; unsupported
// when there are only pickle files of other names; not_found for a folder with neither weights nor configuration; those
// of parse_json and open_weights.
Result<Component> open_component_folder(const std::filesystem::path& folder, MappedFile::Mode mode);

// The weights of a component: the plain file, else its shard index, else the only variant (".fp16", ...), else a pickle
// (".bin"); empty when there is none. Errors: bad_file and unsupported as above.
Result<std::filesystem::path> find_component_weights(const std::filesystem::path& folder);

// Puts `folder` into `files` as the tokenizer that its files are of; false when they are of none.
bool take_tokenizer(const std::filesystem::path& folder, ModelFiles& files);

}  // namespace veneer::io
