// One adapter file, read and sorted: its tensors as groups by the module they are for, what its trainer said, and its
// hashes. Immutable and made for no model; resolver.h finds the layers, the families read the numbers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapt/adapter_keys.h"
#include "adapt/key_group.h"
#include "adapt/trainer_facts.h"
#include "io/weight_store.h"

namespace veneer::adapt {

// All keys under one spelling of one module. A file that gives a part twice under it ("lora_A" and "lora_down") has two
// of these; whoever finds their layer compares them.
struct AdapterModule {
  std::string prefix;  // as in ParsedKey
  std::string name;    // as in ParsedKey
  KeyGroup keys;
};

// A textual inversion that came with the adapter: "bundle_emb.NAME.clip_l", or a learned token of the earliest layout.
struct BundledEmbedding {
  std::string name;
  std::vector<KeyPart> parts;  // one for each text encoder
};

struct IgnoredKey {
  std::string key;
  std::string rule;  // why it has no effect, in words
};

struct Adapter {
  std::filesystem::path path;
  std::string name;    // the file's name without its extension
  std::string sha256;  // of the whole file: the adapter's identity
  std::string
      auto_v3;  // SHA-256 of what follows a safetensors header, which edits of the metadata do not change; or empty
  io::WeightStore::Metadata metadata;
  TrainerFacts facts;
  int64_t key_count = 0;  // of the file; each key is in one of what follows
  std::vector<AdapterModule> modules;
  std::optional<KeyPart> vera_down, vera_up;  // shared by all modules; their groups point here
  std::vector<BundledEmbedding> embeddings;
  std::vector<IgnoredKey> ignored;  // tensors that are no part of a layer's change

  Adapter() = default;
  Adapter(const Adapter&) = delete;  // groups point into it
  Adapter& operator=(const Adapter&) = delete;

  std::string auto_v2() const { return sha256.substr(0, 10); }
};

// Opens any container by its content, and PEFT's adapter_config.json beside "adapter_model.*" and beside files that
// PEFT itself wrote. Reads the whole file once for the hashes, and no numbers.
// Errors: not_found, io, bad_file and unsupported as io::open_weights and PeftConfigs have them; mismatch for a file
// without adapter keys, saying what it is where that is known; unsupported for numbered modules of classes whose
// numbering is not known.
Result<std::shared_ptr<const Adapter>> open_adapter(const std::filesystem::path& path,
                                                    MappedFile::Mode mode = MappedFile::Mode::kMap);

}  // namespace veneer::adapt
