// veneer bench: times the parts of a picture on this machine, for the formats and adapters that are asked for, beside
// the processor's own limit. One session per row, so that no row profits from what another left.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "adapter_options.h"
#include "commands.h"
#include "core/format.h"
#include "core/threads.h"
#include "data_dir.h"
#include "device/devices.h"
#include "device/peak.h"
#include "engine_options.h"
#include "interrupt.h"
#include "model_options.h"
#include "results.h"

namespace veneer::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kStored = "stored";  // the format that stands for "as the files have it"

struct Options {
  pipeline::SessionOptions session;
  pipeline::AdapterOrder adapters;
  std::vector<std::string> formats{kStored};
  std::optional<int> width, height;
  int steps = 3;
  double cfg_scale = pipeline::kCfgScale;
};

// Times of one picture, in seconds.
struct Row {
  std::string format;
  bool adapters = false;
  double open = 0, text = 0, first_step = 0, step = 0, decode = 0;
  uint64_t peak_bytes = 0;                  // most memory in use, mapped files included
  double step_flops = 0, decode_flops = 0;  // operations of convolutions, matrix products and attention
};

OptionTable option_table(Options& options, ConsoleOptions& console) {
  return {
      "veneer bench",
      "Times steps, text and decoding on this machine, and sets them beside what its multiply-add units can do.",
      {{"Work",
        {{"-W,--width", "N", "Width in pixels (the model's)", whole(options.width)},
         {"-H,--height", "N", "Height in pixels", whole(options.height)},
         {"--steps", "N", "Steps that are timed, behind one that is not (3)", whole(options.steps)},
         {"--cfg-scale", "X", "1: one model call a step, else one of two pictures (7.0)", number(options.cfg_scale)},
         {"--formats", "LIST", "Number formats to hold the weights in: \"stored,f16,q8_0,q4_0\" (stored)",
          [&formats = options.formats](const std::string& value) -> Status {
            formats = split(value, ',');
            return {};
          }}}},
       {"Adapters: each format is timed without and with them",
        adapter_options(options.adapters, options.session.adapter_dir)},
       model_file_options(options.session.paths),
       engine_options(options.session),
       general_options(console)}};
}

// The most memory that this process has held since `restart`, or 0 where the system does not tell.
class PeakMemory {
 public:
  static void restart() { std::ofstream("/proc/self/clear_refs") << "5"; }
  static uint64_t bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    return 0;
  }
};

// Collects what a run reports of its phases.
class Timer {
 public:
  pipeline::Callbacks callbacks() {
    pipeline::Callbacks calls;
    calls.progress = [this](pipeline::Phase phase, int step, int, double seconds) { take(phase, step, seconds); };
    return calls;
  }
  void fill(Row& row) const {
    row.text = text_;
    if (steps_.empty()) return;
    row.first_step = steps_.front();
    std::vector<double> later(steps_.begin() + (steps_.size() > 1 ? 1 : 0), steps_.end());
    std::ranges::nth_element(later, later.begin() + static_cast<std::ptrdiff_t>(later.size() / 2));
    row.step = later[later.size() / 2];
  }

 private:
  void take(pipeline::Phase phase, int step, double seconds) {
    if (phase == pipeline::Phase::kText && step == 0) text_start_ = Clock::now();
    if (phase == pipeline::Phase::kText && step > 0)
      text_ = std::chrono::duration<double>(Clock::now() - text_start_).count();
    if (phase == pipeline::Phase::kSample && step > 0) steps_.push_back(seconds);
  }

  Clock::time_point text_start_;
  double text_ = 0;
  std::vector<double> steps_;
};

// Every row opens a session that tells the same again: one line for each, and what goes wrong.
Log warnings_of(const Log& log) {
  return Log([log](LogLevel level, const std::string& line) {
    if (level == LogLevel::kWarn) log.warn(line);
    if (level == LogLevel::kError) log.error(line);
    if (level < LogLevel::kWarn) log.debug(line);
  });
}

Result<Row> time_row(const Options& options, const std::string& format, bool with_adapters, const Log& log,
                     const pipeline::CancelFlag& cancel) {
  Row row{.format = format, .adapters = with_adapters};
  pipeline::SessionOptions session_options = options.session;
  if (format != kStored) {
    VENEER_TRY(types, io::TypeRules::parse(format, ""));
    session_options.types = std::move(types);
  }
  PeakMemory::restart();
  const auto start = Clock::now();
  VENEER_TRY(session, pipeline::Session::open(session_options, log));
  row.open = std::chrono::duration<double>(Clock::now() - start).count();
  pipeline::Request request;
  request.prompt = "a photograph of an apple on a wooden table";
  request.width = options.width;
  request.height = options.height;
  request.steps = options.steps + 1;
  request.cfg_scale = options.cfg_scale;
  if (with_adapters) request.adapters = options.adapters;
  Timer timer;
  VENEER_TRY(result, session->generate(request, timer.callbacks(), cancel));
  timer.fill(row);
  row.decode = result.report.seconds.value("decode", 0.0);
  row.step_flops = result.report.plan.value("sample_flops", 0.0);
  row.decode_flops = result.report.plan.value("decode_flops", 0.0);
  row.peak_bytes = PeakMemory::bytes();
  return row;
}

Json to_json(const Row& row, const device::Peak& peak) {
  const auto share = [&](double flops, double seconds) { return seconds > 0 ? flops / seconds / peak.f32 : 0.0; };
  return {{"format", row.format},
          {"adapters", row.adapters},
          {"seconds",
           {{"open", row.open},
            {"text", row.text},
            {"first_step", row.first_step},
            {"step", row.step},
            {"decode", row.decode}}},
          {"flops", {{"step", row.step_flops}, {"decode", row.decode_flops}}},
          {"share_of_f32_peak",
           {{"step", share(row.step_flops, row.step)}, {"decode", share(row.decode_flops, row.decode)}}},
          {"peak_bytes", row.peak_bytes}};
}

std::string as_table(const Json& json) {
  const auto number = [](const Json& value) { return value.get<double>(); };
  char line[200];
  std::snprintf(line, sizeof line, "peak: %.0f GFLOP/s float32", number(json["peak"]["f32"]) / 1e9);
  std::string text = line;
  if (number(json["peak"]["bf16"]) > 0) {
    std::snprintf(line, sizeof line, ", %.0f bf16", number(json["peak"]["bf16"]) / 1e9);
    text += line;
  }
  text += concat("\n", json["device"].get<std::string>(), "\n\n");
  text += "format     adapters   open s   text s  1st step   step s  of peak  decode s  of peak    memory\n";
  for (const Json& row : json["rows"]) {
    const Json &seconds = row["seconds"], &share = row["share_of_f32_peak"];
    std::snprintf(line, sizeof line, "%-10s %-8s %8.2f %8.2f %9.2f %8.3f %7.0f%% %9.2f %7.0f%% %9s\n",
                  row["format"].get<std::string>().c_str(), row["adapters"].get<bool>() ? "yes" : "no",
                  number(seconds["open"]), number(seconds["text"]), number(seconds["first_step"]),
                  number(seconds["step"]), 100 * number(share["step"]), number(seconds["decode"]),
                  100 * number(share["decode"]), bytes_text(row["peak_bytes"].get<uint64_t>()).c_str());
    text += line;
  }
  return text;
}

Status check(const Options& options) {
  if (options.steps >= 1) return {};
  return Error{ErrorCode::kUsage, concat("--steps: expected 1 or more, found ", options.steps), "--steps"};
}

}  // namespace

Status run_bench(std::span<const std::string> args, Console& console) {
  Options options;
  VENEER_TRY(help, parse_options(option_table(options, console.options()), args));
  if (!help.empty()) return write_stdout(help);
  VENEER_TRY_STATUS(check(options));
  pipeline::SessionOptions& session = options.session;
  session.data_dir = data_dir();
  if (!session.paths.model.empty()) session.paths.model = model_named(session.paths.model, session.data_dir);

  pipeline::CancelFlag cancel;
  const InterruptGuard guard(cancel);
  device::Peak peak;
  EngineThread(session.threads).run([&] { peak = device::measure_processor_peak(); });
  const int threads = session.threads > 0 ? session.threads : physical_cores();
  VENEER_TRY(device, device::open_device(session.backend, threads, session.strict));
  Json json = {{"peak", {{"f32", peak.f32}, {"bf16", peak.bf16}}},
               {"device", concat(device->name(), " (", device->description(), ")")},
               {"rows", Json::array()}};
  for (const std::string& format : options.formats)
    for (const bool with_adapters : {false, true}) {
      if (with_adapters && options.adapters.adapters.empty()) continue;
      console.log().info(concat("timing ", format, with_adapters ? " with adapters" : ""));
      VENEER_TRY(row, time_row(options, format, with_adapters, warnings_of(console.log()), cancel));
      json["rows"].push_back(to_json(row, peak));
    }
  return console.options().json ? write_json(json) : write_stdout(as_table(json));
}

}  // namespace veneer::cli
