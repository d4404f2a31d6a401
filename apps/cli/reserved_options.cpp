// The names, as two constant lists. A feature that arrives takes its names out of here.
#include "reserved_options.h"

#include "core/format.h"

namespace veneer::cli {
namespace {

struct WithoutEffect {
  const char* names;
  const char* argument;  // empty for a flag
  const char* help;
  const char* warning;  // empty: what the option asks for happens anyway
};

constexpr WithoutEffect kWithoutEffect[] = {
    {"--fa", "", "Attention is always blocked where that is faster", ""},
    {"--diffusion-fa", "", "As --fa", ""},
    {"--mmap", "", "Files are mapped unless --no-mmap is given", ""},
    {"--diffusion-conv-direct", "", "Convolutions are chosen by the plan; see --strict",
     "--diffusion-conv-direct: has no effect; --strict gives direct convolutions"},
    {"--vae-conv-direct", "", "As --diffusion-conv-direct",
     "--vae-conv-direct: has no effect; --strict gives direct convolutions"},
    {"--force-sdxl-vae-conv-scale", "", "The autoencoder computes in float32 and needs no such scale",
     "--force-sdxl-vae-conv-scale: has no effect; the autoencoder computes in float32"},
    {"--rpc-servers", "LIST", "There are no remote devices",
     "--rpc-servers: has no effect; there are no remote devices"},
    {"--model-args", "LIST", "Models take no further settings",
     "--model-args: has no effect; models take no further settings"},
};

constexpr const char* kLaterFlags[] = {
    "--auto-fit",        "--canny", "--circular",       "--circularx",     "--circulary",  "--clip-on-cpu",
    "--control-net-cpu", "--hires", "--offload-to-cpu", "--stream-layers", "--vae-on-cpu",
};

constexpr const char* kLaterValues[] = {
    // second pass and enlarging
    "--hires-upscaler",
    "--hires-scale",
    "--hires-width",
    "--hires-height",
    "--hires-steps",
    "--hires-denoising-strength",
    "--hires-sigmas",
    "--hires-upscale-tile-size",
    "--hires-upscalers-dir",
    "--upscale-model",
    "--upscale-repeats",
    "--upscale-tile-size",
    // control, references and other guidance
    "--control-net",
    "--control-image",
    "--control-strength",
    "-r,--ref-image",
    "--slg-scale",
    "--skip-layers",
    "--skip-layer-start",
    "--skip-layer-end",
    "--timestep-shift",
    "--cache-mode",
    "--cache-option",
    "--scm-mask",
    "--scm-policy",
    // number formats and placement
    "--imat-in",
    "--imat-out",
    "--vae-format",
    "--vae-compute",
    "--llm",
    "--params-backend",
    "--max-vram",
    "--split-mode",
    "--comma-backtrack",
    "--prompt-weighting",
};

Setter not_available() {
  return [](const std::string&) -> Status {
    return Error{
        ErrorCode::kUnsupported, "is reserved for a feature that this version does not have; leave it out", {}};
  };
}

}  // namespace

OptionGroup options_without_effect(std::vector<std::string>& warnings) {
  OptionGroup group{"Accepted without effect", {}};
  for (const WithoutEffect& row : kWithoutEffect) {
    group.options.push_back({row.names, row.argument, row.help, [&warnings, &row](const std::string&) -> Status {
                               if (*row.warning) warnings.emplace_back(row.warning);
                               return {};
                             }});
  }
  return group;
}

OptionGroup options_not_available() {
  OptionGroup group;
  for (const char* names : kLaterFlags) group.options.push_back({names, "", "", not_available()});
  for (const char* names : kLaterValues) group.options.push_back({names, "VALUE", "", not_available()});
  return group;
}

}  // namespace veneer::cli
