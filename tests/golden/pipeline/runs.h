// Whole runs of a session, for comparison with the trajectories of reference pipelines.
#pragma once

#include <gtest/gtest.h>

#include "pipeline/session.h"
#include "pipeline/settings.h"
#include "tests/support/golden.h"

namespace veneer::test {

inline std::unique_ptr<pipeline::Session> open_session(const io::ModelPaths& paths) {
  pipeline::SessionOptions options;
  options.paths = paths;
  options.threads = 2;
  options.strict = true;
  auto session = pipeline::Session::open(options, Log());
  EXPECT_TRUE(session) << session.error().message;
  return session ? *std::move(session) : nullptr;
}

// The pieces of a model whose network a test calls itself.
struct LoadedModel {
  io::ModelFiles files;
  model::Model model;
  pipeline::ModelSettings settings;
};

inline std::optional<LoadedModel> load_model(const io::ModelPaths& paths) {
  auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  if (!files) return std::nullopt;
  auto model = model::build_model(*files);
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return std::nullopt;
  auto settings = pipeline::read_settings(*files, *model, 2, {}, {});
  EXPECT_TRUE(settings) << settings.error().message;
  if (!settings) return std::nullopt;
  return LoadedModel{*std::move(files), *std::move(model), *std::move(settings)};
}

inline pipeline::RunResult draw(pipeline::Session& session, const pipeline::Request& request) {
  auto result = session.generate(request, {}, pipeline::CancelFlag());
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : pipeline::RunResult();
}

// The start of a run is given as unit noise: undoes the reference's own scaling.
inline Tensor scaled(Tensor tensor, double factor) {
  for (float& value : tensor.values()) value = static_cast<float>(value * factor);
  return tensor;
}

// State number `index` of a trajectory [states, 1, C, h, w]; negative ones count from the end.
inline Tensor state_of(const Tensor& trajectory, int64_t index) {
  const Shape one{1, trajectory.shape[2], trajectory.shape[3], trajectory.shape[4]};
  const int64_t first = index < 0 ? trajectory.shape[0] + index : index;
  return Tensor::from(
      trajectory.values().subspan(static_cast<size_t>(first * one.elements()), static_cast<size_t>(one.elements())),
      one);
}

}  // namespace veneer::test
