// What a folder says of its model and a single file has no place for: the components' config.json and the scheduler's
// settings. A converted single file carries them in one metadata text, {"denoiser": {...}, "scheduler": {...}}.
#pragma once

#include "io/model_files.h"

namespace veneer::io {

inline constexpr const char* kCarriedConfig = "veneer.config";
inline constexpr const char* kCarriedScheduler = "scheduler";  // the other keys are the parts' names

// Gives each part that has no configuration the one that its file carries, and the model the scheduler's.
// Errors: bad_file for a text that is no JSON object of objects.
Status take_carried_config(ModelFiles& files);

}  // namespace veneer::io
