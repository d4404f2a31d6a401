// JSON reading: what is refused, and that the message names the place.
#include "core/json.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer {
namespace {

TEST(Json, KeepsTheOrderOfKeys) {
  const auto json = parse_json(R"({"b": 1, "a": [2, {"c": null}]})", "x.json");
  ASSERT_TRUE(json);
  EXPECT_EQ(json->dump(), R"({"b":1,"a":[2,{"c":null}]})");
}

TEST(Json, RefusesDuplicateKeysWithTheirName) {
  const auto json = parse_json(R"({"outer": {"k": 1, "k": 2}})", "x.json");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(json.error().message, "x.json: the key \"k\" occurs twice in one object");
  EXPECT_TRUE(parse_json(R"({"a": {"k": 1}, "b": {"k": 2}})", "x.json"));
}

TEST(Json, RefusesBadTextBadUtf8AndEndlessNesting) {
  for (const std::string& text : {std::string("{"), std::string(""), std::string("{} x"), std::string("\"\xC3\""),
                                  std::string(5000, '['), std::string("{}\0{", 4)}) {
    const auto json = parse_json(text, "x.json");
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().message.rfind("x.json: ", 0), 0u) << json.error().message;
  }
}

TEST(Json, RefusesObjectsThatWouldTakeTimeSquared) {
  std::string many = "{";
  for (int i = 0; i <= 16384; ++i) many += concat(i ? "," : "", "\"", i, "\":0");
  const auto json = parse_json(many + "}", "x.json");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().message, "x.json: has an object of more than 16384 members");
}

TEST(Json, TypedMembers) {
  const Json object =
      *parse_json(R"({"n": 3, "x": 1.5, "s": "t", "b": true, "big": 18446744073709551615, "null": null})", "x");
  EXPECT_EQ(*json_integer(object, "n", 7, "x"), 3);
  EXPECT_EQ(*json_integer(object, "absent", 7, "x"), 7);
  EXPECT_EQ(*json_integer(object, "null", 7, "x"), 7);
  EXPECT_EQ(*json_number(object, "x", 0, "x"), 1.5);
  EXPECT_EQ(*json_string(object, "s", "", "x"), "t");
  EXPECT_EQ(*json_bool(object, "b", false, "x"), true);
  EXPECT_EQ(json_integer(object, "x", 0, "f.json").error().message, "f.json: \"x\" must be an integer, found 1.5");
  EXPECT_FALSE(json_integer(object, "big", 0, "x"));
  EXPECT_FALSE(json_bool(object, "n", false, "x"));
}

}  // namespace
}  // namespace veneer
