// Options of `veneer image` that scripts may use and that do not act: some can change nothing here, others belong to
// features that are not built yet. The first get a warning, the second an error, so that no option is ignored in
// silence.
#pragma once

#include "options.h"

namespace veneer::cli {

// Listed in --help. Each mention adds one line to `warnings`, if a user might expect an effect.
OptionGroup options_without_effect(std::vector<std::string>& warnings);

// Not listed in --help. Their setters answer `unsupported`.
OptionGroup options_not_available();

}  // namespace veneer::cli
