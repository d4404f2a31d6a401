// Reading plain and compressed files, and refusing damaged ones.
#include "text/gzip.h"

#include <gtest/gtest.h>

#include "text_fixture.h"

namespace veneer::text {
namespace {

// printf 'hello\nhello\n' | gzip -n
constexpr unsigned char kHello[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd, 0xc9,
                                    0xc9, 0xe7, 0xca, 0x00, 0x93, 0x00, 0x77, 0x0c, 0xc7, 0x2f, 0x0c, 0x00, 0x00, 0x00};
// 5000 times "x"
constexpr unsigned char kBomb[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01,
                                   0x00, 0x00, 0x00, 0xc2, 0xa0, 0xda, 0x8b, 0x6f, 0x0a, 0x3f, 0xa0, 0x00, 0x00, 0x00,
                                   0x00, 0x80, 0xb7, 0x01, 0x26, 0xf0, 0xdb, 0x00, 0x88, 0x13, 0x00, 0x00};

template <size_t size>
std::string text_of(const unsigned char (&bytes)[size]) {
  return std::string(reinterpret_cast<const char*>(bytes), size);
}
std::string hello() { return text_of(kHello); }

TEST(Gzip, ReadsBothForms) {
  const TestFolder folder;
  EXPECT_EQ(*read_plain_or_gzip(folder.write("a.txt", "plain"), 100), "plain");
  EXPECT_EQ(*read_plain_or_gzip(folder.write("a.gz", hello()), 100), "hello\nhello\n");
}

TEST(Gzip, RefusesDamagedCutAndMissingFiles) {
  const TestFolder folder;
  const auto code = [&](std::string text) {
    const auto result = read_plain_or_gzip(folder.write("a.gz", text), 100);
    return result ? ErrorCode::kBug : result.error().code;
  };
  for (size_t length = 2; length < hello().size(); ++length)
    EXPECT_EQ(code(hello().substr(0, length)), ErrorCode::kBadFile) << length;
  for (const size_t place : {size_t{10}, size_t{12}, size_t{20}, size_t{24}}) {  // data, data, checksum, length
    std::string text = hello();
    text[place] = static_cast<char>(text[place] ^ 0x10);
    EXPECT_EQ(code(text), ErrorCode::kBadFile) << place;
  }
  EXPECT_EQ(read_plain_or_gzip(folder.path() / "none", 100).error().code, ErrorCode::kNotFound);
}

TEST(Gzip, StopsAtTheLimit) {
  const TestFolder folder;
  EXPECT_EQ(read_plain_or_gzip(folder.write("c.txt", std::string(101, 'x')), 100).error().code, ErrorCode::kBadFile);
  const auto bomb = folder.write("b.gz", text_of(kBomb));
  EXPECT_EQ(read_plain_or_gzip(bomb, 5000)->size(), 5000u);
  const auto stopped = read_plain_or_gzip(bomb, 4999);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, bomb.string() + ": unpacks to more than 4999 bytes");
}

}  // namespace
}  // namespace veneer::text
