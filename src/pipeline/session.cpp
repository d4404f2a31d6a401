// Opening a model and describing it.
#include "pipeline/session.h"

#include <algorithm>
#include <new>

#include "core/format.h"
#include "device/devices.h"
#include "pipeline/describe.h"
#include "pipeline/held.h"
#include "pipeline/run.h"
#include "pipeline/state.h"

namespace veneer::pipeline {
namespace {

constexpr std::string_view kDefaultModel = "models/emoji-v1";

Status check_compute(const SessionOptions& options, const device::Device& device) {
  if (options.compute != ComputeType::kBf16 || device.can_compute(device::Compute::kBf16)) return {};
  return Error{ErrorCode::kUnsupported,
               options.strict ? "--compute bf16: strict arithmetic is f32; leave one of the two out"
                              : concat("--compute bf16: device ", device.name(), " (", device.description(),
                                       ") has no instructions for it (AVX512_BF16 or AMX); use f32"),
               "--compute"};
}

// What the denoiser answers to a small constant picture and text at the last timestep.
Result<double> probe_denoiser(const model::Denoiser& denoiser, device::Device& device) {
  constexpr int64_t kSide = 8, kTokens = 2;
  constexpr float kInput = 0.5f;
  model::Denoiser::Input input{Tensor::zeros({1, kSide, kSide, denoiser.input_channels()}), 999.0f,
                               Tensor::zeros({1, kTokens, denoiser.context_width()})};
  for (Tensor* tensor : {&input.x, &input.context}) std::ranges::fill(tensor->values(), kInput);
  nn::PanelCache panels(0);
  double sum = 0;
  Workplace(device, panels).run([&](nn::Context& context) {
    const Tensor out = denoiser.forward(context, input);
    if (context.measuring()) return;
    for (const float value : out.values()) sum += value - kInput;
  });
  return sum / static_cast<double>(kSide * kSide * denoiser.latent_channels());
}

void log_opened(const Log& log, const io::ModelFiles& files, const model::Model& model) {
  log.info(concat("Version: ", model.family->name));
  size_t unused = files.unused_tensors.size();
  for (const auto& [part, network] : model.networks()) {
    unused += network->unused_tensors().size();
    for (const std::string& name : network->unused_tensors()) log.debug("unused tensor " + name);
  }
  for (const std::string& name : files.unused_tensors) log.debug("unused tensor " + name);
  if (unused > 0) log.info(concat(unused, " tensors are not used by this model"));
  for (const std::string& warning : files.warnings) log.warn(warning);
  const auto networks = model.networks();
  for (const auto& [part, content] : files.parts)
    if (std::ranges::find(networks, part, &model::Model::NamedNetwork::part) == networks.end())
      log.warn(concat(content.source, ": its ", io::name_of(part), " is not used by ", model.family->name));
}

void log_held(const Log& log, const Held& held) {
  if (held.bytes > 0) log.info(concat("weights held in other formats: ", bytes_text(held.bytes), " of memory"));
  for (const std::string& warning : held.use.warnings()) log.warn(warning);
}

// Touches every page of the weights, so that the first picture does not wait for the disk.
void read_all(const io::ModelFiles& files) {
  for (const auto& [part, content] : files.parts) (void)content.weights.content_hash();
}

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kLoad: return "load";
    case Phase::kText: return "text";
    case Phase::kEncode: return "encode";
    case Phase::kSample: return "sample";
    case Phase::kDecode: return "decode";
  }
  return "?";
}

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& asked, const Log& log) {
  SessionOptions options = asked;
  if (options.paths.model.empty() && options.paths.denoiser.empty())
    options.paths.model = std::filesystem::path(options.data_dir) / kDefaultModel;
  const std::string& place = (options.paths.model.empty() ? options.paths.denoiser : options.paths.model).native();
  log.info(concat("loading model from '", place, "'"));
  VENEER_TRY(opened, io::open_model_files(options.paths));
  VENEER_TRY(held, hold_as(std::move(opened), options.types, options.threads));
  io::ModelFiles& files = held.files;
  log_held(log, held);
  VENEER_TRY(model, model::build_model(files));
  log_opened(log, files, model);
  const int threads = options.threads > 0 ? options.threads : physical_cores();
  VENEER_TRY(device, device::open_device(options.backend, threads, options.strict));
  log.info(concat("device: ", device->name(), " (", device->description(), ")"));
  VENEER_TRY_STATUS(check_compute(options, *device));
  const Probe probe = [&] { return probe_denoiser(*model.denoiser, *device); };
  const int64_t factor = (model.vae ? *model.vae : *model.tiny_vae).factor();
  VENEER_TRY(settings, read_settings(files, model, static_cast<int>(factor), options.prediction, probe));
  log.info(concat("prediction: ", sample::name_of(settings.prediction), " (", settings.prediction_source, ")"));
  VENEER_TRY(tokenizers, load_tokenizers(files, model, options.data_dir));
  if (options.eager_load) read_all(files);

  std::unique_ptr<Session> session(new Session());
  session->state_ =
      std::make_unique<State>(std::move(options), log,
                              Opened{std::move(device), std::move(files), std::move(model), std::move(settings),
                                     std::move(tokenizers), held.bytes, held.use.to_json()});
  return session;
}

Result<RunResult> Session::generate(const Request& request, const Callbacks& callbacks, const CancelFlag& cancel) {
  const std::unique_lock lock(state_->busy, std::try_to_lock);
  if (!lock.owns_lock())
    return Error{ErrorCode::kBusy, "this session is making a picture; wait for it or open another", "session"};
  std::optional<Result<RunResult>> result;
  try {
    state_->engine.run([&] { result = run(*state_, request, callbacks, cancel); });
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kNoMemory,
                 "memory ran out while the picture was made; ask for a smaller one or use --vae-tiling", "memory"};
  }
  return *std::move(result);
}

Result<std::shared_ptr<const adapt::Stack>> Session::plan_adapters(const AdapterOrder& order) {
  const std::unique_lock lock(state_->busy, std::try_to_lock);
  if (!lock.owns_lock())
    return Error{ErrorCode::kBusy, "this session is making a picture; wait for it or open another", "session"};
  std::optional<Result<AdapterRack::Outcome>> outcome;
  state_->engine.run([&] { outcome = state_->adapters.stack_for(order); });
  VENEER_TRY(planned, *std::move(outcome));
  return planned.stack;
}

Session::Defaults Session::defaults() const {
  const ModelSettings& settings = state_->settings;
  return {settings.sampler, settings.schedule, settings.native_size.width, settings.native_size.height};
}

Result<Json> Session::weight_hashes() const {
  Json hashes = Json::object();
  for (const auto& [part, content] : state_->files.parts) {
    VENEER_TRY_STATUS(content.weights.still_whole());
    hashes[std::string(io::name_of(part))] = content.weights.content_hash();
  }
  return hashes;
}

Json Session::describe() const {
  Json json = describe_model(state_->files, state_->model.networks());
  json["held"] = {{"bytes", state_->held_bytes}, {"rules", state_->held_rules}};
  json["prediction"] = sample::name_of(state_->settings.prediction);
  json["device"] = {{"name", state_->device->name()}, {"description", state_->device->description()}};
  return json;
}

}  // namespace veneer::pipeline
