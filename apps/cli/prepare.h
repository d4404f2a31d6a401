// From options to a request that is ready to run: reads the files that options name and judges all that can be judged
// without a model, so that no work begins that could not be finished.
#pragma once

#include "image_options.h"

namespace veneer::cli {

// Fills options.request and options.session. Warnings go to `log`. Errors: those of reading each file, with the option
// in front; usage (options that exclude each other, values out of range); unsupported (adapter tags with arguments of
// later versions); io (a place that cannot be written to).
Status prepare(ImageOptions& options, const ConsoleOptions& console, const Log& log);

}  // namespace veneer::cli
