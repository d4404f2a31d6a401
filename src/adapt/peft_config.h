// PEFT's configuration of an adapter: adapter_config.json, or the text under "lora_adapter_metadata", where every key
// has its component in front ("unet.lora_alpha"). PEFT keeps the scale here and not in the tensors. Knows no file and
// no tensor.
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "adapt/key_group.h"
#include "core/json.h"

namespace veneer::adapt {

// Numbers for single modules: alpha_pattern, rank_pattern. A pattern means the modules that it names exactly; else it
// is a regular expression for the end of a module's name, from a dot on. The first one that matches holds.
class ModulePatterns {
 public:
  // From the member `name` of a configuration, which may be absent. Errors: bad_file for a pattern that is no regular
  // expression or a value that is no number; unsupported for a pattern that is too long or counts repetitions.
  static Result<ModulePatterns> parse(const Json& config, const char* name, std::string_view place);
  std::optional<double> find(std::string_view module) const;

 private:
  struct Pattern {
    std::string text;
    std::optional<std::regex> expression;  // none: only word characters and dots
    double value = 0;
  };
  std::vector<Pattern> patterns_;
};

class PeftConfigs {
 public:
  // `place` stands first in messages. Errors: bad_file for JSON that is none or of wrong types, and as ModulePatterns;
  // unsupported for settings under which the tensors mean something else: a transposed base (fan_in_fan_out), and
  // initialisations that changed the base (pissa, olora, corda, loftq).
  static Result<PeftConfigs> parse(std::string_view text, std::string_view place);

  bool empty() const { return by_component_.empty(); }
  // For a module under a key's prefix ("unet." or none). `is_peft` is set when a configuration is about this component.
  GroupSettings settings(std::string_view prefix, std::string_view module) const;

 private:
  struct Config {
    GroupSettings common;
    ModulePatterns alphas, ranks;
  };
  static Result<Config> parse_one(const Json& object, std::string_view place);
  const Config* find(std::string_view prefix) const;

  std::map<std::string, Config, std::less<>> by_component_;  // "" for all
};

}  // namespace veneer::adapt
