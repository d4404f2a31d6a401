// Inputs that some UNets have besides latent and text: further channels of inpainting and edit models, the guidance
// number of distilled ones. The tiny model is given such inputs; with weights of zero they must change nothing, to the
// last byte.
#include <gtest/gtest.h>

#include "core/format.h"
#include "io/container.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::pipeline {
namespace {

using io::NamedValues;

constexpr int64_t kLatent = 4, kInpaint = 9, kEdit = 8;

class UnetInputs : public testing::Test {
 protected:
  using Change = std::function<void(std::vector<NamedValues>&)>;

  Result<std::unique_ptr<Session>> try_open(const Change& change) {
    const std::filesystem::path unet = "unet/diffusion_pytorch_model.safetensors", from = test::data_path("tiny-sd1");
    const std::filesystem::path folder = scratch_ / concat("model", models_++);
    std::filesystem::copy(from, folder, std::filesystem::copy_options::recursive);
    const auto store = io::open_weights(from / unet);
    EXPECT_TRUE(store) << store.error().message;
    std::vector<NamedValues> tensors;
    for (const auto& [name, entry] : store->entries())
      tensors.push_back({name, entry.weight.decode_all(), entry.weight.shape});
    change(tensors);
    std::filesystem::remove(folder / unet);
    io::write_f32(folder / unet, tensors);
    SessionOptions options;
    options.paths.model = folder;
    options.threads = 2;
    return Session::open(options, Log());
  }
  std::unique_ptr<Session> open(const Change& change) {
    auto session = try_open(change);
    EXPECT_TRUE(session) << session.error().message;
    return session ? *std::move(session) : nullptr;
  }
  // `channels` for the first convolution; the further ones have weights of this size.
  static Change with_channels(int64_t channels, float weight) {
    return [=](std::vector<NamedValues>& tensors) {
      for (NamedValues& tensor : tensors) {
        if (tensor.name != "conv_in.weight") continue;
        std::vector<float> wider;
        for (size_t out = 0; out < static_cast<size_t>(tensor.shape[0]); ++out) {
          const auto first = tensor.values.begin() + static_cast<std::ptrdiff_t>(out * 9 * kLatent);
          wider.insert(wider.end(), first, first + 9 * kLatent);
          wider.insert(wider.end(), static_cast<size_t>(9 * (channels - kLatent)), weight);
        }
        tensor.values = std::move(wider);
        tensor.shape[1] = channels;
      }
    };
  }
  static Change with_guidance(float weight) {
    return [=](std::vector<NamedValues>& tensors) {
      constexpr int64_t kTime = 32, kWidth = 16;
      tensors.push_back(
          {"time_embedding.cond_proj.weight", std::vector<float>(kTime * kWidth, weight), {kTime, kWidth}});
    };
  }

  static Request request() {
    Request request;
    request.prompt = "a photo of a cat";
    request.width = request.height = 32;
    request.steps = 3;
    request.seed = 5;
    return request;
  }
  static io::Image picture(uint8_t level) {
    io::Image image = io::Image::blank(32, 32, 3);
    std::ranges::fill(image.pixels, level);
    return image;
  }
  static std::vector<uint8_t> draw(const std::unique_ptr<Session>& session, const Request& request) {
    const auto result = session->generate(request, {}, CancelFlag());
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->pictures.at(0).image.pixels : std::vector<uint8_t>();
  }

  io::ScratchFolder scratch_;
  int models_ = 0;
};

TEST_F(UnetInputs, ChannelsWithoutWeightsChangeNothing) {
  const auto plain = open([](auto&) {}), inpaint = open(with_channels(kInpaint, 0.0f));
  EXPECT_EQ(draw(inpaint, request()), draw(plain, request()));
  Request repaint = request();
  repaint.init_image = picture(200);
  repaint.mask = io::Image::blank(32, 32, 1);
  std::fill_n(repaint.mask->row(0), 16 * 32, uint8_t{255});
  EXPECT_EQ(draw(inpaint, repaint), draw(plain, repaint));
}

TEST_F(UnetInputs, InpaintingSeesMaskAndPicture) {
  const auto session = open(with_channels(kInpaint, 0.05f));
  Request repaint = request();
  repaint.init_image = picture(200);
  repaint.init_latents = Tensor::zeros({1, 4, 16, 16});
  repaint.strength = 1.0;
  repaint.mask = io::Image::blank(32, 32, 1);
  std::fill_n(repaint.mask->row(0), 16 * 32, uint8_t{255});
  const auto half = draw(session, repaint);
  std::fill_n(repaint.mask->row(0), 32 * 32, uint8_t{255});
  const auto all = draw(session, repaint);
  EXPECT_NE(half, all);
  // Text to picture is repainting all of a picture.
  EXPECT_NE(draw(session, request()), draw(open(with_channels(kInpaint, 0.0f)), request()));
}

// Without weights for the picture both predictions without a prompt are the same, and plain guidance remains.
TEST_F(UnetInputs, AnEditModelWithoutWeightsForThePictureGuidesAsOthersDo) {
  const auto plain = open([](auto&) {}), edit = open(with_channels(kEdit, 0.0f));
  Request editing = request();
  editing.init_image = picture(200);
  const auto edited = draw(edit, editing), expected = draw(plain, request());
  ASSERT_EQ(edited.size(), expected.size());
  for (size_t i = 0; i < edited.size(); ++i) EXPECT_NEAR(edited[i], expected[i], 1) << i;
}

TEST_F(UnetInputs, AnEditModelSeesThePictureAsMuchAsIsAsked) {
  const auto session = open(with_channels(kEdit, 0.05f));
  Request editing = request();
  editing.init_image = picture(200);
  const auto edited = draw(session, editing);
  editing.image_cfg_scale = 4;
  EXPECT_NE(draw(session, editing), edited);
  editing.image_cfg_scale = 1.5;  // what it is when nothing is asked for
  EXPECT_EQ(draw(session, editing), edited);
  editing.init_image = picture(20);
  EXPECT_NE(draw(session, editing), edited);
  editing.init_image.reset();
  const auto refused = session->generate(editing, {}, CancelFlag());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(contains(refused.error().message, "--init-img")) << refused.error().message;
}

TEST_F(UnetInputs, AGuidanceInputIsRead) {
  const auto plain = open([](auto&) {}), silent = open(with_guidance(0.0f)), distilled = open(with_guidance(0.02f));
  Request order = request();
  order.cfg_scale = 1;
  EXPECT_EQ(draw(silent, order), draw(plain, order));
  const auto one_pass = draw(silent, order);
  order.cfg_scale.reset();  // such models are guided by their input alone
  EXPECT_EQ(draw(silent, order), one_pass);
  const auto usual = draw(distilled, order);
  order.guidance = 8.5;
  EXPECT_EQ(draw(distilled, order), usual);
  order.guidance = 2.0;
  EXPECT_NE(draw(distilled, order), usual);
  const auto warned = plain->generate(order, {}, CancelFlag());
  ASSERT_TRUE(warned);
  ASSERT_FALSE(warned->report.warnings.empty());
  EXPECT_TRUE(contains(warned->report.warnings.back(), "--guidance: has no effect"));
}

TEST_F(UnetInputs, OtherChannelsAreRefusedByTheirNumber) {
  const auto session = try_open(with_channels(7, 0.0f));
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(contains(session.error().message, "takes 7 input channels, expected 4, 9 (inpainting) or 8 (editing)"))
      << session.error().message;
}

}  // namespace
}  // namespace veneer::pipeline
