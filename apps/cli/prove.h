// --prove: shows, instead of promising, that adapters left no trace. A picture without them is drawn before and after,
// and the weights are hashed each time.
#pragma once

#include <functional>

#include "pipeline/session.h"

namespace veneer::cli {

// Runs `with_adapters` between the two. Answers what was compared: {"weights": {part: sha256}, "picture": sha256}.
// Errors: those of `with_adapters` and of drawing; verify_failed naming what changed.
Result<Json> prove(pipeline::Session& session, const pipeline::Request& request, const pipeline::CancelFlag& cancel,
                   const std::function<Status()>& with_adapters);

}  // namespace veneer::cli
