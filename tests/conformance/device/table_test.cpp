// Devices open by name, have every operation, and give the same bytes for the same inputs.
#include <cstdlib>
#include <cstring>

#include "core/threads.h"
#include "device/cpu/targets.h"
#include "device_cases.h"

namespace veneer::device {
namespace {

// The variant of this program that is held to AVX2 says so by the variable that oneDNN reads; our own vector code is
// held to the same before its first use.
const bool kLimited = [] {
  const char* limit = std::getenv("DNNL_MAX_CPU_ISA");
  if (!limit || std::strcmp(limit, "AVX2") != 0) return false;
  cpu::limit_vectors_to_avx2();
  return true;
}();

INSTANTIATE_TEST_SUITE_P(Table, DeviceTest, testing::ValuesIn(tested_devices()));

TEST_P(DeviceTest, HasEveryOperation) { EXPECT_EQ(device->operations().size(), Operations::kSize); }

TEST(Devices, ReferenceAndDryDeviceHaveEveryOperation) {
  EXPECT_EQ(opened("ref")->operations().size(), Operations::kSize);
  EXPECT_EQ(make_dry_device()->operations().size(), Operations::kSize);
}

TEST(Devices, NoNameMeansTheFirst) {
  for (const char* name : {"", "auto", "default"}) EXPECT_EQ(opened(name)->name(), device_kinds().front().name);
}

TEST(Devices, UnknownNameListsTheKnownOnes) {
  const auto device = open_device("abacus", 1, false);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kUsage);
  for (const DeviceKind& kind : device_kinds())
    EXPECT_TRUE(contains(device.error().message, kind.name)) << device.error().message;
}

TEST(Devices, DescriptionNamesTheInstructionSetsInUse) {
  const std::string description = opened("cpu")->description();
  EXPECT_TRUE(contains(description, "2 threads")) << description;
  if (!kLimited) return;
  EXPECT_TRUE(contains(description, "oneDNN (AVX2)")) << description;
  EXPECT_TRUE(contains(description, "Highway (AVX2)")) << description;
}

// Attention, norms and products once, on a pool of `threads`.
Values everything(int threads, bool products) {
  EngineThread pool(threads);
  Values results;
  pool.run([&] {
    Random random(5);
    auto device = opened("cpu");
    const Values x = random.normal(2 * 200 * 96), w = random.normal(96 * 96), b = random.normal(96);
    Values y(x.size()), z(x.size());
    device->run(Attention{x.data(), x.data(), x.data(), 2, 200, 200, 3, 32, 96, 96, 96, 0.2f, true, nullptr, y.data()});
    device->run(GroupNorm{x.data(), 2, 200, 96, 8, b.data(), b.data(), 1e-5f, true, z.data()});
    results = y;
    results.insert(results.end(), z.begin(), z.end());
    if (!products) return;
    Panel panel;
    device->run(PackMatmul{w.data(), 96, 96, &panel});
    device->run(Matmul{x.data(), 400, 96, &panel, y.data(), 96});
    results.insert(results.end(), y.begin(), y.end());
  });
  return results;
}

TEST(Devices, SameInputsGiveSameBytes) { EXPECT_EQ(everything(2, true), everything(2, true)); }

TEST(Devices, OwnKernelsGiveTheSameBytesOnAnyNumberOfThreads) {
  EXPECT_EQ(everything(1, false), everything(2, false));
  EXPECT_EQ(everything(1, false), everything(3, false));
}

}  // namespace
}  // namespace veneer::device
