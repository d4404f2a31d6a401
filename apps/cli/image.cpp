// veneer image: draws pictures. Options in, a session, one run, files and a result out; no picture arithmetic here.
#include <chrono>

#include "commands.h"
#include "core/threads.h"
#include "device/devices.h"
#include "image_options.h"
#include "interrupt.h"
#include "latents.h"
#include "picture_writer.h"
#include "prepare.h"
#include "progress.h"
#include "prove.h"
#include "results.h"

namespace veneer::cli {
namespace {

Status list_devices(const ConsoleOptions& console, int asked_threads) {
  const int threads = asked_threads > 0 ? asked_threads : physical_cores();
  Json devices = Json::array();
  std::string lines;
  for (const device::DeviceKind& kind : device::device_kinds()) {
    VENEER_TRY(device, device::open_device(kind.name, threads, false));
    devices.push_back({{"name", device->name()}, {"description", device->description()}});
    lines += concat(device->name(), "\t", device->description(), "\n");
  }
  return console.json ? write_json({{"devices", std::move(devices)}}) : write_stdout(lines);
}

Error cancelled() { return {ErrorCode::kCancelled, "cancelled before the first step", {}}; }

pipeline::Callbacks callbacks(Progress& progress, PictureWriter& writer) {
  pipeline::Callbacks calls;
  calls.progress = [&progress](pipeline::Phase phase, int step, int steps, double seconds) {
    progress.update(pipeline::name_of(phase), step, steps, seconds, phase == pipeline::Phase::kSample);
  };
  calls.preview = [&writer](int, const io::Image& image, bool) { writer.write_preview(image); };
  calls.finished = [&writer](const pipeline::Picture& picture) { return writer.write(picture); };
  return calls;
}

Json result_json(const PictureWriter& writer, const pipeline::RunReport& report, double load_seconds) {
  Json seconds = {{"load", load_seconds}};  // opening the model; its weights are read when they are first used
  seconds.update(report.seconds);
  return {{"images", writer.account()},
          {"receipt", report.stack ? report.stack->receipt.to_json(true) : Json()},
          {"plan", report.plan},
          {"seconds", std::move(seconds)},
          {"warnings", report.warnings}};
}

Status write_receipt(const std::filesystem::path& file, const pipeline::RunReport& report) {
  const Json receipt = report.stack ? report.stack->receipt.to_json(true) : Json();
  const std::string text = receipt.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_file_atomically(file, text);
}

Status draw(const ImageOptions& options, Console& console) {
  pipeline::CancelFlag cancel;
  const InterruptGuard guard(cancel);
  VENEER_TRY(writer, PictureWriter::make(options, console));
  const auto start = std::chrono::steady_clock::now();
  VENEER_TRY(session, pipeline::Session::open(options.session, console.log()));
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - start;
  if (cancel.get() != pipeline::CancelMode::kNone) return cancelled();
  Progress progress(console);
  pipeline::RunResult result;
  const auto generate = [&]() -> Status {
    VENEER_TRY(made, session->generate(options.request, callbacks(progress, writer), cancel));
    result = std::move(made);
    return {};
  };
  Json proof;
  if (options.prove) {
    VENEER_TRY(proved, prove(*session, options.request, cancel, generate));
    console.log().info("proved: the weights' hashes and a picture without adapters are the same before and after");
    proof = std::move(proved);
  } else {
    VENEER_TRY_STATUS(generate());
  }
  if (!options.receipt.empty()) VENEER_TRY_STATUS(write_receipt(options.receipt, result.report));
  if (!options.save_latents.empty()) VENEER_TRY_STATUS(save_latents(options.save_latents, result.pictures));
  if (!console.options().json) return {};
  Json json = result_json(writer, result.report, load.count());
  if (options.prove) json["proof"] = std::move(proof);
  return write_json(json);
}

}  // namespace

Status run_image(std::span<const std::string> args, Console& console) {
  ImageOptions options;
  VENEER_TRY(help, parse_options(image_option_table(options, console.options()), args));
  if (!help.empty()) return write_stdout(help);
  if (options.list_devices) return list_devices(console.options(), options.session.threads);
  VENEER_TRY_STATUS(prepare(options, console.options(), console.log()));
  return draw(options, console);
}

}  // namespace veneer::cli
