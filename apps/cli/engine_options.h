// Options about where and how it is computed, which drawing and `bench` share.
#pragma once

#include "options.h"
#include "pipeline/session.h"

namespace veneer::cli {

// --backend, --threads, --compute, --strict, --ram, --no-mmap and --eager-load.
OptionGroup engine_options(pipeline::SessionOptions& session);

}  // namespace veneer::cli
