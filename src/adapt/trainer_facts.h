// What a trainer wrote about an adapter into the file's metadata (kohya's ss_*, the SAI model specification): for
// lists, messages and hints. Never required, never used for shapes or scales.
#pragma once

#include <string>
#include <vector>

#include "io/weight_store.h"

namespace veneer::adapt {

struct TrainerFacts {
  std::string title;       // modelspec.title
  std::string alias;       // ss_output_name: the name under which it was saved
  std::string base_model;  // ss_base_model_version, else modelspec.architecture
  std::string network;     // ss_network_module, with the algorithm of ss_network_args: "lycoris.kohya (loha)"
  std::string rank;        // ss_network_dim
  std::string alpha;       // ss_network_alpha
  // modelspec.trigger_phrase, else the most frequent tags of ss_tag_frequency, at most ten.
  std::vector<std::string> trigger_words;
};

// Facts that are absent or unreadable are left empty.
TrainerFacts trainer_facts(const io::WeightStore::Metadata& metadata);

}  // namespace veneer::adapt
