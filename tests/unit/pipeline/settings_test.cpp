// What a model's files say about its prediction and its noise levels, and in which order they are asked.
#include "pipeline/settings.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace veneer::pipeline {
namespace {

constexpr int kLatentFactor = 8;

class Settings : public testing::Test {
 protected:
  void SetUp() override { open("tiny-sd1"); }
  void open(const std::string& folder) {
    io::ModelPaths paths;
    paths.model = test::data_path(folder);
    auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    files_ = *std::move(files);
    auto model = model::build_model(files_);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    files_.scheduler_config = nullptr;
  }
  ModelSettings settings(std::optional<sample::Prediction> asked = std::nullopt) {
    const auto result = read_settings(files_, model_, kLatentFactor, asked, []() -> Result<double> { return 0.0; });
    EXPECT_TRUE(result) << result.error().message;
    return *result;
  }
  io::ModelFiles files_;
  model::Model model_;
};

TEST_F(Settings, OfAFileThatSaysNothingAreItsFamilys) {
  EXPECT_EQ(settings().prediction, sample::Prediction::kEps);
  EXPECT_NEAR(settings().table.alpha_cumprod(999), 0.0046601, 5e-8);
}

// L3 of the acceptance cases.
TEST_F(Settings, MarkersTellVelocitiesAndZeroTerminalSignal) {
  files_.markers["v_pred"] = {};
  EXPECT_EQ(settings().prediction, sample::Prediction::kV);
  EXPECT_EQ(settings().prediction_source, "marker v_pred");
  EXPECT_NEAR(settings().table.alpha_cumprod(999), 0.0046601, 5e-8);
  files_.markers["ztsnr"] = {};
  // 0 would be an infinite sigma, which no step survives: the least signal that is left is 4.9e-8.
  EXPECT_NEAR(settings().table.alpha_cumprod(999), 4.9e-8, 1e-10);
  EXPECT_NEAR(settings().table.alpha_cumprod(0), 0.99915, 1e-7);
}

TEST_F(Settings, AnOptionWinsOverTheConfigurationAndThatOverMarkers) {
  files_.markers["v_pred"] = {};
  files_.scheduler_config = {{"prediction_type", "epsilon"}};
  EXPECT_EQ(settings().prediction, sample::Prediction::kEps);
  files_.scheduler_config = {{"prediction_type", "v_prediction"}};
  files_.markers.clear();
  EXPECT_EQ(settings().prediction, sample::Prediction::kV);
  EXPECT_EQ(settings(sample::Prediction::kEps).prediction, sample::Prediction::kEps);
  EXPECT_EQ(settings(sample::Prediction::kEps).prediction_source, "as asked");
}

TEST_F(Settings, AFlowModelsShiftIsThatOfItsFolderElseOfItsFamily) {
  open("tiny-sd3");
  const auto sigma = [&] { return settings().table.sigma(499); };  // at half the time
  EXPECT_NEAR(sigma(), sample::NoiseTable::flow(3)->sigma(499), 1e-12);
  files_.scheduler_config = {{"shift", 2.0}};
  EXPECT_NEAR(sigma(), sample::NoiseTable::flow(2)->sigma(499), 1e-12);
  EXPECT_FALSE(settings().base_shift);
  files_.scheduler_config = {{"use_dynamic_shifting", true}, {"base_shift", 0.25}, {"max_shift", 1.5}};
  EXPECT_EQ(settings().base_shift, 0.25);
  EXPECT_EQ(settings().max_shift, 1.5);
}

}  // namespace
}  // namespace veneer::pipeline
