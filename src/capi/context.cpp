// The C interface over a session. No exception and no C++ type crosses it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "capi/params.h"
#include "device/devices.h"
#include "pipeline/version.h"

using veneer::Error;
using veneer::ErrorCode;
using veneer::Result;
using veneer::Status;
namespace pipeline = veneer::pipeline;
using veneer::capi::adapters_of;
using veneer::capi::AdapterSettings;
using veneer::capi::options_of;
using veneer::capi::request_of;
using veneer::capi::settings_of;
using veneer::capi::sized_copy;

struct LastError {
  std::string message, where;
  void set(Error error) {
    message = std::move(error.message);
    where = std::move(error.where);
  }
  void clear() { *this = {}; }
};

struct veneer_context {
  std::unique_ptr<pipeline::Session> session;
  veneer_progress_callback progress = nullptr;
  void* user = nullptr;
  AdapterSettings adapters;
  std::string receipt;                      // of the last picture or plan, as JSON; empty without adapters
  std::mutex mutex;                         // over the two members below
  pipeline::CancelFlag* running = nullptr;  // that of the picture in work
  LastError error;
};

namespace {

thread_local LastError create_error;

veneer_status status_of(ErrorCode code) { return static_cast<veneer_status>(static_cast<int>(code) + 1); }
static_assert(static_cast<int>(ErrorCode::kUsage) + 1 == VENEER_USAGE);
static_assert(static_cast<int>(ErrorCode::kBug) + 1 == VENEER_BUG);
static_assert(static_cast<int>(pipeline::Phase::kDecode) == VENEER_PHASE_DECODE);
static_assert(static_cast<int>(veneer::LogLevel::kError) == VENEER_LOG_ERROR);

// Runs `work`; what it throws becomes an error.
template <typename Work>
veneer_status guarded(LastError& error, Work work) noexcept {
  try {
    const Status status = work();
    if (status) return VENEER_OK;
    const veneer_status code = status_of(status.error().code);
    error.set(status.error());
    return code;
  } catch (const std::bad_alloc&) {
    error.set({ErrorCode::kNoMemory, "memory ran out", ""});
    return VENEER_NO_MEMORY;
  } catch (const std::exception& exception) {
    error.set({ErrorCode::kBug, exception.what(), ""});
    return VENEER_BUG;
  } catch (...) {
    error.set({ErrorCode::kBug, "an unknown exception", ""});
    return VENEER_BUG;
  }
}

// The caller's pictures: one array, each with memory of its own.
veneer_image* export_pictures(const std::vector<pipeline::Picture>& pictures) {
  auto* images = static_cast<veneer_image*>(std::calloc(std::max<size_t>(pictures.size(), 1), sizeof(veneer_image)));
  if (!images) throw std::bad_alloc();
  for (size_t i = 0; i < pictures.size(); ++i) {
    const veneer::io::Image& image = pictures[i].image;
    images[i] = {static_cast<uint32_t>(image.width), static_cast<uint32_t>(image.height),
                 static_cast<uint32_t>(image.channels), static_cast<uint8_t*>(std::malloc(image.pixels.size()))};
    if (!images[i].data) {
      veneer_images_free(images, pictures.size());
      throw std::bad_alloc();
    }
    std::copy(image.pixels.begin(), image.pixels.end(), images[i].data);
  }
  return images;
}

// Takes the context for one picture order and lends the flag to veneer_cancel meanwhile.
class Claim {
 public:
  Claim(veneer_context& context, pipeline::CancelFlag& flag) : context_(context) {
    const std::lock_guard lock(context_.mutex);
    if (context_.running) return;
    context_.running = &flag;
    held_ = true;
  }
  ~Claim() {
    const std::lock_guard lock(context_.mutex);
    if (held_) context_.running = nullptr;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool held() const { return held_; }

 private:
  veneer_context& context_;
  bool held_ = false;
};

std::string receipt_text(const veneer::adapt::Stack* stack) {
  if (!stack) return {};
  return stack->receipt.to_json(true).dump(-1, ' ', false, veneer::Json::error_handler_t::replace);
}

Status generate(veneer_context& context, const veneer_img_params* params, const pipeline::CancelFlag& cancel,
                veneer_image** images, size_t* count) {
  VENEER_TRY(copy, sized_copy(params, veneer_img_params_init));
  VENEER_TRY(request, request_of(copy, context.adapters));
  pipeline::Callbacks callbacks;
  if (context.progress) {
    callbacks.progress = [&context](pipeline::Phase phase, int step, int steps, double seconds) {
      context.progress(static_cast<veneer_phase>(phase), step, steps, seconds, context.user);
    };
  }
  VENEER_TRY(result, context.session->generate(request, callbacks, cancel));
  context.receipt = receipt_text(result.report.stack.get());
  *images = export_pictures(result.pictures);
  *count = result.pictures.size();
  return {};
}

}  // namespace

extern "C" {

uint32_t veneer_api_version(void) { return VENEER_API_VERSION; }
const char* veneer_version(void) { return pipeline::version().data(); }

void veneer_ctx_params_init(veneer_ctx_params* params) {
  *params = {};
  params->struct_size = sizeof *params;
  params->prediction = VENEER_PREDICTION_COUNT;
}

void veneer_img_params_init(veneer_img_params* params) {
  const pipeline::Request defaults;
  *params = {};
  params->struct_size = sizeof *params;
  params->width = params->height = 512;
  params->batch_count = defaults.batch_count;
  params->steps = defaults.steps;
  params->clip_skip = defaults.clip_skip;
  params->seed = -1;
  params->cfg_scale = INFINITY;
  params->eta = INFINITY;
  params->strength = static_cast<float>(defaults.strength);
  params->sampler = VENEER_SAMPLER_COUNT;
  params->schedule = VENEER_SCHEDULE_COUNT;
  params->rng = VENEER_RNG_COUNT;
  params->sampler_rng = VENEER_RNG_COUNT;
}

veneer_status veneer_ctx_create(const veneer_ctx_params* params, veneer_context** context) {
  create_error.clear();
  if (!context) return VENEER_USAGE;
  *context = nullptr;
  return guarded(create_error, [&]() -> Status {
    VENEER_TRY(copy, sized_copy(params, veneer_ctx_params_init));
    VENEER_TRY(options, options_of(copy));
    VENEER_TRY(adapters, settings_of(copy));
    veneer::Log log;
    if (copy.log) {
      log = veneer::Log([sink = copy.log, user = copy.user](veneer::LogLevel level, const std::string& line) {
        sink(static_cast<veneer_log_level>(level), line.c_str(), user);
      });
    }
    VENEER_TRY(session, pipeline::Session::open(options, log));
    auto made = std::make_unique<veneer_context>();
    made->session = std::move(session);
    made->progress = copy.progress;
    made->user = copy.user;
    made->adapters = adapters;
    *context = made.release();
    return {};
  });
}

void veneer_ctx_free(veneer_context* context) { delete context; }

veneer_status veneer_generate(veneer_context* context, const veneer_img_params* params, veneer_image** images,
                              size_t* count) {
  if (!context || !images || !count) return VENEER_USAGE;
  *images = nullptr;
  *count = 0;
  pipeline::CancelFlag cancel;
  const Claim claim(*context, cancel);
  if (!claim.held()) return VENEER_BUSY;  // what the first call uses is not touched
  context->error.clear();
  return guarded(context->error, [&] { return generate(*context, params, cancel, images, count); });
}

veneer_status veneer_adapters_plan(veneer_context* context, const veneer_adapter* adapters, size_t count,
                                   const char** json) {
  if (!context || !json) return VENEER_USAGE;
  *json = nullptr;
  pipeline::CancelFlag unused;
  const Claim claim(*context, unused);
  if (!claim.held()) return VENEER_BUSY;
  context->error.clear();
  return guarded(context->error, [&]() -> Status {
    VENEER_TRY(order, adapters_of(adapters, count, context->adapters));
    VENEER_TRY(stack, context->session->plan_adapters(order));
    context->receipt = receipt_text(stack.get());
    *json = context->receipt.c_str();
    return {};
  });
}

const char* veneer_last_receipt(const veneer_context* context) { return context ? context->receipt.c_str() : ""; }

void veneer_images_free(veneer_image* images, size_t count) {
  for (size_t i = 0; images && i < count; ++i) std::free(images[i].data);
  std::free(images);
}

veneer_status veneer_cancel(veneer_context* context, veneer_cancel_mode mode) {
  if (!context) return VENEER_USAGE;
  const std::lock_guard lock(context->mutex);
  if (!context->running) return VENEER_OK;  // nothing is being made: nothing changes
  switch (mode) {
    case VENEER_CANCEL_ALL: context->running->set(pipeline::CancelMode::kAll); return VENEER_OK;
    case VENEER_CANCEL_NEW_LATENTS: context->running->set(pipeline::CancelMode::kNewPictures); return VENEER_OK;
    case VENEER_CANCEL_RESET: context->running->set(pipeline::CancelMode::kNone); return VENEER_OK;
  }
  return VENEER_USAGE;
}

const char* veneer_last_error(const veneer_context* context) {
  return (context ? context->error : create_error).message.c_str();
}
const char* veneer_last_error_where(const veneer_context* context) {
  return (context ? context->error : create_error).where.c_str();
}

veneer_status veneer_ctx_defaults(const veneer_context* context, veneer_sampler* sampler, veneer_schedule* schedule) {
  if (!context || !sampler || !schedule) return VENEER_USAGE;
  const auto defaults = context->session->defaults();
  *sampler = veneer_sampler_from_name(std::string(defaults.sampler->name).c_str());
  *schedule = veneer_schedule_from_name(std::string(defaults.schedule->name).c_str());
  return VENEER_OK;
}

size_t veneer_list_devices(char* buffer, size_t size) {
  std::string lines;
  LastError ignored;
  guarded(ignored, [&]() -> Status {
    for (const auto& kind : veneer::device::device_kinds()) {
      VENEER_TRY(device, kind.open(1, false));
      lines += veneer::concat(device->name(), "\t", device->description(), "\n");
    }
    return {};
  });
  if (buffer && size > 0) {
    const size_t kept = std::min(lines.size(), size - 1);
    std::memcpy(buffer, lines.data(), kept);
    buffer[kept] = '\0';
  }
  return lines.size() + 1;
}

}  // extern "C"
