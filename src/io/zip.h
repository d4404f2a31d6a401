// The directory of a zip archive, zip64 included, whose entries are stored as they are: an entry's bytes are a run of
// the file. Works on bytes in memory; knows nothing of what the entries hold.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>

#include "core/result.h"

namespace veneer::io {

using ZipEntries = std::map<std::string_view, std::span<const std::byte>>;  // both point into the file

// True when a file with this content begins with an archive's first entry.
bool is_zip(std::span<const std::byte> file);

// Reads the directory of a whole file and checks that every entry lies inside it and shares no byte with another.
// `name` stands first in messages. Memory follows the directory's true length. Checksums are not looked at: that would
// read every tensor.
// Errors: bad_file naming the entry and the fault; unsupported for a compressed or encrypted entry and for an archive
// of several files.
Result<ZipEntries> read_zip(std::span<const std::byte> file, std::string_view name);

}  // namespace veneer::io
