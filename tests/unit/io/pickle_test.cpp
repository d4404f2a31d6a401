// PyTorch checkpoints through the restricted reader: what they may hold, and everything that hostile ones try.
#include <gtest/gtest.h>

#include "byte_builders.h"
#include "io/container.h"
#include "io/torch_checkpoint.h"
#include "test_files.h"

namespace veneer::io {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

const std::string kSix = floats({1, 2, 3, 4, 5, 6});
const PickledTensor kMatrix = {.sizes = {2, 3}, .strides = {3, 1}};

Result<TorchTensors> parse(const std::string& object, const Records& records = {{"0", kSix}}) {
  const std::string file = torch_zip(object, records);
  auto parsed = parse_torch_zip(bytes_of(file), "x.pt");
  // The tensors' bytes go with the file.
  if (parsed)
    for (TorchTensor& tensor : parsed->tensors) tensor.bytes = {};
  return parsed;
}

// The sentence that an object is refused with, after the file's name; "accepted" when it is not.
std::string refusal(const std::string& object, ErrorCode code = ErrorCode::kBadFile,
                    const Records& records = {{"0", kSix}}) {
  const auto parsed = parse(object, records);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, code) << parsed.error().message;
  EXPECT_TRUE(parsed.error().message.starts_with("x.pt: ")) << parsed.error().message;
  return parsed.error().message.substr(6);
}

std::vector<std::string> names_of(const std::string& object) {
  const auto parsed = parse(object);
  EXPECT_TRUE(parsed) << parsed.error().message;
  std::vector<std::string> names;
  if (parsed)
    for (const TorchTensor& tensor : parsed->tensors) names.push_back(tensor.name);
  return names;
}

TEST(Pickle, MakesAStoreThatPointsIntoTheFile) {
  const ScratchFolder scratch;
  const PickledTensor row = {.sizes = {3}, .strides = {1}, .offset = 3};
  const auto path =
      scratch.write("model.ckpt", torch_zip(p_dict({{"w", p_tensor(kMatrix)}, {"row", p_tensor(row)}}), {{"0", kSix}}));
  for (const auto mode : {MappedFile::Mode::kMap, MappedFile::Mode::kRead}) {
    const auto store = open_weights(path, mode);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->weight("w")->decode_all(), std::vector<float>({1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(store->weight("row")->decode_all(), std::vector<float>({4, 5, 6}));
    EXPECT_EQ(store->find("w")->weight.shape, Shape({2, 3}));
    EXPECT_EQ(store->find("w")->type_name, "F32");
    const auto file = store->files().at(0)->bytes();
    EXPECT_GE(store->find("w")->weight.bytes.data(), file.data());
    EXPECT_LE(store->find("w")->weight.bytes.data() + 24, file.data() + file.size());
  }
}

TEST(Pickle, ReadsTheLegacyLayout) {
  const PickledTensor first = {.sizes = {2, 3}, .strides = {3, 1}, .key = "94", .legacy = true};
  const PickledTensor second = {.sizes = {2}, .strides = {1}, .key = "7", .storage_values = 2, .legacy = true};
  const std::string object = p_dict({{"a", p_tensor(first)}, {"b", p_tensor(second)}});
  const std::string file = torch_legacy(object, {{"7", floats({8, 9})}, {"94", kSix}});
  const auto parsed = parse_torch_legacy(bytes_of(file), "x.ckpt");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(parsed->tensors[0].bytes, bytes_of(kSix)));
  EXPECT_TRUE(std::ranges::equal(parsed->tensors[1].bytes, bytes_of(floats({8, 9}))));

  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(parse_torch_legacy(bytes_of(file.substr(0, length)), "x.ckpt")) << length;
  const auto message = [](const std::string& content) {
    const auto result = parse_torch_legacy(bytes_of(content), "x.ckpt");
    return result ? "accepted" : result.error().message;
  };
  EXPECT_TRUE(contains(message(torch_legacy(object, {{"7", floats({8, 9})}})), "the storage 94 is missing"));
  EXPECT_TRUE(contains(message(torch_legacy(object, {{"7", ""}, {"94", kSix}})),
                       "the storage 7 should hold 2 values of 4 bytes, found 0 bytes"));
  EXPECT_TRUE(contains(message(torch_legacy(object, {{"1", ""}})), "the storage 1 belongs to no tensor"));
  EXPECT_EQ(message(pickle(p_dict({}))),
            "x.ckpt: is a Python pickle, but no PyTorch checkpoint; get the model as safetensors");
}

TEST(Pickle, NamesTensorsByTheirKeys) {
  const std::string tensor = p_tensor(kMatrix);
  EXPECT_EQ(names_of(p_dict({{"a.weight", tensor}, {"b", p_dict({{"c", tensor}})}})),
            (std::vector<std::string>{"a.weight", "b.c"}));
  EXPECT_EQ(names_of("](" + tensor + tensor + "e"), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(names_of("}(" + p_integer(7) + tensor + "u"), std::vector<std::string>{"7"});
  // An embedding of the well-known web UI.
  EXPECT_EQ(names_of(p_dict(
                {{"string_to_token", p_dict({{"*", p_integer(265)}})}, {"string_to_param", p_dict({{"*", tensor}})}})),
            std::vector<std::string>{"string_to_param.*"});
  // A training checkpoint: the model alone.
  EXPECT_EQ(names_of(p_dict({{"epoch", p_integer(3)},
                             {"state_dict", p_dict({{"w", tensor}})},
                             {"optimizer_states", "](" + tensor + "e"}})),
            std::vector<std::string>{"w"});
}

TEST(Pickle, KeepsTextsAndIntegersOfTheTopAsMetadata) {
  const auto parsed = parse(p_dict({{"name", p_text("krk")},
                                    {"step", p_integer(500)},
                                    {"big", std::string("\x8A\x08") + little(int64_t{-5000000000})},
                                    {"none", "N"},
                                    {"w", p_tensor(kMatrix)}}));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->metadata,
            (std::map<std::string, std::string>{{"name", "krk"}, {"step", "500"}, {"big", "-5000000000"}}));
}

TEST(Pickle, BuildsWhatPyTorchWrites) {
  const std::string tensor = p_tensor(kMatrix), ordered = p_class("collections", "OrderedDict");
  // A state dict: an OrderedDict with an attribute.
  EXPECT_EQ(names_of(ordered + ")R(" + p_text("w") + tensor + "u}" + p_text("_metadata") + ordered + ")Rsb"),
            std::vector<std::string>{"w"});
  // The same from a list of pairs.
  EXPECT_EQ(names_of(p_call(ordered, {"](" + p_tuple({p_text("w"), tensor}) + "e"})), std::vector<std::string>{"w"});
  EXPECT_EQ(names_of(p_dict({{"w", p_call(p_class("torch._utils", "_rebuild_parameter"), {tensor, "\x89", "N"})}})),
            std::vector<std::string>{"w"});
  // A ParameterDict keeps its items in an attribute.
  EXPECT_EQ(names_of(p_class("torch.nn.modules.container", "ParameterDict") + ")\x81" +
                     p_dict({{"training", "\x88"}, {"_parameters", p_dict({{"*", tensor}})}}) + "b"),
            std::vector<std::string>{"*"});
  // What Lightning and numpy leave in training checkpoints.
  const std::string scalar = p_call(p_class("numpy.core.multiarray", "scalar"),
                                    {p_call(p_class("numpy", "dtype"), {p_text("f8")}), p_text("12345678")});
  EXPECT_EQ(
      names_of(p_dict({{"callbacks", "}" + p_class("pytorch_lightning.callbacks.model_checkpoint", "ModelCheckpoint") +
                                         scalar + "s"},
                       {"state_dict", p_dict({{"w", tensor}})}})),
      std::vector<std::string>{"w"});
  // Protocol 4: frames, short texts, names from the stack, implicit memo.
  const std::string four = std::string("\x80\x04\x95") + little(uint64_t{9}) + "}\x94\x8C\x01w\x94" + tensor + "s.";
  const std::string file = zip_file({{"m/data.pkl", four}, {"m/data/0", kSix}});
  EXPECT_TRUE(parse_torch_zip(bytes_of(file), "x.pt"));
  EXPECT_EQ(names_of(p_text("collections") + p_text("OrderedDict") + "\x93)R"), std::vector<std::string>{});
}

TEST(Pickle, SizesStoragesByTheirType) {
  struct Case {
    const char* storage;
    const char* type;
    size_t bytes;
  };
  for (const Case& c :
       {Case{"HalfStorage", "F16", 12}, Case{"BFloat16Storage", "BF16", 12}, Case{"DoubleStorage", "F64", 48},
        Case{"LongStorage", "I64", 48}, Case{"ByteStorage", "U8", 6}}) {
    PickledTensor tensor = kMatrix;
    tensor.storage = c.storage;
    const auto parsed = parse(p_dict({{"w", p_tensor(tensor)}}), {{"0", std::string(c.bytes, '\0')}});
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->tensors[0].type->name, c.type);
    EXPECT_TRUE(contains(
        refusal(p_dict({{"w", p_tensor(tensor)}}), ErrorCode::kBadFile, {{"0", std::string(c.bytes - 1, '\0')}}),
        concat("the storage 0 should hold 6 values of ", c.bytes / 6, " bytes, found ", c.bytes - 1)))
        << c.storage;
  }
}

// No name outside the list is accepted, called or not, by either way of naming.
TEST(Pickle, RefusesClassesByName) {
  const std::string sentence = " is not allowed: a file of weights has no need of it, and it is not run";
  const std::pair<const char*, const char*> hostile[] = {
      {"os", "system"},
      {"posix", "system"},
      {"builtins", "eval"},
      {"__builtin__", "getattr"},
      {"subprocess", "Popen"},
      {"torch", "load"},
      {"torch", "UntypedStorage"},
      {"torch.storage", "FloatStorage"},
      {"torch._utils", "_rebuild_tensor_v2.__globals__"},
      {"collections", "OrderedDict\r"},
  };
  for (const auto& [module, name] : hostile) {
    const std::string by_line = p_class(module, name), by_stack = p_text(module) + p_text(name) + "\x93";
    for (const std::string& callee : {by_line, by_stack}) {
      const std::string called = refusal(p_call(callee, {p_text("touch /x")}), ErrorCode::kUnsupported);
      EXPECT_TRUE(contains(called, sentence)) << called;
      EXPECT_TRUE(contains(called, concat("data.pkl: at byte "))) << called;
      EXPECT_TRUE(contains(called, concat("the class ", module, "."))) << called;
      EXPECT_TRUE(contains(refusal(callee, ErrorCode::kUnsupported), sentence));
    }
  }
  EXPECT_TRUE(contains(refusal(p_call(p_class("os", "system"), {p_text("x")}), ErrorCode::kUnsupported),
                       "the class os.system is not allowed"));
}

TEST(Pickle, RefusesOpcodesByNumber) {
  EXPECT_EQ(refusal("}\x8F", ErrorCode::kUnsupported),
            "data.pkl: at byte 3: the pickle opcode 0x8f is not allowed: only what builds tensors is; convert the "
            "file to safetensors");
  for (const char opcode : {'i', 'o', 'P', '\x82', '\x92', '\x97', '0', '2', 'S', '\0'})
    EXPECT_TRUE(contains(refusal(std::string(1, opcode), ErrorCode::kUnsupported), "is not allowed")) << int{opcode};
  EXPECT_TRUE(contains(refusal("\x80\x06N", ErrorCode::kUnsupported), "the pickle protocol is 6, expected 2 to 5"));
}

TEST(Pickle, RefusesTensorsThatLeaveTheirStorage) {
  const auto said = [](const PickledTensor& tensor, ErrorCode code = ErrorCode::kBadFile) {
    return refusal(p_dict({{"w", p_tensor(tensor)}}), code);
  };
  EXPECT_EQ(said(kMatrix), "accepted");
  EXPECT_EQ(said({.sizes = {}, .strides = {}, .offset = 5}), "accepted");
  EXPECT_EQ(said({.sizes = {0, 3}, .strides = {3, 1}, .offset = 6}), "accepted");
  EXPECT_EQ(said({.sizes = {1, 6}, .strides = {99, 1}}), "accepted");
  EXPECT_EQ(said({.sizes = {2, 3}, .strides = {3, 1}, .offset = 1}),
            "tensor w: takes 6 values from value 1 of the storage 0, which holds 6; the file is damaged");
  EXPECT_TRUE(contains(said({.sizes = {1}, .strides = {1}, .offset = -1}), "takes 1 values from value -1"));
  EXPECT_TRUE(contains(said({.sizes = {1}, .strides = {1}, .storage_values = -1}), "which holds -1"));
  EXPECT_EQ(said({.sizes = {7}, .strides = {1}, .storage_values = 7}),
            "tensor w: the storage 0 should hold 7 values of 4 bytes, found 24 bytes; the file is damaged");
  EXPECT_EQ(said({.sizes = {1}, .strides = {1}, .key = "../0"}),
            "the record data/../0 is missing; the file is damaged");
  EXPECT_TRUE(contains(said({.sizes = {-2, -3}, .strides = {3, 1}}), "the shape [-2, -3] is beyond counting"));
  const int32_t most = 2147483647;
  EXPECT_TRUE(contains(said({.sizes = {most, most, most}, .strides = {0, 0, 0}}), "is beyond counting"));
  EXPECT_TRUE(contains(said({.sizes = {2}, .strides = {}}), "has 1 sizes and 0 strides"));
  EXPECT_TRUE(contains(
      said({.sizes = std::vector<int32_t>(7, 1), .strides = std::vector<int32_t>(7, 1)}, ErrorCode::kUnsupported),
      "has more than 6 dimensions"));
}

TEST(Pickle, RefusesOtherOrdersThanRowMajorByName) {
  for (const std::vector<int32_t>& strides : {std::vector<int32_t>{1, 2}, {-3, -1}, {0, 0}, {3, 0}}) {
    const std::string said =
        refusal(p_dict({{"w", p_tensor({.sizes = {2, 3}, .strides = strides})}}), ErrorCode::kUnsupported);
    EXPECT_TRUE(contains(said, "tensor w: its values lie with the strides [")) << said;
    EXPECT_TRUE(contains(said, "expected row-major order; save it again with .contiguous()")) << said;
  }
}

TEST(Pickle, RefusesMalformedPickles) {
  const std::pair<std::string, const char*> cases[] = {
      {"a", "takes a value from an empty stack"},
      {"(t(a", "takes a value from an empty stack"},
      {"t", "goes back to a mark that it never made"},
      {"h\x05", "asks for a value that it never kept (5)"},
      {"N)a", "adds items to what is no container"},
      {"}(Nu", "adds a key without a value"},
      {"NNR", "needs arguments here"},
      {"N)R", "needs a class here"},
      {"NQ", "needs the description of a storage here"},
      {")Q", "describes a storage in another way than expected"},
      {p_class("torch", "FloatStorage") + ")R", "calls torch.FloatStorage with other arguments"},
      {p_class("torch", "Size") + ")R", "calls torch.Size with other arguments"},
      {p_class("torch", "Size") + ")\x81", "makes an object of torch.Size"},
      {p_class("torch._utils", "_rebuild_tensor_v2") + ")R", "describes a tensor with other arguments"},
      {p_call(p_class("torch._utils", "_rebuild_tensor_v2"), {"N", "N", "N", "N"}), "describes a tensor with other"},
      {p_call(p_class("collections", "OrderedDict"), {"](Ne"}), "makes a dictionary of what is no list of pairs"},
      {"N}b", "gives attributes to what has none"},
      {"X" + little(uint32_t{0xFFFFFFFF}), "ends too early: expected 4294967295 bytes"},
      {"\x8D" + little(~uint64_t{0}), "ends too early: expected 18446744073709551615 bytes"},
      {"cos", "ends too early"},
      {"N", "holds no dictionary of tensors but another object"},
      {p_tensor(kMatrix), "holds no dictionary of tensors but another object"},
      {p_dict({{"a.b", p_tensor(kMatrix)}, {"a", p_dict({{"b", p_tensor(kMatrix)}})}}), "a.b: the name occurs twice"},
      {p_dict({{"\xFF", p_tensor(kMatrix)}}), "the name is not UTF-8"},
      {p_dict({{std::string(1025, 'k'), p_tensor(kMatrix)}}), "has 1025 bytes, expected at most 1024"},
  };
  for (const auto& [object, sentence] : cases) {
    const std::string said = refusal(object);
    EXPECT_TRUE(contains(said, sentence)) << said << " for " << sentence;
  }
}

// Each of these takes a few bytes and would take for ever, or all memory, without a limit.
TEST(Pickle, StopsBombs) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "](";
  for (int i = 0; i < 100000; ++i) deep += "e";
  EXPECT_TRUE(contains(refusal(deep, ErrorCode::kUnsupported), "nest deeper than 32 levels"));
  EXPECT_TRUE(contains(refusal("]q\x01h\x01" + std::string("a"), ErrorCode::kUnsupported), "nest deeper than 32"));
  // Each list holds the one before twice: 2^24 ways to the innermost.
  std::string doubling = "]";
  for (int i = 0; i < 24; ++i) doubling += std::string("q\x01") + "](h\x01h\x01" + "e";
  EXPECT_TRUE(contains(refusal(doubling, ErrorCode::kUnsupported), "hold more than 262144 values"));
  // A long list is made into a dictionary again and again.
  std::string pairs = "](";
  for (int i = 0; i < 1000; ++i) pairs += "NN\x86";
  std::string copies = pairs + "e\x85q\x01" + p_class("collections", "OrderedDict") + "q\x02";
  for (int i = 0; i < 5000; ++i) copies += std::string("h\x02h\x01R");
  EXPECT_TRUE(contains(refusal(copies, ErrorCode::kUnsupported), "handles more than 4194304 items"));
  EXPECT_TRUE(contains(refusal(std::string(size_t{1} << 22, 'N'), ErrorCode::kUnsupported), "goes on after 2097152"));
}

TEST(Pickle, RefusesOtherArchivesByName) {
  const auto said = [](const std::vector<ZipRecord>& entries) {
    const std::string file = zip_file(entries);
    const auto parsed = parse_torch_zip(bytes_of(file), "x.pt");
    return parsed ? "accepted" : parsed.error().message;
  };
  const std::string object = pickle(p_dict({}));
  EXPECT_EQ(said({{"m/data.pkl", object}}), "accepted");
  EXPECT_TRUE(contains(said({{"readme.txt", "x"}}), "is a zip archive without a data.pkl"));
  EXPECT_TRUE(contains(said({{"data.pkl", object}}), "is a zip archive without a data.pkl"));
  EXPECT_TRUE(contains(said({{"a/b/data.pkl", object}}), "is a zip archive without a data.pkl"));
  EXPECT_TRUE(contains(said({{"m/data.pkl", object}, {"m/constants.pkl", object}}), "is a TorchScript archive"));
  EXPECT_TRUE(contains(said({{"m/data.pkl", object}, {"m/code/__torch__.py", "x"}}), "is a TorchScript archive"));
  EXPECT_TRUE(contains(said({{"m/data.pkl", object}, {"m/byteorder", "big"}}), "is \"big\", expected \"little\""));
  EXPECT_TRUE(contains(said({{.name = "m/data.pkl", .content = object, .method = 8}}),
                       "the entry m/data.pkl is compressed (method 8)"));
}

TEST(Pickle, ReadsLargeArchives) {
  const std::string file = torch_zip(p_dict({{"w", p_tensor(kMatrix)}}), {{"0", kSix}}, {.zip64 = true});
  const auto parsed = parse_torch_zip(bytes_of(file), "x.pt");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(std::ranges::equal(parsed->tensors[0].bytes, bytes_of(kSix)));
}

}  // namespace
}  // namespace veneer::io
