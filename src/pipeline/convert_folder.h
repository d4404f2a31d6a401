// A converted model as a folder: the weights of its components written anew, everything else copied.
#pragma once

#include "pipeline/convert_run.h"

namespace veneer::pipeline {

// Errors: io for a path that is there and not an empty folder.
Status check_is_new(const std::filesystem::path& folder);

// Fills a temporary folder beside `output` and renames it, so that a reader sees the whole model or nothing. `output`
// must not exist, or be an empty folder. Errors: io (also for a folder that holds something), those of write_converted.
Status write_converted_folder(const ConvertInput& input, const ConvertPlan& plan, const std::filesystem::path& output,
                              ConvertWork& work, ConvertCounts& counts);

}  // namespace veneer::pipeline
