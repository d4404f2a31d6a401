// The one wording for names that are not in a list.
#include "sample/names.h"

#include "core/format.h"

namespace veneer::sample {

Error unknown_name(std::string_view what, std::string_view name, std::span<const std::string> known) {
  const std::vector<std::string> nearest = nearest_names(name, known, 1);
  return {ErrorCode::kUsage,
          concat(what, " \"", name, "\": is not known; did you mean ", nearest.empty() ? "" : nearest.front(),
                 "? (known: ", join(known, ", "), ")"),
          std::string(what)};
}

}  // namespace veneer::sample
