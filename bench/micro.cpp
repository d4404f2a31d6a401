// Single operations of a device by the clock, as rates and as shares of what the machine can do at best.
// Options are those of Google Benchmark (--benchmark_filter, --benchmark_out, ...), and --backend=NAME, --threads=N.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <random>
#include <vector>

#include "bench/decode.h"
#include "core/threads.h"
#include "device/devices.h"
#include "device/peak.h"

namespace veneer::bench {
namespace {

using namespace device;  // NOLINT(google-build-using-namespace)
using Values = std::vector<float>;

Values random_values(int64_t count) {
  static std::mt19937 engine(1);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Values values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(engine);
  return values;
}

struct Machine {
  Device& device;
  int threads;
  double peak;  // GFLOP/s

  void count_flops(benchmark::State& state, double flops) const {
    using benchmark::Counter;
    state.counters["GFLOP/s"] = Counter(flops * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["of_peak"] = Counter(flops * 1e-9 / peak, Counter::kIsIterationInvariantRate);
  }
};

void count_bytes(benchmark::State& state, double bytes) {
  using benchmark::Counter;
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
}

struct MatmulShape {
  int64_t rows, out, in;
};

void matmul(benchmark::State& state, const Machine& machine, MatmulShape s, Compute compute) {
  const Values x = random_values(s.rows * s.in), w = random_values(s.out * s.in);
  Values y(static_cast<size_t>(s.rows * s.out));
  Panel panel;
  machine.device.run(PackMatmul{w.data(), s.out, s.in, &panel, compute});
  for (auto _ : state) machine.device.run(Matmul{x.data(), s.rows, s.in, &panel, y.data(), s.out});
  machine.count_flops(state, 2.0 * static_cast<double>(s.rows * s.out * s.in));
}

struct ConvShape {
  int64_t size, in, out, kernel, stride = 1;
};

void convolution(benchmark::State& state, const Machine& machine, ConvShape s, Compute compute) {
  const ConvGeometry geometry = ConvGeometry::same(s.kernel, s.stride);
  const int64_t pixels = geometry.out_height(s.size, s.kernel) * geometry.out_width(s.size, s.kernel);
  const Values x = random_values(s.size * s.size * s.in), w = random_values(s.out * s.in * s.kernel * s.kernel);
  Values y(static_cast<size_t>(pixels * s.out));
  Panel panel;
  machine.device.run(
      PackConv{w.data(), {s.out, s.in, s.kernel, s.kernel}, geometry, 1, s.size, s.size, &panel, compute});
  for (auto _ : state) machine.device.run(Conv{x.data(), 1, s.size, s.size, &panel, geometry, y.data(), s.out});
  machine.count_flops(state, 2.0 * static_cast<double>(pixels * s.out * s.in * s.kernel * s.kernel));
}

struct AttentionShape {
  int64_t batch, heads, queries, keys, width;
};

void attention(benchmark::State& state, const Machine& machine, AttentionShape s) {
  const int64_t channels = s.heads * s.width;
  const Values q = random_values(s.batch * s.queries * channels), k = random_values(s.batch * s.keys * channels),
               v = random_values(s.batch * s.keys * channels);
  Values y(q.size());
  const float scale = 1 / std::sqrt(static_cast<float>(s.width));
  for (auto _ : state)
    machine.device.run(Attention{q.data(), k.data(), v.data(), s.batch, s.queries, s.keys, s.heads, s.width, channels,
                                 channels, channels, scale, false, nullptr, y.data()});
  machine.count_flops(state, 4.0 * static_cast<double>(s.batch * s.heads * s.queries * s.keys * s.width));
}

void group_norm(benchmark::State& state, const Machine& machine, int64_t size, int64_t channels) {
  const Values x = random_values(size * size * channels), gain = random_values(channels);
  Values y(x.size());
  for (auto _ : state)
    machine.device.run(
        GroupNorm{x.data(), 1, size * size, channels, 32, gain.data(), gain.data(), 1e-5f, true, y.data()});
  count_bytes(state, 12.0 * static_cast<double>(x.size()));  // two reads, one write
}

void layer_norm(benchmark::State& state, const Machine& machine, int64_t rows, int64_t channels) {
  const Values x = random_values(rows * channels), gain = random_values(channels);
  Values y(x.size());
  for (auto _ : state)
    machine.device.run(LayerNorm{x.data(), rows, channels, gain.data(), gain.data(), 1e-5f, y.data()});
  count_bytes(state, 8.0 * static_cast<double>(x.size()));
}

void geglu(benchmark::State& state, const Machine& machine, int64_t rows, int64_t channels) {
  const Values x = random_values(rows * 2 * channels);
  Values y(static_cast<size_t>(rows * channels));
  for (auto _ : state) machine.device.run(Geglu{x.data(), rows, channels, y.data()});
  count_bytes(state, 12.0 * static_cast<double>(y.size()));
}

// Several threads need the time on the wall; one has a clock of its own, which other programs do not disturb.
template <typename Body>
void add(const Machine& machine, const std::string& name, const Body& body) {
  auto* added = benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond);
  if (machine.threads > 1) added->UseRealTime();
}

void add_products(const Machine& machine, Compute compute) {
  const std::string type = compute == Compute::kBf16 ? "/bf16" : "";
  for (const MatmulShape s : {MatmulShape{64, 1280, 1280},
                              {256, 1280, 1280},
                              {1024, 1280, 1280},
                              {4096, 320, 320},
                              {8192, 320, 320},
                              {8192, 2560, 320},
                              {8192, 320, 1280},
                              {2048, 640, 640},
                              {2048, 5120, 640},
                              {2048, 640, 2560},
                              {512, 10240, 1280},
                              {512, 3264, 1280},
                              {512, 1280, 5120},
                              {154, 320, 768},
                              {4096, 16, 320},
                              {4096, 320, 16}})
    add(machine, concat("matmul/", s.rows, "x", s.out, "x", s.in, type),
        [=](auto& state) { matmul(state, machine, s, compute); });
  for (const ConvShape s : {ConvShape{64, 320, 320, 3},
                            {64, 960, 320, 3},
                            {32, 640, 640, 3},
                            {16, 1280, 1280, 3},
                            {8, 1280, 1280, 3},
                            {128, 512, 512, 3},
                            {256, 256, 256, 3},
                            {64, 320, 320, 3, 2},
                            {64, 4, 320, 3},
                            {64, 320, 4, 3},
                            {64, 320, 320, 1}})
    add(machine, concat("conv/", s.kernel, "x", s.kernel, "/", s.stride, "/", s.in, "->", s.out, "@", s.size, type),
        [=](auto& state) { convolution(state, machine, s, compute); });
}

void add_others(const Machine& machine) {
  for (const AttentionShape s : {AttentionShape{2, 8, 4096, 4096, 40},
                                 {2, 8, 1024, 1024, 80},
                                 {2, 8, 256, 256, 160},
                                 {2, 8, 4096, 77, 40},
                                 {2, 10, 4096, 4096, 64},
                                 {1, 24, 4608, 4608, 64},
                                 {1, 1, 4096, 4096, 512}})
    add(machine, concat("attention/", s.batch, "/", s.heads, "/", s.queries, "/", s.keys, "/", s.width),
        [=](auto& state) { attention(state, machine, s); });
  add(machine, "group_norm/64/320", [=](auto& state) { group_norm(state, machine, 64, 320); });
  add(machine, "group_norm/512/128", [=](auto& state) { group_norm(state, machine, 512, 128); });
  add(machine, "layer_norm/4096/320", [=](auto& state) { layer_norm(state, machine, 4096, 320); });
  add(machine, "geglu/4096/1280", [=](auto& state) { geglu(state, machine, 4096, 1280); });
}

// Takes --name=value out of the arguments.
std::string take_option(int& count, char** arguments, const std::string& name, std::string fallback) {
  int kept = 1;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument.starts_with(name + "="))
      fallback = argument.substr(name.size() + 1);
    else
      arguments[kept++] = arguments[i];
  }
  count = kept;
  return fallback;
}

int run(int count, char** arguments) {
  const std::string backend = take_option(count, arguments, "--backend", "");
  int64_t threads = 0;
  if (!parse_number(take_option(count, arguments, "--threads", "0"), threads)) threads = 0;
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 2;

  EngineThread engine(static_cast<int>(threads));
  int status = 0;
  engine.run([&] {
    auto device = open_device(backend, engine.threads(), false);
    if (!device) {
      std::fprintf(stderr, "%s\n", device.error().message.c_str());
      status = 2;
      return;
    }
    const Machine machine{**device, engine.threads(), device::measure_processor_peak().f32 * 1e-9};
    benchmark::AddCustomContext("device", (*device)->description());
    benchmark::AddCustomContext("peak_gflops", concat(machine.peak));
    add_products(machine, Compute::kF32);
    if ((*device)->can_compute(Compute::kBf16)) add_products(machine, Compute::kBf16);
    add_others(machine);
    add_decoders(machine.threads);
    benchmark::RunSpecifiedBenchmarks();
  });
  benchmark::Shutdown();
  return status;
}

}  // namespace
}  // namespace veneer::bench

int main(int count, char** arguments) { return veneer::bench::run(count, arguments); }
