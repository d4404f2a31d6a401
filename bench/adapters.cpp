// What attaching, changing and detaching adapters costs, and that many cycles of it leave nothing behind.
//
//   bench_adapters MODEL [--type T]... [--cycles N] [--pictures] ADAPTER...
//
// One JSON object per format on stdout. Times are medians in milliseconds; memory is the process's resident set.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>

#include "core/format.h"
#include "io/container.h"
#include "io/type_rules.h"
#include "pipeline/session.h"

namespace veneer {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::vector<std::string> types, adapters;
  int cycles = 1000;
  bool pictures = false;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// After the allocator has given back what nobody uses; how much of that it keeps for later is up to it.
int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::strtoll(line.c_str() + 8, nullptr, 10) * 1024;
  return 0;
}

// Of the heap, without what the allocator keeps for later.
int64_t used_bytes() {
  const auto info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

pipeline::AdapterOrder order_of(const std::vector<std::pair<std::string, double>>& adapters) {
  pipeline::AdapterOrder order;
  for (const auto& [name, strength] : adapters) {
    text::AdapterRequest request;
    request.name = name;
    request.text_encoder_scale = request.denoiser_scale = strength;
    order.adapters.push_back(request);
  }
  return order;
}

class Bench {
 public:
  Bench(pipeline::Session& session, const Options& options) : session_(session), options_(options) {}

  Status run(Json& json) {
    VENEER_TRY(before, session_.weight_hashes());
    if (options_.pictures) VENEER_TRY_STATUS(draw({}, plain_));
    for (const std::string& adapter : options_.adapters) VENEER_TRY_STATUS(time_one(adapter, json["adapters"]));
    VENEER_TRY_STATUS(cycle(json));
    VENEER_TRY(after, session_.weight_hashes());
    json["hashes_unchanged"] = before == after;
    return {};
  }

 private:
  Result<double> timed(const pipeline::AdapterOrder& order) {
    const auto start = Clock::now();
    VENEER_TRY(stack, session_.plan_adapters(order));
    return milliseconds_since(start);
  }

  Status time_one(const std::string& adapter, Json& rows) {
    constexpr int kTimes = 15;
    const int64_t before = used_bytes();
    VENEER_TRY(first, timed(order_of({{adapter, 1.0}})));
    const int64_t held = used_bytes() - before;
    VENEER_TRY(tensors, io::open_weights(adapter));
    int64_t values = 0;
    for (const auto& [name, entry] : tensors.entries()) values += entry.weight.elements();
    std::vector<double> changes, detaches, attaches;
    for (int i = 0; i < kTimes; ++i) {
      VENEER_TRY(change, timed(order_of({{adapter, 0.5 + 0.01 * i}})));
      VENEER_TRY(detach, timed({}));
      VENEER_TRY(attach, timed(order_of({{adapter, 0.5 + 0.01 * i}})));
      changes.push_back(change);
      detaches.push_back(detach);
      attaches.push_back(attach);
    }
    rows.push_back({{"file", base_name(adapter)},
                    {"first_use", first},
                    {"attach", median(attaches)},
                    {"change_strength", median(changes)},
                    {"detach", median(detaches)},
                    {"memory_bytes", held},
                    {"tensors_in_f32_bytes", values * static_cast<int64_t>(sizeof(float))}});
    return {};
  }

  Status draw(const pipeline::AdapterOrder& order, io::Image& image) {
    pipeline::Request request;
    request.prompt = "red apple";
    request.steps = 1;
    request.adapters = order;
    VENEER_TRY(result, session_.generate(request, {}, {}));
    image = std::move(result.pictures.at(0).image);
    return {};
  }

  // Random sets of up to three adapters, at strengths of both signs.
  Status cycle(Json& json) {
    constexpr int kWarm = 100, kPictureEvery = 50;
    std::mt19937 random(11);
    int64_t warm_resident = 0, warm_used = 0;
    int pictures = 0, equal = 0;
    for (int i = 0; i < options_.cycles; ++i) {
      if (i == std::min(kWarm, options_.cycles / 2)) {
        VENEER_TRY_STATUS(session_.plan_adapters({}));
        warm_resident = resident_bytes();
        warm_used = used_bytes();
      }
      std::vector<std::pair<std::string, double>> set;
      for (uint32_t n = random() % 4; n > 0; --n)
        set.emplace_back(options_.adapters[random() % options_.adapters.size()],
                         static_cast<double>(random() % 41) / 10 - 2);
      VENEER_TRY_STATUS(session_.plan_adapters(order_of(set)));
      if (!options_.pictures || i % kPictureEvery != 0) continue;
      io::Image with, without;
      VENEER_TRY_STATUS(draw(order_of(set), with));
      VENEER_TRY_STATUS(draw({}, without));
      ++pictures;
      equal += without.pixels == plain_.pixels;
    }
    VENEER_TRY_STATUS(session_.plan_adapters({}));
    json["cycles"] = options_.cycles;
    json["used_growth_bytes"] = used_bytes() - warm_used;
    json["resident_growth_bytes"] = resident_bytes() - warm_resident;
    if (options_.pictures) json["pictures_without_adapters"] = {{"drawn", pictures}, {"equal", equal}};
    return {};
  }

  pipeline::Session& session_;
  const Options& options_;
  io::Image plain_;
};

Status run(const Options& options, const std::string& type) {
  pipeline::SessionOptions session_options;
  session_options.paths.model = options.model;
  session_options.data_dir = VENEER_DATA_DIR;
  if (type != "stored") {
    VENEER_TRY(rules, io::TypeRules::parse(type, ""));
    session_options.types = std::move(rules);
  }
  VENEER_TRY(session, pipeline::Session::open(session_options, Log()));
  Json json = {{"format", type}};
  VENEER_TRY_STATUS(Bench(*session, options).run(json));
  std::puts(json.dump(2).c_str());
  return {};
}

Options parse(int count, char** args) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string arg = args[i];
    if (arg == "--type" && i + 1 < count)
      options.types.emplace_back(args[++i]);
    else if (arg == "--cycles" && i + 1 < count)
      options.cycles = std::atoi(args[++i]);
    else if (arg == "--pictures")
      options.pictures = true;
    else if (options.model.empty())
      options.model = arg;
    else
      options.adapters.push_back(arg);
  }
  if (options.types.empty()) options.types.emplace_back("stored");
  return options;
}

}  // namespace
}  // namespace veneer

int main(int count, char** args) {
  mallopt(M_ARENA_MAX, 1);  // malloc_trim cuts no other arena's end, which moves to and fro by megabytes
  const veneer::Options options = veneer::parse(count, args);
  if (options.adapters.empty()) {
    std::fputs("usage: bench_adapters MODEL [--type T]... [--cycles N] [--pictures] ADAPTER...\n", stderr);
    return 2;
  }
  for (const std::string& type : options.types)
    if (const veneer::Status status = veneer::run(options, type); !status) {
      std::fprintf(stderr, "%s\n", status.error().message.c_str());
      return 1;
    }
}
