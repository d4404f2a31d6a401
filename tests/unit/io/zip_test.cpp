// The zip directory reader: both sizes of archive, and archives that lie.
#include "io/zip.h"

#include <gtest/gtest.h>

#include "byte_builders.h"
#include "core/format.h"

namespace veneer::io {
namespace {

// The sentence that an archive is refused with, after its name; "accepted" when it is not.
std::string refusal(std::string_view file, ErrorCode code = ErrorCode::kBadFile) {
  const auto entries = read_zip(bytes_of(file), "x.zip");
  if (entries) return "accepted";
  EXPECT_EQ(entries.error().code, code) << entries.error().message;
  EXPECT_TRUE(entries.error().message.starts_with("x.zip: ")) << entries.error().message;
  return entries.error().message.substr(7);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Zip, EntriesAreRunsOfTheFile) {
  for (const bool zip64 : {false, true}) {
    const std::string file = zip_file({{"m/a", "first"}, {"m/b", ""}, {"m/c", "third one"}}, {.zip64 = zip64});
    EXPECT_TRUE(is_zip(bytes_of(file)));
    const auto entries = read_zip(bytes_of(file), "x.zip");
    ASSERT_TRUE(entries) << entries.error().message;
    ASSERT_EQ(entries->size(), 3u);
    EXPECT_EQ(text_of(entries->at("m/a")), "first");
    EXPECT_EQ(text_of(entries->at("m/b")), "");
    EXPECT_EQ(text_of(entries->at("m/c")), "third one");
    const auto* begin = reinterpret_cast<const char*>(entries->at("m/c").data());
    EXPECT_EQ(begin - file.data(), static_cast<std::ptrdiff_t>(file.find("third one")));
  }
}

TEST(Zip, ACommentMayHoldTheEndSign) {
  EXPECT_EQ(refusal(zip_file({{"a", "x"}}, {.comment = std::string("PK\5\6") + std::string(18, '\1')})), "accepted");
}

// A compressed entry may unfold to any size; none is unfolded.
TEST(Zip, RefusesCompressedAndEncryptedEntriesByName) {
  EXPECT_EQ(refusal(zip_file({{"a", "x"}, {.name = "bomb", .content = "x", .method = 8}}), ErrorCode::kUnsupported),
            "the entry bomb is compressed (method 8), expected it stored; unpack the archive or save the model again");
  EXPECT_EQ(refusal(zip_file({{.name = "a", .content = "x", .flags = 1}}), ErrorCode::kUnsupported),
            "the entry a is encrypted; unpack the archive first");
}

TEST(Zip, RefusesSizesAndPlacesThatLie) {
  const std::string long_tail(1000, 't');
  EXPECT_TRUE(contains(refusal(zip_file({{.name = "a", .content = "x", .told_bytes = 4000}, {"b", long_tail}})),
                       "the zip archive points to 4000 bytes at byte 31, found "));
  EXPECT_EQ(refusal(zip_file({{.name = "a", .content = "x", .told_bytes = 40}, {"b", long_tail}})),
            "the entries a and b share bytes; the file is damaged");
  EXPECT_TRUE(
      contains(refusal(zip_file({{.name = "a", .content = "x", .told_bytes = ~uint64_t{0} - 5}}, {.zip64 = true})),
               "the zip archive points to 18446744073709551610 bytes"));
  EXPECT_EQ(refusal(zip_file({{"a", "x"}}, {.told_entries = 65535})),
            "the zip archive promises 65535 entries, found 1; the file is damaged");
  EXPECT_EQ(refusal(zip_file({{"a", "x"}, {"a", "y"}})), "the entry a occurs twice; the file is damaged");
  EXPECT_EQ(refusal(zip_file({{.name = "a", .content = "x", .local_name = "b"}})),
            "the entry a is called b where it lies; the file is damaged");
  std::string moved = zip_file({{"a", "x"}});
  moved[0] = 'Q';  // the local header's sign
  EXPECT_EQ(refusal(moved), "the entry a is not where the directory says; the file is damaged");
}

// Cutting an archive anywhere is an error, and no changed byte may lead outside of it.
TEST(Zip, RefusesEveryPrefixAndSurvivesEveryChangedByte) {
  for (const bool zip64 : {false, true}) {
    const std::string good = zip_file({{"m/a", "first"}, {"m/b", "second"}}, {.zip64 = zip64});
    ASSERT_EQ(refusal(good), "accepted");
    for (size_t length = 0; length < good.size(); ++length)
      EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
    for (size_t i = 0; i < good.size(); ++i) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 0xFF);
      const auto entries = read_zip(bytes_of(changed), "x.zip");
      if (!entries) continue;
      for (const auto& [name, bytes] : *entries) {
        EXPECT_GE(text_of(bytes).data(), changed.data());
        EXPECT_LE(text_of(bytes).data() + bytes.size(), changed.data() + changed.size());
      }
    }
  }
}

}  // namespace
}  // namespace veneer::io
