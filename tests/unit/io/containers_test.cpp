// Opening of files by content: what is no model is named as what it is, and shards are one store.
#include "io/container.h"

#include <algorithm>

#include "byte_builders.h"
#include "io/foreign.h"
#include "io/shard_index.h"
#include "test_files.h"

namespace veneer::io {
namespace {

Error open_error(const std::filesystem::path& path) {
  const auto store = open_weights(path);
  EXPECT_FALSE(store) << path << " was accepted";
  return store ? Error{} : store.error();
}

// A case that a user met: each of these is refused with the file's name, the fault, and the sizes where there are any.
TEST(Containers, RefusesDamagedFilesByName) {
  const ScratchFolder scratch;
  const auto good = write_f32(scratch / "good.safetensors", {{"a", {1, 2, 3, 4}}});
  const std::string bytes = *read_text_file(good);
  const std::string tensor = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  struct Case {
    const char* what;
    std::string content;
    const char* sentence;
  };
  const Case cases[] = {
      {"cut 8 bytes short", bytes.substr(0, bytes.size() - 8),
       "the data takes 16 bytes, found 8; the file is cut short"},
      {"header length 0", std::string(8, '\0') + bytes.substr(8), "the header's length is 0"},
      {"header larger than the file", std::string("\xE8\x03\0\0\0\0\0\0", 8) + bytes.substr(8),
       "the header takes 1000 bytes, found "},
      {"2 bytes", "ab",
       "the content (2 bytes) is of no known format, expected GGUF or "
       "PyTorch zip or PyTorch pickle or safetensors"},
      {"empty", "", "is empty (0 bytes)"},
      {"pointer file",
       "version https://git-lfs.github.com/spec/v1\noid sha256:"
       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nsize 2132625894\n",
       "is a Git LFS pointer, not the file it stands for"},
      {"HTML page", "\n<!DOCTYPE html>\n<html><head><title>Sign in</title>", "is a web page, not a model"},
      {"HTML page with a mark", "\xEF\xBB\xBF<HTML>\n<body>not found", "is a web page, not a model"},
      {"other text", "Entry not found\n", "is a text, not a model; it begins with \"Entry not found\\n\""},
      {"JSON text", R"({"abc": {"error": 401}})", "is a text, not a model"},
      {"overlap", raw_safetensors("{\"a\":{" + tensor + "},\"b\":{" + tensor + "}}", "12345678"),
       "tensor b: shares bytes"},
      {"size does not fit", raw_safetensors(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", "12345678"),
       "tensor a: F16 [2] takes 4 bytes, found 8"},
      {"unknown type", raw_safetensors(R"({"a":{"dtype":"Q9","shape":[8],"data_offsets":[0,8]}})", "12345678"),
       "tensor a: unknown type Q9"},
      {"a key twice", raw_safetensors("{\"a\":{" + tensor + "},\"a\":{" + tensor + "}}", "12345678"),
       "tensor a: the key occurs twice"},
  };
  for (const Case& c : cases) {
    const Error error = open_error(scratch.write("model.safetensors", c.content));
    EXPECT_EQ(error.code, ErrorCode::kBadFile) << c.what;
    EXPECT_TRUE(contains(error.message, c.sentence)) << c.what << ": " << error.message;
    EXPECT_TRUE(error.message.starts_with((scratch / "model.safetensors: ").string())) << error.message;
  }
}

// The content decides, whatever the file is called.
TEST(Containers, RecogniseEachLayoutByItsContent) {
  const ScratchFolder scratch;
  const std::string numbers = floats({1, 2, 3, 4, 5, 6});
  const std::string object = p_dict({{"a", p_tensor({{2, 3}, {3, 1}})}});
  const std::string legacy = p_dict({{"a", p_tensor({.sizes = {2, 3}, .strides = {3, 1}, .legacy = true})}});
  const std::pair<std::string_view, std::string> files[] = {
      {"GGUF", gguf_file({}, {{"a", {3, 2}}}, numbers)},
      {"PyTorch zip", torch_zip(object, {{"0", numbers}})},
      {"PyTorch pickle", torch_legacy(legacy, {{"0", numbers}})},
      {"safetensors", raw_safetensors(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", numbers)},
  };
  ASSERT_EQ(containers().size(), std::size(files));
  for (const auto& [name, content] : files) {
    const auto first = std::ranges::find_if(
        containers(), [&](const Container* container) { return container->sniff(bytes_of(content)); });
    ASSERT_NE(first, containers().end()) << name;
    EXPECT_EQ((*first)->name, name);
    const auto store = open_weights(scratch.write("model.any", content));
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->find("a")->weight.shape, Shape({2, 3})) << name;
    EXPECT_EQ(store->weight("a")->decode_all(), std::vector<float>({1, 2, 3, 4, 5, 6})) << name;
  }
}

// The lengths of headers whose low bytes look like a pickle's, or like letters, are lengths.
TEST(Containers, TakesNoHeaderForAForeignFile) {
  for (const size_t length : {size_t{0x0280}, size_t{0x0480}, size_t{0x4B50}, size_t{0x4747}}) {
    std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    header.resize(length, ' ');
    const std::string file = raw_safetensors(header, "x");
    EXPECT_FALSE(recognise_foreign(bytes_of(file), "f")) << length;
    const ScratchFolder scratch;
    EXPECT_TRUE(open_weights(scratch.write("x.bin", file))) << length;
  }
}

TEST(Containers, MissingFilesAreNotFound) {
  const ScratchFolder scratch;
  EXPECT_EQ(open_error(scratch / "none.safetensors").code, ErrorCode::kNotFound);
  EXPECT_EQ(open_error(scratch / "none.safetensors.index.json").code, ErrorCode::kNotFound);
  EXPECT_EQ(open_error(scratch.path()).code, ErrorCode::kIo);
}

TEST(Containers, EveryMalformedFileIsRefusedWhenOpened) {
  for (const auto& file : std::filesystem::directory_iterator(data_path("bad/safetensors"))) {
    const std::string name = base_name(file.path());
    const bool good = name.starts_with("ok_") || name.starts_with("leading_space") || name.starts_with("extra_field");
    EXPECT_EQ(open_weights(file.path()).has_value(), good) << name;
  }
}

TEST(Shards, AreOneStore) {
  const ScratchFolder scratch;
  write_f32(scratch / "m-1.safetensors", {{"a", {1}}, {"c", {3}}}, {{"format", "pt"}});
  write_f32(scratch / "parts/m-2.safetensors", {{"b", {2}}});
  const auto index = scratch.write(
      "m.safetensors.index.JSON",
      R"({"metadata":{"total_size":12},"weight_map":{"a":"m-1.safetensors","b":"parts/m-2.safetensors","c":"m-1.safetensors"}})");
  for (const auto mode : {MappedFile::Mode::kMap, MappedFile::Mode::kRead}) {
    const auto store = open_weights(index, mode);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->entries().size(), 3u);
    EXPECT_EQ(store->weight("b")->decode_all(), std::vector<float>({2}));
    EXPECT_EQ(store->files().size(), 2u);
    EXPECT_EQ(store->source(), (scratch / "m-1.safetensors").string());
    EXPECT_EQ(store->metadata().at("format"), "pt");
  }
}

TEST(Shards, DisagreementWithTheIndexIsNamed) {
  const ScratchFolder scratch;
  write_f32(scratch / "1.safetensors", {{"a", {1}}});
  write_f32(scratch / "2.safetensors", {{"a", {2}}, {"b", {2}}});
  const auto error = [&](std::string_view map) {
    return open_error(scratch.write("x.index.json", concat("{\"weight_map\":", map, "}")));
  };
  const Error missing = error(R"({"a":"1.safetensors","b":"3.safetensors"})");
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_TRUE(contains(missing.message, "x.index.json: the shard 3.safetensors is missing")) << missing.message;
  const Error lacking = error(R"({"a":"1.safetensors","z":"1.safetensors"})");
  EXPECT_EQ(lacking.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(lacking.message, "tensor z is not in 1.safetensors, where the index promises it"))
      << lacking.message;
  const Error twice = error(R"({"a":"1.safetensors","b":"2.safetensors"})");
  EXPECT_EQ(twice.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(twice.message, "tensor a is in two shards, the second is 2.safetensors")) << twice.message;
  const Error itself = error(R"({"a":"x.index.json"})");
  EXPECT_TRUE(contains(itself.message, "is a text, not a model")) << itself.message;
}

TEST(Shards, StayInsideTheFolderOfTheIndex) {
  for (const char* shard :
       {"../x.safetensors", "/etc/passwd", "a/../../x", "..", ".", "", "a/..", "folder/", "x\\u0000y"}) {
    const auto index = parse_shard_index(concat(R"({"weight_map":{"t":")", shard, "\"}}"), "i.json");
    ASSERT_FALSE(index) << shard;
    EXPECT_EQ(index.error().code, ErrorCode::kBadFile);
    EXPECT_TRUE(contains(index.error().message, "i.json: tensor t: the shard \"")) << index.error().message;
    EXPECT_TRUE(contains(index.error().message, "is not inside the folder of the index")) << index.error().message;
  }
  for (const char* shard : {"x.safetensors", "a/x", "./x", "a/../x", "..x"})
    EXPECT_TRUE(parse_shard_index(concat(R"({"weight_map":{"t":")", shard, "\"}}"), "i.json")) << shard;
}

TEST(Shards, OtherJsonIsNoIndex) {
  for (const char* text : {"[]", "{}", "5", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})",
                           R"({"weight_map":{"a":"x","a":"y"}})", "{"}) {
    const auto index = parse_shard_index(text, "i.json");
    ASSERT_FALSE(index) << text;
    EXPECT_EQ(index.error().code, ErrorCode::kBadFile);
    EXPECT_TRUE(index.error().message.starts_with("i.json: ")) << index.error().message;
  }
}

}  // namespace
}  // namespace veneer::io
