// Adapters on whole models of three families, held in every kind of format, in every mode, on three devices: what each
// layer gets is the business of conformance/overlays; here the routes, warnings and pictures of a session agree, and
// nothing stays behind. A run is one step, latents are compared.
#include <gtest/gtest.h>

#include <random>

#include "adapt/stack.h"
#include "core/format.h"
#include "io/type_rules.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer {
namespace {

namespace fs = std::filesystem;
using adapt::ApplyMode;
using pipeline::Session;

// Of the largest latent value, for one step of a small network whose weights a merge rounds once more: the unit in the
// last place of the type, times a few for sums of such errors, and times what is lost where a large sigma (157 of
// PixArt's first step) multiplies the network's answer.
double merge_tolerance(const std::string& type) { return type == "f32" ? 4e-4 : type == "f16" ? 1e-2 : 8e-2; }

bool can_merge(const std::string& type) { return type == "f32" || type == "f16" || type == "bf16"; }

struct Subject {
  std::string name;
  io::ModelPaths paths;
  std::vector<fs::path> adapters;
};

// Random factors for places of FLUX, under its original names: whole matrices, q, k and v in one, and those with a
// further matrix behind them. `kind` adds what makes another family of it.
class FluxAdapters {
 public:
  explicit FluxAdapters(const io::ScratchFolder& scratch) : scratch_(scratch) {}

  std::vector<fs::path> write() {
    std::vector<fs::path> files;
    for (const char* kind : {"lora", "dora", "lokr", "oft"}) files.push_back(write_one(kind));
    return files;
  }

 private:
  struct Place {
    const char* module;
    int64_t out, in;
  };
  static constexpr int64_t kRank = 4, kBlock = 16;
  static constexpr Place kPlaces[] = {{"lora_unet_double_blocks_0_img_attn_qkv", 192, 64},
                                      {"lora_unet_double_blocks_0_txt_mlp_0", 256, 64},
                                      {"lora_unet_single_blocks_0_linear1", 448, 64},
                                      {"lora_unet_single_blocks_1_linear2", 64, 320}};

  std::vector<float> random(int64_t count) {
    std::normal_distribution<float> normal(0, 0.2f);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(generator_);
    return values;
  }

  void add(std::vector<io::NamedValues>& tensors, const std::string& name, const Shape& shape) {
    tensors.push_back({name, random(shape.elements()), shape});
  }

  fs::path write_one(const std::string& kind) {
    std::vector<io::NamedValues> tensors;
    for (const Place& place : kPlaces) {
      const std::string module = place.module;
      if (kind == "lokr") {
        add(tensors, module + ".lokr_w1", {8, 8});
        add(tensors, module + ".lokr_w2", {place.out / 8, place.in / 8});
      } else if (kind == "oft") {
        add(tensors, module + ".oft_blocks", {place.out / kBlock, kBlock, kBlock});
      } else {
        add(tensors, module + ".lora_down.weight", {kRank, place.in});
        add(tensors, module + ".lora_up.weight", {place.out, kRank});
        if (kind == "dora") add(tensors, module + ".dora_scale", {place.out, 1});
      }
    }
    return io::write_f32(scratch_ / (kind + ".safetensors"), tensors);
  }

  const io::ScratchFolder& scratch_;
  std::mt19937 generator_{9};
};

Subject tiny(const std::string& name, const std::vector<std::string>& files) {
  Subject subject{name, {.model = test::data_path(name)}, {}};
  for (const std::string& file : files)
    subject.adapters.push_back(test::data_path(concat(name, "/adapters/", file, ".safetensors")));
  return subject;
}

class OverlayMatrix : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Session> open(const Subject& subject, const std::string& device) {
    pipeline::SessionOptions options;
    options.paths = subject.paths;
    options.threads = 2;
    options.backend = device;
    options.types = *io::TypeRules::parse(GetParam(), "");
    auto session = Session::open(options, Log());
    EXPECT_TRUE(session) << session.error().message;
    return session ? *std::move(session) : nullptr;
  }

  struct Outcome {
    Tensor latents;
    std::map<std::string, int64_t> routes, not_merged;
    int64_t denoiser_layers = 0;
    bool warned = false;
  };
  static Outcome draw(Session& session, const std::vector<fs::path>& adapters, ApplyMode mode) {
    pipeline::Request request;
    request.prompt = "a cat";
    request.width = request.height = 32;
    request.steps = 1;
    request.cfg_scale = 1;
    request.adapters.mode = mode;
    request.adapters.policy = adapt::Policy::kStrict;
    for (const fs::path& path : adapters) {
      text::AdapterRequest one;
      one.name = path.string();
      one.text_encoder_scale = one.denoiser_scale = 0.8;
      request.adapters.adapters.push_back(one);
    }
    auto result = session.generate(request, {}, pipeline::CancelFlag());
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    Outcome outcome;
    outcome.latents = result->pictures.at(0).latents;
    if (const auto& stack = result->report.stack) {
      outcome.routes = stack->receipt.routes();
      outcome.not_merged = stack->receipt.not_merged;
    }
    outcome.warned = std::ranges::any_of(result->report.warnings, [](const std::string& warning) {
      return warning.starts_with("--lora-apply-mode immediately");
    });
    return outcome;
  }

  // Modes on the processor. A session tells once that some layers could not be merged: `told` is kept over all calls.
  static void check_modes(Session& session, const std::vector<fs::path>& adapters, const Tensor& plain, bool& told) {
    const Outcome at_runtime = draw(session, adapters, ApplyMode::kAtRuntime);
    EXPECT_FALSE(test::close_to(at_runtime.latents, plain, 1e-4));
    EXPECT_EQ(at_runtime.routes.at("merged"), 0);
    EXPECT_FALSE(at_runtime.warned);
    const Outcome automatic = draw(session, adapters, ApplyMode::kAuto);
    EXPECT_TRUE(test::close_to(automatic.latents, at_runtime.latents, 0));
    EXPECT_EQ(automatic.routes, at_runtime.routes);
    EXPECT_FALSE(automatic.warned);
    const Outcome immediate = draw(session, adapters, ApplyMode::kImmediately);
    const bool all_merged = immediate.not_merged.empty();
    EXPECT_EQ(immediate.warned, !all_merged && !told);
    told |= immediate.warned;
    if (can_merge(GetParam())) {
      EXPECT_TRUE(all_merged) << immediate.not_merged.begin()->first;
      EXPECT_EQ(immediate.routes.at("folded"), 0);
      EXPECT_TRUE(test::close_to(immediate.latents, at_runtime.latents, merge_tolerance(GetParam())));
    } else {
      // Layers that the rules leave as they are may be merged; the others run as they did.
      EXPECT_FALSE(all_merged);
      EXPECT_TRUE(test::close_to(immediate.latents, at_runtime.latents, merge_tolerance("f16")));
    }
  }

  // What is merged depends on what the device can add to; what comes out does not.
  static void check_devices(const Subject& subject, const std::vector<fs::path>& adapters, const Tensor& expected) {
    const auto reference = open(subject, "ref");
    ASSERT_TRUE(reference);
    EXPECT_TRUE(test::close_to(draw(*reference, adapters, ApplyMode::kAuto).latents, expected, 1e-4));
    const auto masked = open(subject, "mask(cpu; device-memory; no-add=f32; no-add=f16; no-add=bf16)");
    ASSERT_TRUE(masked);
    const Outcome immediate = draw(*masked, adapters, ApplyMode::kImmediately);
    EXPECT_TRUE(immediate.warned);
    EXPECT_EQ(immediate.routes.at("merged"), 0);
    EXPECT_TRUE(test::close_to(immediate.latents, expected, 0));
  }

  static void check(const Subject& subject) {
    SCOPED_TRACE(subject.name);
    const auto session = open(subject, "cpu");
    ASSERT_TRUE(session);
    const Tensor plain = draw(*session, {}, ApplyMode::kAuto).latents;
    bool told = false;
    for (const fs::path& adapter : subject.adapters) {
      SCOPED_TRACE(adapter.filename());
      check_modes(*session, {adapter}, plain, told);
    }
    // All of them at once, whichever comes first; then none.
    std::vector<fs::path> all = subject.adapters;
    const Tensor together = draw(*session, all, ApplyMode::kAuto).latents;
    std::ranges::reverse(all);
    EXPECT_TRUE(test::close_to(draw(*session, all, ApplyMode::kAuto).latents, together, 0));
    check_devices(subject, all, together);
    EXPECT_TRUE(test::close_to(draw(*session, {}, ApplyMode::kAuto).latents, plain, 0));
  }
};

TEST_P(OverlayMatrix, TinySd1) { check(tiny("tiny-sd1", {"locon", "boft"})); }

TEST_P(OverlayMatrix, TinyPixArt) { check(tiny("tiny-pixart", {"lora", "dora", "oft", "loha", "lokr"})); }

TEST_P(OverlayMatrix, TinyFlux) {
  const io::ScratchFolder scratch;
  Subject subject{
      "tiny-flux-schnell",
      {.model = test::data_path("tiny-flux-schnell"), .vae = test::data_path("tiny-flux-schnell/ae.safetensors")},
      FluxAdapters(scratch).write()};
  check(subject);
}

INSTANTIATE_TEST_SUITE_P(Types, OverlayMatrix,
                         testing::Values("f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "q8_0", "q4_0", "sdnq_int8",
                                         "sdnq_uint4", "sdnq_uint4_svd"),
                         [](const auto& type) { return type.param; });

}  // namespace
}  // namespace veneer
