// Lets a test program run the vector code of older processors: with VENEER_TEST_VECTORS=avx2 no better instruction set
// is used, with "plain" only what every processor of the build has.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

namespace veneer::test {
namespace {

// Before any test, and so before the first decoder picks its code.
class VectorTargets : public testing::Environment {
 public:
  void SetUp() override {
    const char* asked = std::getenv("VENEER_TEST_VECTORS");
    if (!asked) return;
    const std::string_view level = asked;
    ASSERT_TRUE(level == "avx2" || level == "plain") << level;
    hwy::DisableTargets(level == "avx2" ? HWY_AVX2 - 1 : HWY_STATIC_TARGET - 1);  // better targets have lower bits
  }
};

[[maybe_unused]] const testing::Environment* const registered = testing::AddGlobalTestEnvironment(new VectorTargets);

}  // namespace
}  // namespace veneer::test
