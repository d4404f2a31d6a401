// Converting an adapter file to the key names of another program, with the proof that it still means the same.
#pragma once

#include "adapt/respell.h"
#include "pipeline/adapted_model.h"

namespace veneer::pipeline {

// Writes `output` (.safetensors), and adapter_config.json beside it for PEFT's own layout. Before it gets its name the
// file is fitted to the model again and must give the same terms, bit for bit.
// Returns {"output", "keys", "layers", "config": path or null}.
// Errors: those of opening, fitting and respelling; usage for an output that is the input or no .safetensors file; io,
// also for an adapter_config.json that is there already; verify_failed when the terms differ, naming the first layer.
Result<Json> respell_file(AdaptedModel& model, const std::string& name, const std::filesystem::path& output,
                          adapt::KeyStyle style);

}  // namespace veneer::pipeline
