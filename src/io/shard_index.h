// The index of a model that is cut into several files: {"weight_map": {tensor: file}, "metadata": {...}}.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::io {

// Shard file -> the tensors that the index promises to be in it. Files are relative to the index and stay inside its
// folder.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

// Errors: bad_file for text that is no index, and for a shard's path that is absolute or leaves the folder.
Result<ShardIndex> parse_shard_index(std::string_view text, std::string_view name);

}  // namespace veneer::io
