// Decoding as products do it: rows shared out over the pool in small tasks, into memory that is used again and again.
#include "bench/decode.h"

#include <algorithm>
#include <vector>

#include "tests/support/weight_kinds.h"

namespace veneer::bench {
namespace {

constexpr int64_t kValuesPerTask = 1 << 16, kLeastRows = 64;

void decode(const codec::Weight& weight, float* out) {
  const int64_t step = std::max(kLeastRows, kValuesPerTask / weight.row_values());
#pragma omp parallel for schedule(static)
  for (int64_t first = 0; first < weight.rows(); first += step)
    weight.decode_rows(first, std::min(step, weight.rows() - first), out + first * weight.row_values());
}

void run(benchmark::State& state, const std::string& kind, const Shape& shape) {
  const auto weight = test::weight_of_kind(kind, shape, 1);
  if (!weight || !weight->codec->check(*weight)) return state.SkipWithError("the form does not hold this shape");
  std::vector<float> out(static_cast<size_t>(weight->elements()));
  for (auto _ : state) {
    decode(*weight, out.data());
    benchmark::ClobberMemory();
  }
  using benchmark::Counter;
  const auto values = static_cast<double>(weight->elements());
  state.counters["Gvalues/s"] = Counter(values * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] =
      Counter((4 * values + static_cast<double>(weight->stored_bytes())) * 1e-9, Counter::kIsIterationInvariantRate);
}

}  // namespace

void add_decoders(int threads) {
  for (const Shape& shape : {Shape{1280, 1280}, Shape{320, 320, 3, 3}})
    for (const std::string& kind : test::weight_kinds()) {
      const std::string name = concat("decode/", kind, "/", shape.to_string());
      auto* added = benchmark::RegisterBenchmark(name.c_str(), [=](auto& state) {
                      run(state, kind, shape);
                    })->Unit(benchmark::kMillisecond);
      if (threads > 1) added->UseRealTime();
    }
}

}  // namespace veneer::bench
