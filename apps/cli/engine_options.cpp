// The rows of the engine's options.
#include "engine_options.h"

#include "core/format.h"
#include "model_options.h"

namespace veneer::cli {
namespace {

using pipeline::ComputeType;

// GiB, decimals allowed.
Setter gibibytes(std::optional<uint64_t>& target) {
  return [&target](const std::string& value) -> Status {
    constexpr double kMost = 1 << 20;
    double amount = 0;
    VENEER_TRY_STATUS(number(amount)(value));
    if (!(amount >= 0 && amount <= kMost))
      return Error{ErrorCode::kUsage, concat("expected GiB from 0 to ", kMost, ", found \"", value, "\""), {}};
    target = static_cast<uint64_t>(amount * (1 << 30));
    return {};
  };
}

}  // namespace

OptionGroup engine_options(pipeline::SessionOptions& session) {
  return {"Computing",
          {{"--backend", "NAME", "Device that computes (chosen automatically)",
            [&backend = session.backend](const std::string& value) -> Status {
              backend += concat(backend.empty() ? "" : ",", value);
              return {};
            }},
           {"-t,--threads", "N", "Processor threads; 0 or less: the number of physical cores", whole(session.threads)},
           {"--compute", "TYPE", "Arithmetic of the denoiser: auto, f32 or bf16 (auto)",
            choice(session.compute,
                   {{"auto", ComputeType::kAuto}, {"f32", ComputeType::kF32}, {"bf16", ComputeType::kBf16}})},
           {"--strict,--reproducible", "", "Reference arithmetic: float32, direct convolutions", flag(session.strict)},
           {"--ram", "GIB", "Memory for decoded weights that are kept between steps (half of what is free)",
            gibibytes(session.panel_cache_bytes)},
           no_mapping_option(session.paths),
           {"--eager-load", "", "Read all weights before the work begins", flag(session.eager_load)}}};
}

}  // namespace veneer::cli
