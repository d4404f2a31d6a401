// Opening of models in tests: what must succeed, what must fail, and what came out of it.
#pragma once

#include <cmath>

#include "io/model_files.h"
#include "test_files.h"

namespace veneer::io {

inline const std::filesystem::path kTiny = data_path("tiny-sd1");

inline ModelFiles open(const ModelPaths& paths) {
  auto files = open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  return files ? *std::move(files) : ModelFiles();
}

inline Error error_of(const ModelPaths& paths) {
  const auto files = open_model_files(paths);
  EXPECT_FALSE(files);
  return files ? Error{} : files.error();
}

inline std::vector<Part> parts_of(const ModelFiles& files) {
  std::vector<Part> parts;
  for (const auto& [part, ignored] : files.parts) parts.push_back(part);
  return parts;
}

inline float value_of(const ModelFiles& files, Part part, std::string_view name) {
  const ModelPart* found = files.find(part);
  const auto weight = found ? found->weights.weight(name) : Result<codec::Weight>(Error{});
  EXPECT_TRUE(weight) << name_of(part) << " " << name;
  return weight ? weight->decode_all().at(0) : std::nanf("");
}

// Every test that makes files has a folder for them.
class Models : public ::testing::Test {
 protected:
  ModelFiles open_names(const std::vector<std::string>& names) {
    return open({.model = write_names(scratch_ / "m.safetensors", names)});
  }
  ScratchFolder scratch_;
};

}  // namespace veneer::io
