// A model held ready, and the making of pictures with it. One picture order at a time: a second one is answered `busy`.
// Any thread may call; the arithmetic happens on the session's engine thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// What a run tells while it goes. All are optional, and called on the engine thread while generate() waits; none may
// call back into the session.
enum class Phase { kLoad, kText, kEncode, kSample, kDecode };
std::string_view name_of(Phase phase);

struct Callbacks {
  // `step` of `steps` of this phase are done; `seconds` took the last one. Never goes back; ends at `steps`.
  std::function<void(Phase phase, int step, int steps, double seconds)> progress;
  std::function<void(int step, const io::Image& image, bool noisy)> preview;
  // A picture of a batch is complete. Errors it returns end the run (the picture could not be written).
  std::function<Status(const struct Picture& picture)> finished;
};

struct Picture {
  io::Image image;
  int64_t seed = 0;
  int index = 0;       // in the batch
  Tensor latents;      // [1, C, h, w], before decoding
  io::ImageText text;  // what a written file carries
};

struct RunReport {
  Json plan;                                  // bytes per part, arenas, caches: planned and used
  Json seconds;                               // per phase
  std::shared_ptr<const adapt::Stack> stack;  // what the adapters came to, with its receipt; null without any
  std::vector<std::string> warnings;          // what was skipped, approximated or ignored; already logged
};

struct RunResult {
  std::vector<Picture> pictures;
  RunReport report;
};

// Cancelling, from any thread. kAll stops at the next model call; kNewPictures lets the picture in work be finished.
enum class CancelMode { kNone, kNewPictures, kAll };

class CancelFlag {
 public:
  void set(CancelMode mode) { mode_.store(mode); }
  CancelMode get() const { return mode_.load(); }

 private:
  std::atomic<CancelMode> mode_{CancelMode::kNone};
};

class Session {
 public:
  // Opens and checks all files and builds the layers; of the weights only biases and norm vectors are read, and those
  // that are held in another format than they are stored in (all of them with eager_load). Errors: as
  // io::open_model_files; bad_file / mismatch for tensors that are missing or have another shape; unsupported for a
  // family that is not.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options, const Log& log);
  ~Session();

  // Errors: usage (size, steps, ... against this model), busy, cancelled, no_memory, bad_file (weights that are not
  // finite).
  Result<RunResult> generate(const Request& request, const Callbacks& callbacks, const CancelFlag& cancel);

  // What adapters come to, without making a picture. Errors: those of generate() about adapters, and busy.
  Result<std::shared_ptr<const adapt::Stack>> plan_adapters(const AdapterOrder& order);

  // What an unset option comes to with this model.
  struct Defaults {
    const sample::Sampler* sampler;
    const sample::Schedule* schedule;
    int width, height;
  };
  Defaults defaults() const;
  // What was opened: family, parts, types, sizes, parameters; the same data that `veneer inspect` shows.
  Json describe() const;
  // SHA-256 of the weights as they are held, by part: {"denoiser": "..."}. Reads everything. Errors: bad_file for a
  // file that was cut.
  Result<Json> weight_hashes() const;

  struct State;  // state.h; for the files of this folder

 private:
  Session();
  std::unique_ptr<State> state_;
};

}  // namespace veneer::pipeline
