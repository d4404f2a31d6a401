// The tiny SD3, SD3.5 and FLUX.1 networks against diffusers in float32 (tests/data/tiny-sd3, tiny-sd35,
// tiny-flux-schnell, tiny-flux-dev). Tolerance: 2e-5 of the largest value for one network call, or one block of it;
// float32 itself costs 7e-7 (the references' float64 tells). 2e-4 for a trajectory of four steps, in which guidance
// multiplies the error of a call by about its scale.
#include "model/mmdit.h"

#include "core/files.h"
#include "model/autoencoder_kl.h"
#include "model/flux.h"
#include "model/flux_names.h"
#include "model/sd3.h"
#include "model/sd3_names.h"
#include "nn/operations.h"
#include "tests/support/golden.h"
#include "tests/support/place.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5, kTrajectoryTolerance = 2e-4;

// A denoiser's files, and where it computes. Heads of the small models are in no shape: the configuration has them.
struct Form {
  const char *folder, *file, *device;
};
std::string name_of(const testing::TestParamInfo<Form>& info) {
  const std::string file = info.param.file, folder = info.param.folder;
  std::string name = folder.substr(5) + (file == "transformer" ? "Diffusers" : "Original") + info.param.device;
  std::erase(name, '-');
  return name;
}

io::ModelPart open_denoiser(const Form& form) {
  const auto open = [&](const std::string& path) {
    io::ModelPaths paths;
    paths.denoiser = test::data_path(path);
    const auto files = io::open_model_files(paths);
    EXPECT_TRUE(files) << files.error().message;
    return files ? files->parts.at(io::Part::kDenoiser) : io::ModelPart();
  };
  io::ModelPart part = open(concat(form.folder, "/", form.file));
  if (part.config.is_null()) {
    const std::filesystem::path path = test::data_path(concat(form.folder, "/transformer/config.json"));
    const auto text = read_text_file(path);
    EXPECT_TRUE(text) << text.error().message;
    part.config = *parse_json(*text, path.string());
  }
  return part;
}

class Mmdit : public testing::TestWithParam<Form> {
 protected:
  std::string folder() const { return GetParam().folder; }

  // At the time that sample::scalings_at gives for the family.
  model::Denoiser::Input input(float sigma, float guidance = 0) const {
    const bool sd3 = folder().starts_with("tiny-sd3");
    return {golden_.map("latents"),    sd3 ? 1000.0f * sigma : sigma,
            golden_.tensor("context"), {},
            golden_.tensor("pooled"),  guidance};
  }
  // Layers by canonical names, as a block's constructor asks for them.
  io::WeightStore canonical() const {
    const io::WeightStore& stored = part_.weights;
    if (model::is_original_sd3(stored)) return model::original_sd3_names(stored).apply(stored);
    return model::is_original_flux(stored) ? model::original_flux_names(stored).apply(stored) : stored;
  }
  // Euler steps of a flow model from latents to latents, both as maps.
  Tensor walk(Tensor x, const std::function<Tensor(const Tensor& x, float sigma)>& velocity) const {
    const Tensor sigmas = golden_.tensor("euler/sigmas");
    for (int64_t i = 0; i + 1 < sigmas.elements(); ++i) {
      const Tensor v = velocity(x, sigmas.f32()[i]);
      for (int64_t k = 0; k < x.elements(); ++k) x.f32()[k] += (sigmas.f32()[i + 1] - sigmas.f32()[i]) * v.f32()[k];
    }
    return x;
  }
  // State `i` of [states, 1, ...].
  Tensor state(int64_t i) const {
    const Tensor states = golden_.tensor("euler/latents");
    Shape shape = states.shape;
    shape[0] = 1;
    const auto size = static_cast<size_t>(shape.elements());
    const Tensor one = Tensor::from(states.values().subspan(static_cast<size_t>(i) * size, size), shape);
    return one.reshaped(Shape(std::span(shape.begin() + 1, shape.rank() - 1)));
  }
  Tensor silu(const Tensor& x) {
    return place_.run_one([&](nn::Context& context) { return model::silu_of(context, x); });
  }

  io::ModelPart part_ = open_denoiser(GetParam());
  test::Golden golden_{concat(GetParam().folder, "/golden.safetensors")};
  test::Place place_{GetParam().device};
};

class Sd3 : public Mmdit {};

TEST_P(Sd3, Forward) {
  ASSERT_TRUE(model::is_sd3(part_));
  EXPECT_FALSE(model::is_flux(part_));
  const auto built = model::build_sd3(part_);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE((*built)->unused_tensors().empty());
  for (const char* sigma : {"1.0", "0.7", "0.1"}) {
    const Tensor out =
        place_.run_one([&](nn::Context& context) { return (*built)->forward(context, input(std::stof(sigma))); });
    EXPECT_TRUE(test::close_to(out, golden_.map(concat("transformer/sigma", sigma)), kTolerance)) << sigma;
  }
}

TEST_P(Sd3, EachBlock) {
  const std::string path = "transformer/sigma0.7/";
  nn::LayerList layers;
  const io::WeightStore store = canonical();
  nn::LayerBuilder builder(store, "transformer", layers);
  const int64_t count = *model::count_blocks(store, "transformer_blocks", "attn.add_q_proj");
  EXPECT_EQ(count, folder() == "tiny-sd3" ? 3 : 2);
  Tensor image = golden_.tensor(path + "tap.pos_embed"), text = golden_.tensor(path + "tap.context_embedder");
  const Tensor condition = silu(golden_.tensor(path + "tap.time_text_embed"));
  for (int64_t i = 0; i < count; ++i) {
    SCOPED_TRACE(concat("block ", i));
    const model::JointBlock block(builder, concat("transformer_blocks.", i),
                                  {image.shape.back(), 16, folder() == "tiny-sd35"});
    ASSERT_TRUE(builder.status()) << builder.status().error().message;
    EXPECT_EQ(block.is_last(), i == count - 1);
    const auto out = place_.run([&](nn::Context& context) {
      Tensor x = nn::copy(context, image), y = nn::copy(context, text);
      block.forward(context, x, y, condition, nullptr);
      return std::vector{x, y};
    });
    image = golden_.tensor(concat(path, "block", i, ".image"));
    EXPECT_TRUE(test::close_to(out[0], image, kTolerance));
    if (i == count - 1) break;
    text = golden_.tensor(concat(path, "block", i, ".text"));
    EXPECT_TRUE(test::close_to(out[1], text, kTolerance));
  }
}

// Two pictures at once under two texts: what each gives alone.
TEST_P(Sd3, Batch) {
  const auto built = model::build_sd3(part_);
  ASSERT_TRUE(built) << built.error().message;
  model::Denoiser::Input first = input(0.7f), second = first, both = first;
  second.context = golden_.tensor("context_negative");
  second.vector = golden_.tensor("pooled_negative");
  both.x = test::as_batch(first.x, second.x);
  both.context = test::as_batch(first.context, second.context);
  both.vector = test::as_batch(first.vector, second.vector);
  const auto run = [&](const model::Denoiser::Input& in) {
    return place_.run_one([&](nn::Context& context) { return (*built)->forward(context, in); });
  };
  EXPECT_TRUE(test::close_to(run(both), test::as_batch(run(first), run(second)), kTolerance));
}

TEST_P(Sd3, Trajectory) {
  const auto built = model::build_sd3(part_);
  ASSERT_TRUE(built) << built.error().message;
  constexpr float kGuidance = 5;
  const Tensor last = walk(nchw_to_nhwc(state(0)), [&](const Tensor& x, float sigma) {
    model::Denoiser::Input with = input(sigma);
    with.x = x;
    model::Denoiser::Input without = with;
    without.context = golden_.tensor("context_negative");
    without.vector = golden_.tensor("pooled_negative");
    const auto run = [&](const model::Denoiser::Input& in) {
      return place_.run_one([&](nn::Context& context) { return (*built)->forward(context, in); });
    };
    Tensor v = run(without);
    const Tensor positive = run(with);
    for (int64_t i = 0; i < v.elements(); ++i) v.f32()[i] += kGuidance * (positive.f32()[i] - v.f32()[i]);
    return v;
  });
  EXPECT_TRUE(test::close_to(last, nchw_to_nhwc(state(4)), kTrajectoryTolerance));
}

INSTANTIATE_TEST_SUITE_P(Forms, Sd3,
                         testing::Values(Form{"tiny-sd3", "transformer", "ref"}, Form{"tiny-sd3", "transformer", "cpu"},
                                         Form{"tiny-sd3", "tiny-sd3-single.safetensors", "cpu"},
                                         Form{"tiny-sd35", "tiny-sd35-denoiser.safetensors", "ref"},
                                         Form{"tiny-sd35", "tiny-sd35-denoiser.safetensors", "cpu"}),
                         name_of);

class Flux : public Mmdit {
 protected:
  bool guided() const { return folder() == "tiny-flux-dev"; }
  // [1, tokens, 64] of the references as a map.
  Tensor unpacked(const Tensor& packed) {
    return place_.run_one([&](nn::Context& context) { return model::unpack_latent(context, packed, 16, 12); });
  }
  model::Rotation rotation(nn::Context& context) { return model::flux_rotation(context, 32, 8, 6, 32); }
};

TEST_P(Flux, Forward) {
  ASSERT_TRUE(model::is_flux(part_));
  EXPECT_FALSE(model::is_sd3(part_));
  EXPECT_EQ(model::is_guided_flux(part_), guided());
  const auto built = model::build_flux(part_);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE((*built)->unused_tensors().empty());
  EXPECT_EQ((*built)->takes_guidance(), guided());
  for (const char* sigma : {"1.0", "0.6", "0.25"}) {
    const Tensor out =
        place_.run_one([&](nn::Context& context) { return (*built)->forward(context, input(std::stof(sigma), 3.5f)); });
    EXPECT_TRUE(test::close_to(out, unpacked(golden_.tensor(concat("transformer/sigma", sigma))), kTolerance)) << sigma;
  }
}

TEST_P(Flux, Trajectory) {
  const auto built = model::build_flux(part_);
  ASSERT_TRUE(built) << built.error().message;
  const Tensor last = walk(unpacked(state(0)), [&](const Tensor& x, float sigma) {
    model::Denoiser::Input in = input(sigma, 3.5f);
    in.x = x;
    return place_.run_one([&](nn::Context& context) { return (*built)->forward(context, in); });
  });
  EXPECT_TRUE(test::close_to(last, unpacked(state(4)), kTrajectoryTolerance));
}

TEST_P(Flux, PackedLatents) {
  const Tensor packed =
      place_.run_one([&](nn::Context& context) { return model::pack_latent(context, golden_.map("latents")); });
  EXPECT_TRUE(test::close_to(packed, golden_.tensor("packed"), 0));
}

TEST_P(Flux, EachBlock) {
  const std::string path = "transformer/sigma0.6/";
  nn::LayerList layers;
  const io::WeightStore store = canonical();
  nn::LayerBuilder builder(store, "transformer", layers);
  const model::TransformerSizes sizes{64, 32};
  Tensor image = golden_.tensor(path + "tap.x_embedder"), text = golden_.tensor(path + "tap.context_embedder");
  const Tensor condition = silu(golden_.tensor(path + "tap.time_text_embed"));
  const auto expect_block = [&](const std::string& name, const std::vector<Tensor>& out) {
    SCOPED_TRACE(name);
    image = golden_.tensor(concat(path, name, ".image"));
    text = golden_.tensor(concat(path, name, ".text"));
    EXPECT_TRUE(test::close_to(out[0], image, kTolerance));
    EXPECT_TRUE(test::close_to(out[1], text, kTolerance));
  };
  for (int i = 0; i < (guided() ? 2 : 1); ++i) {
    const model::JointBlock block(builder, concat("transformer_blocks.", i), sizes);
    ASSERT_TRUE(builder.status()) << builder.status().error().message;
    expect_block(concat("double", i), place_.run([&](nn::Context& context) {
      Tensor x = nn::copy(context, image), y = nn::copy(context, text);
      const model::Rotation turn = rotation(context);
      block.forward(context, x, y, condition, &turn);
      return std::vector{x, y};
    }));
  }
  for (int i = 0; i < (guided() ? 1 : 2); ++i) {
    const model::SingleBlock block(builder, concat("single_transformer_blocks.", i), sizes);
    ASSERT_TRUE(builder.status()) << builder.status().error().message;
    expect_block(concat("single", i), place_.run([&](nn::Context& context) {
      Tensor both = nn::concat_tokens(context, text, image);
      block.forward(context, both, condition, rotation(context));
      return std::vector{nn::slice_tokens(context, both, 32, 48), nn::slice_tokens(context, both, 0, 32)};
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Flux,
                         testing::Values(Form{"tiny-flux-schnell", "transformer", "ref"},
                                         Form{"tiny-flux-schnell", "transformer", "cpu"},
                                         Form{"tiny-flux-schnell", "tiny-flux-schnell-bfl.safetensors", "cpu"},
                                         Form{"tiny-flux-dev", "tiny-flux-dev-bfl.safetensors", "ref"},
                                         Form{"tiny-flux-dev", "tiny-flux-dev-bfl.safetensors", "cpu"}),
                         name_of);

// The references repeat each angle for the two numbers of its pair.
TEST(FluxRotation, Tables) {
  const test::Golden golden("tiny-flux-schnell/golden.safetensors");
  test::Place place("ref");
  const auto tables = place.run([&](nn::Context& context) {
    const model::Rotation rotation = model::flux_rotation(context, 32, 8, 6, 32);
    return std::vector{rotation.cosines, rotation.sines};
  });
  for (size_t i : {0, 1}) {
    const Tensor twice = golden.tensor(i == 0 ? "rope/cos" : "rope/sin");
    Tensor once = Tensor::zeros({80, 16});
    for (int64_t k = 0; k < once.elements(); ++k) once.f32()[k] = twice.f32()[2 * k];
    EXPECT_TRUE(test::close_to(tables[i], once, 1e-6));  // float32 of a number below 1, and its last digit
  }
}

struct VaeForm {
  const char *golden, *path, *device;
  model::LatentScaling scaling;
};

class SixteenChannelAutoencoder : public testing::TestWithParam<VaeForm> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.vae = test::data_path(GetParam().path);
    const auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    auto built = model::build_autoencoder_kl(files->parts.at(io::Part::kVae), GetParam().scaling);
    ASSERT_TRUE(built) << built.error().message;
    vae_ = *std::move(built);
    EXPECT_EQ(vae_->latent_channels(), 16);
  }
  // -1..1 as 0..1.
  static Tensor picture(Tensor tensor) {
    for (float& value : tensor.values()) value = value / 2 + 0.5f;
    return tensor;
  }
  // The last latents of the reference's run.
  Tensor latents() {
    const Tensor states = golden_.tensor("euler/latents");
    const int64_t size = states.elements() / states.shape[0];
    const auto last = states.values().last(static_cast<size_t>(size));
    if (states.shape.rank() == 5) return nchw_to_nhwc(Tensor::from(last, {1, 16, 16, 12}));
    const Tensor packed = Tensor::from(last, {1, 48, 64});
    return place_.run_one([&](nn::Context& context) { return model::unpack_latent(context, packed, 16, 12); });
  }

  test::Golden golden_{concat(GetParam().golden, "/golden.safetensors")};
  test::Place place_{GetParam().device};
  std::unique_ptr<model::Autoencoder> vae_;
};

TEST_P(SixteenChannelAutoencoder, Decodes) {
  const Tensor x = latents();
  const Tensor out = place_.run_one([&](nn::Context& context) { return vae_->decode(context, x); });
  EXPECT_TRUE(test::close_to(out, picture(golden_.map("euler/image")), kTolerance));
}

// Files with both halves.
class WholeAutoencoder : public SixteenChannelAutoencoder {};

TEST_P(WholeAutoencoder, Encodes) {
  ASSERT_TRUE(vae_->can_encode());
  const Tensor image = picture(golden_.map("image"));
  const Tensor mean = place_.run_one([&](nn::Context& context) { return vae_->encode(context, image).mean; });
  Tensor expected = golden_.map("vae/encode_mean");
  const auto [scale, shift] = GetParam().scaling;
  for (float& value : expected.values()) value = static_cast<float>((value - shift) * scale);
  EXPECT_TRUE(test::close_to(mean, expected, kTolerance));
}

constexpr model::LatentScaling kSd3Scaling{1.5305, 0.0609}, kFluxScaling{0.3611, 0.1159};
constexpr VaeForm kSd3OnRef{"tiny-sd3", "tiny-sd3/vae", "ref", kSd3Scaling},
    kSd3OnCpu{"tiny-sd3", "tiny-sd3/vae", "cpu", kSd3Scaling},
    kFluxOnCpu{"tiny-flux-schnell", "tiny-flux-schnell/ae.safetensors", "cpu", kFluxScaling};
INSTANTIATE_TEST_SUITE_P(Forms, SixteenChannelAutoencoder, testing::Values(kSd3OnRef, kSd3OnCpu, kFluxOnCpu));
INSTANTIATE_TEST_SUITE_P(Forms, WholeAutoencoder, testing::Values(kSd3OnRef, kSd3OnCpu));

}  // namespace
}  // namespace veneer
