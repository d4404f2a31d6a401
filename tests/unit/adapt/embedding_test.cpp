// Embedding files of every trainer, and what is refused.
#include "adapt/embedding.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/format.h"
#include "tests/unit/io/byte_builders.h"
#include "tests/unit/io/test_files.h"

namespace veneer::adapt {
namespace {

using io::ScratchFolder;
using io::write_f32;

std::vector<float> values_of(const Embedding& embedding, int64_t width) {
  const Tensor* vectors = embedding.of_width(width);
  EXPECT_TRUE(vectors) << width;
  return vectors ? std::vector<float>(vectors->values().begin(), vectors->values().end()) : std::vector<float>();
}

void expect_error(const std::filesystem::path& path, ErrorCode code, std::string_view words) {
  const auto embedding = open_embedding(path);
  ASSERT_FALSE(embedding) << path;
  EXPECT_EQ(embedding.error().code, code) << embedding.error().message;
  EXPECT_TRUE(embedding.error().message.starts_with(path.string())) << embedding.error().message;
  EXPECT_TRUE(contains(embedding.error().message, words)) << embedding.error().message;
}

TEST(Embedding, FilesOfEveryTrainer) {
  const ScratchFolder folder;
  const std::vector<float> two = {1, 2, 3, 4, 5, 6};
  const std::vector<io::NamedValues> cases[] = {
      {{"emb_params", two, {2, 3}}},
      {{"clip_l", two, {2, 3}}, {"clip_g", {7, 8}, {1, 2}}},
      {{"<my token>", two, {2, 3}}},
      {{"string_to_param.*", two, {2, 3}}, {"other", {1, 2, 3}, {1, 3}}},
  };
  for (const auto& tensors : cases) {
    const auto embedding = open_embedding(write_f32(folder / "Red.fox.safetensors", tensors));
    ASSERT_TRUE(embedding) << embedding.error().message;
    EXPECT_EQ(embedding->word, "Red.fox");
    EXPECT_EQ(values_of(*embedding, 3), two) << tensors.front().name;
    EXPECT_EQ(embedding->of_width(3)->shape, (Shape{2, 3}));
    EXPECT_FALSE(embedding->of_width(6));
  }
  const auto both = open_embedding(write_f32(folder / "x.safetensors", cases[1]));
  ASSERT_TRUE(both);
  EXPECT_EQ(values_of(*both, 2), (std::vector<float>{7, 8}));
  const auto one = open_embedding(write_f32(folder / "x.safetensors", {{"<s1>", {1, 2, 3}, {3}}}));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->of_width(3)->shape, (Shape{1, 3}));
}

TEST(Embedding, TheLayoutOfTorch) {
  using namespace io;
  const ScratchFolder folder;
  const std::string tensor = p_tensor({.sizes = {2, 2}, .strides = {2, 1}, .storage_values = 4});
  const std::string object = p_dict({{"string_to_token", p_dict({{"*", p_integer(265)}})},
                                     {"string_to_param", p_dict({{"*", tensor}})},
                                     {"name", p_text("trained as")}});
  const auto embedding = open_embedding(folder.write("fox.pt", torch_zip(object, {{"0", floats({1, 2, 3, 4})}})));
  ASSERT_TRUE(embedding) << embedding.error().message;
  EXPECT_EQ(embedding->word, "fox");
  EXPECT_EQ(values_of(*embedding, 2), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Embedding, FilesThatAreNone) {
  const ScratchFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto write = [&](const std::vector<io::NamedValues>& tensors) {
    return write_f32(folder / "x.safetensors", tensors);
  };
  expect_error(write({{"a", {1}}, {"b", {1}}}), ErrorCode::kMismatch,
               "is not a token embedding: none of its 2 tensors");
  expect_error(write({{"string_to_param.a", {1}}, {"string_to_param.b", {1}}}), ErrorCode::kMismatch,
               "holds 2 embeddings (string_to_param.a, string_to_param.b)");
  expect_error(write({{"emb_params", {1}, {1, 1, 1}}}), ErrorCode::kMismatch, "expected [n, width]");
  expect_error(write({{"emb_params", {1}, {}}}), ErrorCode::kMismatch, "expected [n, width]");
  expect_error(write({{"emb_params", {}, {0, 768}}}), ErrorCode::kMismatch, "holds nothing");
  expect_error(write({{"emb_params", {1, nan}, {1, 2}}}), ErrorCode::kBadFile, "emb_params");
  expect_error(folder.write("y.pt", "no tensors"), ErrorCode::kBadFile, "y.pt");
}

TEST(Embedding, FilesOfAFolderAtTheTopLevelOnly) {
  const ScratchFolder folder;
  for (const char* name : {"b.pt", "a.SafeTensors", "c.gguf", "d.ckpt", "readme.txt", "none"}) folder.write(name, "");
  std::filesystem::create_directories(folder / "inner.pt");
  folder.write("inner.pt/e.pt", "");
  const auto files = embedding_files(folder.path());
  ASSERT_TRUE(files);
  std::vector<std::string> names;
  for (const auto& file : *files) names.push_back(file.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"a.SafeTensors", "b.pt", "c.gguf", "d.ckpt"}));
  const auto missing = embedding_files(folder / "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace veneer::adapt
