// The arena: what is let go of is handed out again, and a measured size is enough for the same requests.
#include "device/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <random>
#include <vector>

namespace veneer::device {
namespace {

constexpr size_t kKib = 1024;
Shape kib(int64_t count) { return {count, 256}; }

// A seeded sequence of requests and releases, as a network with branches makes them.
void play(Arena& arena, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> held;
  for (int step = 0; step < 300; ++step) {
    if (held.size() < 12 && random() % 3 != 0) {
      held.push_back(
          arena.allocate({static_cast<int64_t>(1 + random() % 500), static_cast<int64_t>(1 + random() % 9)}));
    } else if (!held.empty()) {
      held.erase(held.begin() + static_cast<int64_t>(random() % held.size()));
    }
  }
}

TEST(Arena, ReleasedBytesAreUsedAgain) {
  Arena arena(4 * kKib);
  const std::byte* first;
  {
    const Tensor tensor = arena.allocate(kib(2));
    first = tensor.data;
  }
  EXPECT_EQ(arena.allocate(kib(4)).data, first);
  EXPECT_EQ(arena.peak(), 4 * kKib);
}

TEST(Arena, BytesReturnWithTheLastCopy) {
  Arena arena(2 * kKib);
  Tensor copy;
  {
    const Tensor tensor = arena.allocate(kib(2));
    copy = tensor.reshaped({512});
  }
  EXPECT_THROW(arena.allocate(kib(1)), std::bad_alloc);
  copy = {};
  EXPECT_NO_THROW(arena.allocate(kib(2)));
}

TEST(Arena, NeighboursJoinWhateverTheOrderOfRelease) {
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    Arena arena(3 * kKib);
    Tensor tensors[] = {arena.allocate(kib(1)), arena.allocate(kib(1)), arena.allocate(kib(1))};
    for (const size_t i : order) tensors[i] = {};
    EXPECT_NO_THROW(arena.allocate(kib(3)));
  }
}

TEST(Arena, TensorsAreAlignedAndApart) {
  Arena arena(kKib);
  const Tensor a = arena.allocate({3}), b = arena.allocate({0}), c = arena.allocate({17});
  for (const Tensor* tensor : {&a, &b, &c}) EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data) % 64, 0u);
  EXPECT_EQ(b.data - a.data, 64);
  EXPECT_EQ(c.data - b.data, 64);
  EXPECT_EQ(arena.peak(), 256u);
}

TEST(Arena, MeasuredSizeFitsTheSamePassAndNothingLess) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Arena measuring = Arena::measuring();
    play(measuring, seed);
    EXPECT_TRUE(measuring.is_measuring());
    EXPECT_EQ(measuring.capacity(), 0u);

    Arena arena(measuring.peak());
    EXPECT_FALSE(arena.is_measuring());
    EXPECT_NO_THROW(play(arena, seed));
    EXPECT_EQ(arena.peak(), measuring.peak());
    EXPECT_NO_THROW(play(arena, seed)) << "a second pass";

    Arena small(measuring.peak() - 64);
    EXPECT_THROW(play(small, seed), std::bad_alloc);
  }
}

TEST(Arena, MeasuringTakesNoMemory) {
  Arena arena = Arena::measuring();
  const Tensor huge = arena.allocate({int64_t{1} << 40});  // 4 TiB
  EXPECT_NE(huge.data, nullptr);
  EXPECT_EQ(arena.peak(), size_t{4} << 40);
}

TEST(Arena, MayMoveWhileTensorsAreHeld) {
  Arena first(kKib);
  Tensor tensor = first.allocate(kib(1));
  Arena second = std::move(first);
  EXPECT_THROW(second.allocate(kib(1)), std::bad_alloc);
  tensor = {};
  EXPECT_NO_THROW(second.allocate(kib(1)));
}

}  // namespace
}  // namespace veneer::device
