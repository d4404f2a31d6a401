// Writing of results; unbuffered, because everything written here is whole already.
#include "results.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/format.h"

namespace veneer::cli {

Status write_stdout(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      return Error{ErrorCode::kIo, concat("standard output: writing failed: ", std::strerror(errno)), "stdout"};
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Status write_json(const Json& json) {
  return write_stdout(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace veneer::cli
