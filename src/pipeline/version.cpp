// The only file that is compiled again when the commit changes: the build gives it both values as definitions.
#include "pipeline/version.h"

namespace veneer::pipeline {

std::string_view version() { return VENEER_VERSION; }
std::string_view commit() { return VENEER_COMMIT; }

}  // namespace veneer::pipeline
