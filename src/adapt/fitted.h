// An adapter fitted to a model: its modules resolved to layers and lowered to terms, once, whatever strengths it will
// be used at. What has no effect is accounted for by key.
#pragma once

#include <memory>

#include "adapt/embedding.h"
#include "adapt/fused.h"
#include "adapt/receipt.h"
#include "adapt/resolver.h"

namespace veneer::adapt {

// One place of the model that takes part.
struct FittedSite {
  io::Part part = io::Part::kDenoiser;
  Site site;
  Lowered lowered;                                 // at strength 1
  size_t keys = 0;                                 // index into Fitted::groups, for lowering again
  std::string_view block;                          // Resolver::block_of
  std::shared_ptr<const Fusion> fusion = nullptr;  // where the keys are for more than this layer
  size_t slice = 0;                                // which of its sites this is
};

struct Fitted {
  std::shared_ptr<const Adapter> adapter;
  LowerOptions options;           // what it was lowered with; strength 1
  std::vector<KeyGroup> groups;   // of the places that take part
  std::vector<FittedSite> sites;  // in the order of the model's layers
  // Words that the file brings vectors for, in the widths of the model's text encoders. Strengths do not scale them.
  std::vector<Embedding> embeddings;
  AdapterAccount account;     // without strengths
  std::vector<Error> broken;  // contradictions and values that are not finite: errors unless the policy is lenient
  int64_t held_bytes = 0;     // of all terms
};

// `model` names the model's family, for the message about a file that fits another. Runs on the engine thread: places
// are lowered in parallel, with the same result on any number of threads.
// Errors: mismatch as Resolver::resolve. What single modules lack is in the account.
Result<std::shared_ptr<const Fitted>> fit(std::shared_ptr<const Adapter> adapter, const Resolver& resolver,
                                          const LowerOptions& options, std::string_view model);

}  // namespace veneer::adapt
