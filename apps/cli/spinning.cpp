// Restarting with a limit on spinning.
#include "spinning.h"

#include <unistd.h>

#include <cstdlib>

namespace veneer::cli {
namespace {
// Measured on two cores: 100 loses half of the speed on an idle machine; 1000 loses nothing and costs a factor of two
// on a busy one, 5000 a factor of four.
constexpr const char* kTurns = "1000";
}  // namespace

void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  if (::setenv("GOMP_SPINCOUNT", kTurns, 1) == 0) ::execv("/proc/self/exe", argv);
}

}  // namespace veneer::cli
