// Files that are no container of weights but are often met in the place of one. They are recognised for the sake of the
// message only: what went wrong with them has a name, and a remedy.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/result.h"

namespace veneer::io {

// Why this content cannot be read (bad_file): empty files, Git LFS pointers, web pages and other text. No value for
// anything else. `name` stands first in the message.
std::optional<Error> recognise_foreign(std::span<const std::byte> file, std::string_view name);

}  // namespace veneer::io
