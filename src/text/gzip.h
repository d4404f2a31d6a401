// Reading a text file that may be compressed with gzip (RFC 1952). zlib stays behind this header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace veneer::text {

// The file's text, unpacked when its first two bytes say that it is gzip. `limit` bounds the bytes read and the bytes
// unpacked, so that a small hostile file cannot fill the memory.
// Errors: not_found, io; bad_file when it is too large, damaged or cut.
Result<std::string> read_plain_or_gzip(const std::filesystem::path& path, uint32_t limit);

}  // namespace veneer::text
