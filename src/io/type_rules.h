// Which number format each tensor is to have: one for all (`--type`) and rules by name (`--tensor-type-rules`). Judges
// by names, shapes and types; reads no value and knows no output format.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/encode.h"
#include "io/weight_store.h"

namespace veneer::io {

// A form that weights can be brought into.
struct TargetType {
  std::string name;  // as the options spell it: "q8_0", "f8_e4m3_scaled_rows", "sdnq_uint4"
  codec::Form form;

  bool is_f8() const;  // with or without scales
  bool is_sdnq() const { return std::holds_alternative<codec::SdnqForm>(form); }
  bool is_float() const;  // f32, f16 or bf16
};

// Names in any case. Errors: usage, with the names that there are.
Result<TargetType> target_named(std::string_view name);

// Why a tensor stays as it is.
enum class KeepReason : uint8_t {
  kNone,       // it does not stay
  kNoRule,     // nothing asks for another type
  kSameType,   // it has the type that is asked for
  kName,       // its name is on the list of those never converted
  kVector,     // it has one dimension, and the type is for matrices
  kRowLength,  // its rows are no whole number of blocks
  kInt8,       // it is INT8 with scales
  kOpenShape,  // its file does not tell its layer's shape
  kNoLayer,    // the type needs tensors beside it, and its name is not that of a layer's weight
  kNoWeight,   // its type in the file is no number format of weights
};
std::string_view words_for(KeepReason reason);  // "names never converted", for reports

class TypeRules {
 public:
  TypeRules() = default;
  // `type` may be empty: no type for all. `rules` is "PATTERN=TYPE,PATTERN=TYPE"; a pattern is an ECMAScript regular
  // expression, looked for anywhere in a name. Errors: usage quoting the entry (no "=", no pattern, an unknown type, a
  // pattern that is none) and the option's name.
  static Result<TypeRules> parse(std::string_view type, std::string_view rules);

  struct Rule {
    std::string pattern;
    std::regex regex;
    TargetType type;
  };

  static constexpr int kForAll = -1;   // the type for all
  static constexpr int kNoMatch = -2;  // nothing

  struct Decision {
    KeepReason keep = KeepReason::kNoRule;
    int rule = kNoMatch;  // index of the rule that matched, whether or not the tensor stays; or kForAll
    TargetType type;      // what was asked for, unless nothing was
    bool converts() const { return keep == KeepReason::kNone; }
  };
  // The first rule that matches `name` wins and overrides the type for all. `name` is the canonical one, in the
  // original spelling with its prefix: "model.diffusion_model.input_blocks.1.0.in_layers.2.weight".
  Decision decide(std::string_view name, const Entry& entry) const;

  bool empty() const { return !for_all_ && rules_.empty(); }
  std::span<const Rule> rules() const { return rules_; }
  const std::optional<TargetType>& for_all() const { return for_all_; }
  // All types that can come of these rules.
  std::vector<TargetType> types() const;

 private:
  std::optional<TargetType> for_all_;
  std::vector<Rule> rules_;
};

// True for names that no rule converts: small vectors, embeddings, and layers at the ends of a network, where rounding
// is seen most.
bool is_never_converted(std::string_view canonical_name);

}  // namespace veneer::io
