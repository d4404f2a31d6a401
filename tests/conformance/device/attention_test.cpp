// Attention of every device against the reference.
//
// Tolerance: a score of d products has a relative error of some sqrt(d) 2^-25, which moves weights by as much as the
// score's size, some units here; 3e-6 as root mean square and ten times that at worst leave a factor of about two.
#include <limits>

#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{3e-6, 3e-5};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class AttentionTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Attention, AttentionTest, testing::ValuesIn(tested_devices()));

struct AttentionCase {
  int64_t batch, queries, keys, heads, width;
  bool causal = false, masked = false;
  int64_t gap = 0;  // floats between the rows of q, k and v
  bool biased = false;
};

void check(Device& device, Device& reference, const AttentionCase& c, uint64_t seed) {
  SCOPED_TRACE(concat("batch ", c.batch, " queries ", c.queries, " keys ", c.keys, " heads ", c.heads, " width ",
                      c.width, " causal ", c.causal, " masked ", c.masked, " gap ", c.gap, " biased ", c.biased));
  Random random(seed);
  const int64_t channels = c.heads * c.width, stride = channels + c.gap;
  const Values q = random.normal(c.batch * c.queries * stride), k = random.normal(c.batch * c.keys * stride);
  const Values v = random.normal(c.batch * c.keys * stride);
  Values mask(static_cast<size_t>(c.batch * c.keys), 0.0f);
  for (float& value : mask) value = random.chance() ? 0.0f : random.chance() ? -kInfinity : -2.5f;
  const Values bias = random.normal(c.heads * c.queries * c.keys, 0, 3);
  const float scale = 1.5f / std::sqrt(static_cast<float>(c.width));
  const auto run = [&](Device& on) {
    Values y(static_cast<size_t>(c.batch * c.queries * channels), kInfinity);
    on.run(Attention{q.data(), k.data(), v.data(), c.batch, c.queries, c.keys, c.heads, c.width, stride, stride, stride,
                     scale, c.causal, c.masked ? mask.data() : nullptr, y.data(), c.biased ? bias.data() : nullptr});
    return y;
  };
  expect_close(run(device), run(reference), kTolerance);
}

TEST_P(AttentionTest, ChosenShapes) {
  const AttentionCase cases[] = {
      {1, 1, 1, 1, 1},
      {1, 1, 1, 1, 40},
      {2, 77, 77, 3, 64, true},
      {1, 77, 77, 2, 64, true, true},
      {2, 64, 77, 8, 40},
      {1, 100, 4096, 1, 40},
      {1, 300, 300, 1, 80},
      {1, 70, 300, 1, 160},
      {1, 48, 290, 2, 96},
      {1, 31, 256, 1, 144},
      {1, 20, 513, 1, 112, false, true, 5},
      {1, 50, 520, 1, 512},
      {1, 64, 64, 2, 8},
      {1, 64, 64, 2, 4},
      {1, 600, 600, 1, 24, true},
      {2, 49, 257, 2, 40, false, true, 17},
      {2, 49, 257, 3, 40, false, true, 0, true},
      {1, 120, 120, 2, 64, false, false, 0, true},
  };
  for (const AttentionCase& c : cases) check(*device, *reference, c, 1);
}

TEST_P(AttentionTest, RandomShapes) {
  Random random(2);
  for (uint64_t i = 0; i < 60; ++i) {
    const int64_t queries = random.integer(1, 130);
    const bool causal = random.chance();
    check(
        *device, *reference,
        {random.integer(1, 2), queries, causal ? queries : random.integer(1, 600), random.integer(1, 3),
         random.integer(1, 100), causal, random.chance(), random.chance() ? 0 : random.integer(1, 9), random.chance()},
        i);
  }
}

// A row of the softmax that the running maximum must carry over blocks: scores climb by hundreds from key to key.
TEST_P(AttentionTest, GrowingScores) {
  constexpr int64_t kKeys = 700, kWidth = 16;
  Values q(kWidth, 1.0f), k(kKeys * kWidth), v = Random(3).normal(kKeys * kWidth);
  for (int64_t i = 0; i < kKeys; ++i)
    for (int64_t c = 0; c < kWidth; ++c) k[static_cast<size_t>(i * kWidth + c)] = static_cast<float>(i % 350) * 2;
  const auto run = [&](Device& on) {
    Values y(kWidth);
    on.run(Attention{q.data(), k.data(), v.data(), 1, 1, kKeys, 1, kWidth, kWidth, kWidth, kWidth, 1.0f, false, nullptr,
                     y.data()});
    return y;
  };
  expect_agreement(run, kTolerance);
}

TEST_P(AttentionTest, QueryWithoutAnyKeyGetsTheMean) {
  constexpr int64_t kKeys = 300, kWidth = 8;
  Random random(4);
  const Values q = random.normal(kWidth), k = random.normal(kKeys * kWidth), v = random.normal(kKeys * kWidth, 3);
  for (const float hidden : {-kInfinity, std::numeric_limits<float>::lowest()}) {
    const Values mask(kKeys, hidden);
    const auto run = [&](Device& on) {
      Values y(kWidth);
      on.run(Attention{q.data(), k.data(), v.data(), 1, 1, kKeys, 1, kWidth, kWidth, kWidth, kWidth, 1.0f, false,
                       mask.data(), y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

// A bias that leaves one key to each head and query makes the result that key's value.
TEST_P(AttentionTest, BiasBelongsToItsHeadAndQuery) {
  constexpr int64_t kQueries = 3, kKeys = 20, kHeads = 2;
  Random random(5);
  const Values q = random.normal(kQueries * kHeads), k = random.normal(kKeys * kHeads),
               v = random.normal(kKeys * kHeads);
  const auto chosen = [](int64_t head, int64_t query) { return (7 * head + 5 * query + 1) % kKeys; };
  Values bias(kHeads * kQueries * kKeys, -kInfinity), y(kQueries * kHeads);
  for (int64_t head = 0; head < kHeads; ++head)
    for (int64_t query = 0; query < kQueries; ++query)
      bias[static_cast<size_t>((head * kQueries + query) * kKeys + chosen(head, query))] = 0.5f;
  device->run(Attention{q.data(), k.data(), v.data(), 1, kQueries, kKeys, kHeads, 1, kHeads, kHeads, kHeads, 1.0f,
                        false, nullptr, y.data(), bias.data()});
  for (int64_t head = 0; head < kHeads; ++head)
    for (int64_t query = 0; query < kQueries; ++query)
      EXPECT_EQ(y[static_cast<size_t>(query * kHeads + head)],
                v[static_cast<size_t>(chosen(head, query) * kHeads + head)]);
}

TEST_P(AttentionTest, NanReachesTheOutput) {
  Values x(64 * 8, 0.5f);
  Values k = x;
  k[100] = std::numeric_limits<float>::quiet_NaN();
  Values y(x.size());
  device->run(Attention{x.data(), k.data(), x.data(), 1, 64, 64, 1, 8, 8, 8, 8, 1.0f, false, nullptr, y.data()});
  EXPECT_TRUE(std::isnan(y[0]));
}

}  // namespace
}  // namespace veneer::device
