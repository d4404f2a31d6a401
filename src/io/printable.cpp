// Escaping of foreign text, left to the JSON writer.
#include "io/printable.h"

#include "core/json.h"

namespace veneer::io {

std::string printable(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  const std::string quoted = Json(text.substr(0, limit)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2) + (cut ? "..." : "");
}

}  // namespace veneer::io
