// Whole runs of the tiny PixArt model against diffusers (tests/data/tiny-pixart): prompt, T5, transformer, guidance and
// the linear noise schedule together, without adapters and with those of every family, on transformer and T5 at once.
// Tolerance: 2e-4 of the largest value for 4 steps, as for the other families (trajectory_test.cpp); 1e-3 for
// rotations, whose matrices the library inverts in float32 only.
#include <gtest/gtest.h>

#include <cmath>

#include "core/files.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

using pipeline::Request;
using pipeline::Session;

constexpr double kTolerance = 2e-4, kRotatedTolerance = 1e-3;
constexpr int64_t kValues = 4 * 16 * 16;

class PixArtRuns : public testing::Test {
 protected:
  void SetUp() override {
    pipeline::SessionOptions options;
    options.paths.model = test::data_path("tiny-pixart");
    options.threads = 2;
    options.strict = true;
    auto session = Session::open(options, Log());
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }

  // The timesteps of the goldens on the levels that the model's betas give them, then `last`.
  Request request(double last) const {
    const auto betas = sample::betas_named("linear", 0.0001, 0.02);
    const auto table = sample::NoiseTable::from_alphas_cumprod(sample::cumulative_alphas(*betas));
    Request request;
    request.prompt = "a photo of a cat on the grass";
    request.width = request.height = 32;
    request.cfg_scale = 4.5;
    request.sampler = *sample::sampler_named("euler");
    for (const double timestep : {751, 501, 251, 1}) request.sigmas.push_back(table->sigma(timestep));
    request.sigmas.push_back(last);
    return request;
  }

  // DDIM's state is the variance-preserving one, x / sqrt(1 + sigma^2): it starts from the noise itself and ends at the
  // level of timestep 0 rather than at zero.
  Tensor draw_ddim(std::vector<text::AdapterRequest> adapters) {
    constexpr double kLast = 0.0100005;
    Request order = request(kLast);
    const double first = order.sigmas.front();
    order.init_latents = scaled(golden_.tensor("latents"), std::sqrt(1 + first * first) / first);
    order.adapters.adapters = std::move(adapters);
    order.adapters.policy = adapt::Policy::kStrict;
    return scaled(draw(order), 1 / std::sqrt(1 + kLast * kLast));
  }

  Tensor draw(const Request& order) {
    auto result = session_->generate(order, {}, pipeline::CancelFlag());
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->pictures.at(0).latents : Tensor::zeros({1, 4, 16, 16});
  }
  static Tensor scaled(const Tensor& tensor, double factor) {
    Tensor out = tensor.clone();
    for (float& value : out.values()) value = static_cast<float>(value * factor);
    return out;
  }
  Tensor last_state(const std::string& name) const {
    return Tensor::from(golden_.tensor(name).values().last(kValues), {1, 4, 16, 16});
  }
  static text::AdapterRequest adapter(const std::string& file, double denoiser, double text_encoder) {
    text::AdapterRequest request;
    request.name = test::data_path("tiny-pixart/" + file).string();
    request.denoiser_scale = denoiser;
    request.text_encoder_scale = text_encoder;
    return request;
  }

  test::Golden golden_{"tiny-pixart/golden.safetensors"};
  std::unique_ptr<Session> session_;
};

TEST_F(PixArtRuns, EulerWithGuidance) {
  Request order = request(0);
  const Tensor states = golden_.tensor("base/euler/latents");
  order.init_latents = scaled(Tensor::from(states.values().first(kValues), {1, 4, 16, 16}), 1 / order.sigmas.front());
  EXPECT_TRUE(test::close_to(draw(order), last_state("base/euler/latents"), kTolerance));
}

TEST_F(PixArtRuns, PromptsAreLowerCased) {
  Request order = request(0);
  const Tensor lower = draw(order);
  order.prompt = " A Photo of a CAT on the grass ";
  EXPECT_TRUE(test::close_to(draw(order), lower, 0));
}

TEST_F(PixArtRuns, AdaptersOfEveryFamily) {
  EXPECT_TRUE(test::close_to(draw_ddim({}), last_state("base/ddim/latents"), kTolerance));
  const auto text = read_text_file(test::data_path("tiny-pixart/golden.index.json"));
  ASSERT_TRUE(text) << text.error().message;
  const auto index = parse_json(*text, "golden.index.json");
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ((*index)["runs"].size(), 7u);
  for (const auto& [name, run] : (*index)["runs"].items()) {
    std::vector<text::AdapterRequest> adapters;
    for (const Json& one : run["adapters"])
      adapters.push_back(adapter((*index)["adapters"][one[0].get<std::string>()]["file"], one[1], one[2]));
    const double tolerance = name.starts_with("oft") ? kRotatedTolerance : kTolerance;
    EXPECT_TRUE(test::close_to(draw_ddim(adapters), last_state(name + "/ddim/latents"), tolerance)) << name;
  }
}

// The same adapters under other names; alpha may be worked into the factors there and so be rounded once more.
TEST_F(PixArtRuns, SpellingsDoNotMatter) {
  const auto alone = [&](const char* name, double text_encoder) {
    return draw_ddim({adapter(concat("adapters/", name, ".safetensors"), 1, text_encoder)});
  };
  EXPECT_TRUE(test::close_to(alone("lora_peft_transformer", 1), alone("lora", 1), 2e-5));
  EXPECT_TRUE(test::close_to(alone("lora_base_model", 1), alone("lora", 0), 2e-5));
  EXPECT_TRUE(test::close_to(alone("loha_lycoris_names", 1), alone("loha", 1), 2e-5));
}

}  // namespace
}  // namespace veneer
