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
constexpr std::string_view kVocabulary = "bpe_simple_vocab_16e6.txt.gz";

// A model that carries a tokenizer brings its own; single files carry none and use CLIP's published vocabulary.
Result<text::ClipTokenizer> load_tokenizer(const io::ModelFiles& files, const std::filesystem::path& data_dir) {
  if (!files.tokenizer.empty()) return text::ClipTokenizer::load_folder(files.tokenizer);
  const std::filesystem::path vocabulary = data_dir / kVocabulary;
  std::error_code ignored;
  if (std::filesystem::exists(vocabulary, ignored)) return text::ClipTokenizer::load_merge_list(vocabulary);
  return Error{ErrorCode::kNotFound,
               concat(files.name, ": carries no tokenizer, and CLIP's vocabulary (", kVocabulary, ") is not in ",
                      data_dir.string(),
                      "; give a folder with vocab.json and merges.txt by --tokenizer, or run scripts/setup.sh"),
               vocabulary.string()};
}

Status check_tokenizer(const text::ClipTokenizer& tokenizer, const model::TextEncoder& encoder,
                       const std::string& name) {
  if (tokenizer.vocabulary_size() > encoder.vocabulary())
    return Error{ErrorCode::kMismatch,
                 concat(name, ": the tokenizer knows ", tokenizer.vocabulary_size(), " tokens, the text encoder ",
                        encoder.vocabulary(), "; give the model's own tokenizer by --tokenizer"),
                 "--tokenizer"};
  constexpr int64_t kRows = 77;
  if (encoder.positions() < kRows)
    return Error{ErrorCode::kMismatch,
                 concat(name, ": the text encoder has ", encoder.positions(), " positions, expected ", kRows), name};
  return {};
}

Status check_compute(const SessionOptions& options) {
  if (options.compute != ComputeType::kBf16) return {};
  return Error{ErrorCode::kUnsupported, "--compute bf16: not supported yet; f32 is what auto comes to", "--compute"};
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
  VENEER_TRY_STATUS(check_compute(options));
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
  std::string why;
  const int64_t factor = (model.vae ? *model.vae : *model.tiny_vae).factor();
  VENEER_TRY(settings, read_settings(files, *model.family, static_cast<int>(factor), options.prediction, why));
  log.info(why);
  VENEER_TRY(tokenizer, load_tokenizer(files, options.data_dir));
  VENEER_TRY_STATUS(check_tokenizer(tokenizer, *model.text_encoder, files.name));
  const int threads = options.threads > 0 ? options.threads : physical_cores();
  VENEER_TRY(device, device::open_device(options.backend, threads, options.strict));
  log.info(concat("device: ", device->name(), " (", device->description(), ")"));
  if (options.eager_load) read_all(files);

  std::unique_ptr<Session> session(new Session());
  session->state_ =
      std::make_unique<State>(std::move(options), log,
                              Opened{std::move(device), std::move(files), std::move(model), std::move(settings),
                                     std::move(tokenizer), held.bytes, held.use.to_json()});
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
