// Adapter tags and the --adapter option: what is read, what is left, what is refused and how that is said.
#include "text/adapter_tags.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace veneer::text {
namespace {

AdapterRequest request(std::string name, double te, double unet, std::optional<int64_t> dyn = {}) {
  AdapterRequest request;
  request.name = std::move(name);
  request.text_encoder_scale = te;
  request.denoiser_scale = unet;
  request.dyn_rank = dyn;
  return request;
}

AdapterRequest with_blocks(AdapterRequest request, double in, double mid, double out,
                           std::optional<std::string> list = {}) {
  request.in_scale = in;
  request.mid_scale = mid;
  request.out_scale = out;
  request.block_weights = std::move(list);
  return request;
}

TEST(AdapterTags, TableOfRequests) {
  const std::pair<const char*, AdapterRequest> cases[] = {
      {"<lora:name>", request("name", 1, 1)},
      {"<lyco:name:0.5>", request("name", 0.5, 0.5)},
      {"<lora:name:0.5:0.8>", request("name", 0.5, 0.8)},
      {"<lora:name:0.5:0.8:4>", request("name", 0.5, 0.8, 4)},
      {"<lora:name:-1.5>", request("name", -1.5, -1.5)},
      {"<lora:name:0>", request("name", 0, 0)},
      {"<lora:name: +.5 >", request("name", 0.5, 0.5)},
      {"<lora:sub/dir/name.v2:1e-1>", request("sub/dir/name.v2", 0.1, 0.1)},
      {"<lora:with blanks>", request("with blanks", 1, 1)},
      {"<lora:/abs/name.safetensors>", request("/abs/name.safetensors", 1, 1)},
      {"<lora:name:te=0.5>", request("name", 0.5, 0.5)},
      {"<lora:name:unet=0.5>", request("name", 1, 0.5)},
      {"<lora:name:unet=0.8:te=0.5>", request("name", 0.5, 0.8)},
      {"<lora:name:0.3:te=0.5>", request("name", 0.5, 0.5)},
      {"<lora:name:te=0.5:0.3:0.4>", request("name", 0.5, 0.4)},  // named beats positional in any order
      {"<lora:name:0.3:0.4:unet=0.7>", request("name", 0.3, 0.7)},
      {"<lora:name:dyn=8>", request("name", 1, 1, 8)},
      {"<lora:te=0.5:name>", request("name", 0.5, 0.5)},
      {"<lora:name:0.5:in=2:mid=-1:out=0>", with_blocks(request("name", 0.5, 0.5), 2, -1, 0)},
      {"<lora:name:lbw=OUTALL>", with_blocks(request("name", 1, 1), 1, 1, 1, "OUTALL")},
      {"<lora:name:lbw=1,0,0.5:0.8:mid=0>", with_blocks(request("name", 0.8, 0.8), 1, 0, 1, "1,0,0.5")},
      {"<lora:name:lbw=anything>", with_blocks(request("name", 1, 1), 1, 1, 1, "anything")},  // judged elsewhere
      {"<lora:name:lbw=>", with_blocks(request("name", 1, 1), 1, 1, 1, "")},
  };
  for (const auto& [tag, expected] : cases) {
    const auto result = take_adapter_tags(concat("a ", tag, " b"));
    ASSERT_TRUE(result) << tag << ": " << result.error().message;
    EXPECT_EQ(result->adapters, std::vector{expected}) << tag;
    EXPECT_EQ(result->text, "a  b");  // blanks stay
    EXPECT_TRUE(result->warnings.empty());
  }
}

TEST(AdapterTags, TextAroundTagsStays) {
  const std::pair<const char*, const char*> cases[] = {
      {"no tag", "no tag"},
      {"", ""},
      {"<lora:a><lora:b>", ""},
      {"x<lora:a>, (y<lora:b:2>:1.2)", "x, (y:1.2)"},
      {"a < b: c > d", "a < b: c > d"},
      {"<3 <lora> <:x> <lora:open", "<3 <lora> <:x> <lora:open"},
      {"<<lora:a>>", "<>"},
      {"<lo<lora:a>ra:b>", "<lora:b>"},  // read once, from left to right
      {"<|endoftext|> \u65E5<lora:\u672C>", "<|endoftext|> \u65E5"},
  };
  for (const auto& [prompt, text] : cases) {
    const auto result = take_adapter_tags(prompt);
    ASSERT_TRUE(result) << prompt;
    EXPECT_EQ(result->text, text);
  }
  EXPECT_EQ(take_adapter_tags("<lora:a:1>x<lora:b:2>")->adapters,
            (std::vector{request("a", 1, 1), request("b", 2, 2)}));
}

TEST(AdapterTags, OtherWordsAreRemovedWithAWarning) {
  const auto result = take_adapter_tags("a <hypernet:foo:1> b <LORA:x> <lora:y>");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "a  b  ");
  EXPECT_EQ(result->adapters, std::vector{request("y", 1, 1)});
  EXPECT_EQ(result->warnings, (std::vector<std::string>{
                                  "prompt: <hypernet:foo:1> was removed without effect: hypernet is not lora or lyco",
                                  "prompt: <LORA:x> was removed without effect: LORA is not lora or lyco"}));
}

TEST(AdapterTags, NegativePromptsLoseThemWithAWarning) {
  const auto result = drop_adapter_tags("bad <lora:x:abc>, <hypernet:y> worse");
  EXPECT_EQ(result.text, "bad ,  worse");
  EXPECT_TRUE(result.adapters.empty());
  EXPECT_EQ(result.warnings, (std::vector<std::string>{
                                 "negative prompt: <lora:x:abc> was removed without effect: adapters are read from "
                                 "the positive prompt only",
                                 "negative prompt: <hypernet:y> was removed without effect: adapters are read "
                                 "from the positive prompt only"}));
  EXPECT_EQ(drop_adapter_tags("plain").text, "plain");
}

TEST(AdapterTags, ErrorsNameTheTagAndTheArgument) {
  using enum ErrorCode;
  const std::tuple<const char*, ErrorCode, const char*> cases[] = {
      {"<lora:>", kUsage, "has no name; write <lora:NAME:0.8> or FILE:0.8"},
      {"<lora::0.5>", kUsage, "has no name; write <lora:NAME:0.8> or FILE:0.8"},
      {"<lora:te=1>", kUsage, "has no name; write <lora:NAME:0.8> or FILE:0.8"},
      {"<lora:x:>", kUsage, "te must be a number, found \"\""},
      {"<lora:x:abc>", kUsage, "te must be a number, found \"abc\""},
      {"<lora:x:0.5abc>", kUsage, "te must be a number, found \"0.5abc\""},
      {"<lora:x:0,5>", kUsage, "te must be a number, found \"0,5\""},
      {"<lora:x:nan>", kUsage, "te must be a number, found \"nan\""},
      {"<lora:x:inf>", kUsage, "te must be a number, found \"inf\""},
      {"<lora:x:1e999>", kUsage, "te must be a number, found \"1e999\""},
      {"<lora:x:1:y>", kUsage, "unet must be a number, found \"y\""},
      {"<lora:x:unet=>", kUsage, "unet must be a number, found \"\""},
      {"<lora:x:1:1:0>", kUsage, "dyn must be a whole number from 1 up, found \"0\""},
      {"<lora:x:dyn=2.5>", kUsage, "dyn must be a whole number from 1 up, found \"2.5\""},
      {"<lora:x:1:1:1:1>", kUsage, "has an argument too many: \"1\""},
      {"<lora:x:te=1:te=2>", kUsage, "gives te twice"},
      {"<lora:x:foo=1>", kUsage, "has an unknown argument foo=; known are te=, unet=, dyn=, in=, mid=, out= and lbw="},
      {"<lora:x:=1>", kUsage, "has an unknown argument =; known are te=, unet=, dyn=, in=, mid=, out= and lbw="},
      {"<lora:x:in=half>", kUsage, "in must be a number, found \"half\""},
      {"<lora:x:mid=>", kUsage, "mid must be a number, found \"\""},
      {"<lora:x:out=1:out=1>", kUsage, "gives out twice"},
      {"<lora:x:lbw=ALL:lbw=INS>", kUsage, "gives lbw twice"},
      {"<lora:x:out=0@0,1@1>", kUnsupported, "the value by step out=0@0,1@1 is not supported; leave it out"},
      {"<lora:x:module=a>", kUnsupported, "the argument module= is not supported; leave it out"},
      {"<lora:x:start=3>", kUnsupported, "the argument start= is not supported; leave it out"},
      {"<lora:x:step=3-5>", kUnsupported, "the argument step= is not supported; leave it out"},
      {"<lora:x:0@0,1@0.5>", kUnsupported, "the value by step te=0@0,1@0.5 is not supported; leave it out"},
      {"<lora:x:unet=0@0,1@9>", kUnsupported, "the value by step unet=0@0,1@9 is not supported; leave it out"},
      {"<lora:|high_noise|x:1>", kUnsupported,
       "the argument |high_noise| (a second expert model) is not supported; leave it out"},
  };
  for (const auto& [tag, code, problem] : cases) {
    const auto result = take_adapter_tags(concat("a <lora:good:1> ", tag, " b"));
    ASSERT_FALSE(result) << tag;
    EXPECT_EQ(result.error().code, code) << tag;
    EXPECT_EQ(result.error().message, concat("adapter ", tag, ": ", problem));
    EXPECT_EQ(result.error().where, tag);
  }
}

TEST(AdapterOption, SplitsAtColonsBehindTheLastSlash) {
  const std::pair<const char*, AdapterRequest> cases[] = {
      {"style.safetensors", request("style.safetensors", 1, 1)},
      {"style.safetensors:0.8", request("style.safetensors", 0.8, 0.8)},
      {"style.safetensors:te=0.5:unet=0.8", request("style.safetensors", 0.5, 0.8)},
      {"/a:b/c:d/style.safetensors:0.5:0.25", request("/a:b/c:d/style.safetensors", 0.5, 0.25)},
      {"./x=1.pt:-1", request("./x=1.pt", -1, -1)},  // the file is no argument and may hold "="
      {"dir/folder/:2", request("dir/folder/", 2, 2)},
  };
  for (const auto& [value, expected] : cases) {
    const auto result = parse_adapter_option(value);
    ASSERT_TRUE(result) << value << ": " << result.error().message;
    EXPECT_EQ(*result, expected) << value;
  }
}

TEST(AdapterOption, ErrorsNameTheValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "adapter : has no name; write <lora:NAME:0.8> or FILE:0.8"},
      {":0.8", "adapter :0.8: has no name; write <lora:NAME:0.8> or FILE:0.8"},
      {"x.pt:", "adapter x.pt:: te must be a number, found \"\""},
      {"x.pt:strong", "adapter x.pt:strong: te must be a number, found \"strong\""},
      {"x.pt:step=1-2", "adapter x.pt:step=1-2: the argument step= is not supported; leave it out"},
  };
  for (const auto& [value, message] : cases) {
    const auto result = parse_adapter_option(value);
    ASSERT_FALSE(result) << value;
    EXPECT_EQ(result.error().message, message);
  }
}

}  // namespace
}  // namespace veneer::text
