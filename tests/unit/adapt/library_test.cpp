// Finding adapter files by what users call them.
#include "adapt/library.h"

#include <gtest/gtest.h>

#include "adapt/adapter.h"
#include "core/format.h"
#include "tests/unit/io/test_files.h"

namespace veneer::adapt {
namespace {

using io::write_f32;

class LibraryTest : public testing::Test {
 protected:
  // Files of different content, with the name that the trainer gave.
  std::filesystem::path add(const std::string& path, const std::string& alias = "", float value = 1) {
    std::map<std::string, std::string> metadata;
    if (!alias.empty()) metadata["ss_output_name"] = alias;
    return write_f32(folder_ / path, {{"lora_unet_a.alpha", {value}, {}}}, metadata);
  }
  Library library(Library::Reach reach = Library::Reach::kAnywhere) const { return {folder_.path(), reach}; }
  void expect_found(std::string_view name, const std::filesystem::path& path) const {
    for (const auto reach : {Library::Reach::kAnywhere, Library::Reach::kInsideDirectory}) {
      const auto found = library(reach).find(name);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(*found, path) << name;
    }
  }
  void expect_error(std::string_view name, ErrorCode code, std::string_view words,
                    Library::Reach reach = Library::Reach::kAnywhere) const {
    const auto found = library(reach).find(name);
    ASSERT_FALSE(found) << name << " " << *found;
    EXPECT_EQ(found.error().code, code) << found.error().message;
    EXPECT_TRUE(contains(found.error().message, words)) << found.error().message;
  }
  io::ScratchFolder folder_;
};

TEST_F(LibraryTest, PathsAndExtensions) {
  const auto fox = add("fox.safetensors");
  const auto inner = add("animals/red.fox.safetensors");
  expect_found("fox.safetensors", fox);
  expect_found("fox", fox);
  expect_found("animals/red.fox", inner);
  expect_found("animals/red.fox.safetensors", inner);
  expect_found("red.fox", inner);  // a dot is part of the name
  // The users' order of extensions.
  const auto gguf = folder_.write("fox.gguf", "x");
  expect_found("fox", gguf);
  folder_.write("fox.pt", "x");
  expect_found("fox", gguf);
  expect_found("fox.pt", folder_ / "fox.pt");
  // A name with another file's extension behind it.
  expect_found("fox.safetensors", fox);
}

TEST_F(LibraryTest, StemsAnywhereBelowIfUnique) {
  const auto deep = add("a/b/deep.safetensors");
  expect_found("deep", deep);
  EXPECT_EQ(Library(folder_ / "", Library::Reach::kAnywhere).find("deep").value(), deep);  // "loras/"
  folder_.write("a/deep.txt", "not an adapter");
  folder_.write("a/c/deep.safetensors.part", "nor this");
  expect_found("deep", deep);
  add("c/deep.safetensors");
  expect_error("deep", ErrorCode::kUsage, "a/b/deep.safetensors, c/deep.safetensors");
  expect_found("c/deep", folder_ / "c/deep.safetensors");
}

TEST_F(LibraryTest, AliasesComeAfterFileNames) {
  const auto aliased = add("downloaded-123.safetensors", "Night Fox");
  expect_found("Night Fox", aliased);
  const auto named = add("x/Night Fox.safetensors");
  expect_found("Night Fox", named);
  add("one.safetensors", "same");
  add("two.safetensors", "same");
  expect_error("same", ErrorCode::kUsage, "one.safetensors, two.safetensors");
}

TEST_F(LibraryTest, CaseIsIgnoredLast) {
  const auto upper = add("a/Fox.safetensors");
  expect_found("fOX", upper);
  expect_found("A/fox", upper);
  const auto lower = add("b/fox.safetensors");
  expect_found("fox", lower);
  expect_found("Fox", upper);
  expect_error("FOX", ErrorCode::kUsage, "a/Fox.safetensors, b/fox.safetensors");
  expect_found("B/FOX", lower);
}

TEST_F(LibraryTest, Hashes) {
  const auto one = add("one.safetensors", "", 1);
  const auto two = add("two.safetensors", "", 2);
  const auto adapter = open_adapter(two);
  ASSERT_TRUE(adapter);
  expect_found((*adapter)->auto_v2(), two);
  expect_found((*adapter)->sha256, two);
  expect_found((*adapter)->auto_v3.substr(0, 12), two);
  std::string upper = (*adapter)->sha256.substr(0, 8);
  std::ranges::transform(upper, upper.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  expect_found(upper, two);
  expect_error((*adapter)->sha256.substr(0, 7), ErrorCode::kNotFound, "no file of this name");
}

TEST_F(LibraryTest, PathsOutside) {
  const io::ScratchFolder elsewhere;
  const auto outside = write_f32(elsewhere / "other.safetensors", {{"lora_unet_a.alpha", {1}, {}}});
  const auto found = library().find(outside.string());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, outside);
  const auto inside = add("sub/fox.safetensors");
  for (const std::string& name : {outside.string(), inside.string(), std::string("../x/other"), std::string(".."),
                                  std::string("sub/../../other"), std::string("/etc/passwd")})
    expect_error(name, ErrorCode::kUsage, "leads out of the adapter directory", Library::Reach::kInsideDirectory);
  // Dots that are part of a name lead nowhere.
  expect_error("..fox", ErrorCode::kNotFound, "nearest: sub/fox", Library::Reach::kInsideDirectory);
}

TEST_F(LibraryTest, FromWhereTheProgramRuns) {
  const auto before = std::filesystem::current_path();
  const io::ScratchFolder elsewhere;
  write_f32(elsewhere / "here.safetensors", {{"lora_unet_a.alpha", {1}, {}}});
  std::filesystem::current_path(elsewhere.path());
  EXPECT_TRUE(library().find("here.safetensors"));
  EXPECT_TRUE(Library({}, Library::Reach::kAnywhere).find("here"));
  EXPECT_FALSE(library(Library::Reach::kInsideDirectory).find("here"));
  const auto in_directory = add("here.safetensors");
  EXPECT_EQ(*library().find("here.safetensors"), in_directory);  // the directory first
  std::filesystem::current_path(before);
}

TEST_F(LibraryTest, Errors) {
  add("winter.safetensors");
  add("animals/red-fox.safetensors");
  expect_error("red-fix", ErrorCode::kNotFound, "can not find lora red-fix: no file of this name in ");
  expect_error("wintr", ErrorCode::kNotFound, "; nearest: winter");
  expect_error("", ErrorCode::kUsage, "no file can have this name");
  expect_error(std::string_view("win\0ter", 7), ErrorCode::kUsage, "no file can have this name");
  expect_error("animals", ErrorCode::kNotFound, "animals");  // a folder
  // A stranger does not learn where the directory is.
  const auto refused = library(Library::Reach::kInsideDirectory).find("nothing");
  ASSERT_FALSE(refused);
  EXPECT_FALSE(contains(refused.error().message, folder_.path().string())) << refused.error().message;
  const auto nowhere = Library({}, Library::Reach::kAnywhere).find("no-such-adapter");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(Library(folder_ / "missing", Library::Reach::kAnywhere).find("no-such-adapter"));
}

TEST_F(LibraryTest, FilesAreListedInOrder) {
  const auto b = add("b.safetensors");
  const auto a = add("z/a.safetensors");
  folder_.write("notes.txt", "x");
  folder_.write("c.CKPT", "x");
  EXPECT_EQ(library().files(), (std::vector<std::filesystem::path>{b, folder_ / "c.CKPT", a}));
  EXPECT_TRUE(Library(folder_ / "missing", Library::Reach::kAnywhere).files().empty());
}

}  // namespace
}  // namespace veneer::adapt
