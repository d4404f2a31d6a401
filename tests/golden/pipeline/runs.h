// Whole runs of a session, for comparison with the trajectories of reference pipelines.
#pragma once

#include <gtest/gtest.h>

#include "pipeline/session.h"
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
