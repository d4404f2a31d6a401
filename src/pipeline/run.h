// One picture order, carried out on the engine thread: text, picture to latent, steps, latent to picture.
#pragma once

#include "pipeline/session.h"
#include "pipeline/state.h"

namespace veneer::pipeline {

// Errors: as Session::generate.
Result<RunResult> run(Session::State& state, const Request& request, const Callbacks& callbacks,
                      const CancelFlag& cancel);

}  // namespace veneer::pipeline
