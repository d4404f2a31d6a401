// Opening adapter files: groups, hashes, metadata, PEFT configurations beside and inside, and what is no adapter.
#include "adapt/adapter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/format.h"
#include "core/hash.h"
#include "tests/support/golden.h"
#include "tests/unit/io/byte_builders.h"
#include "tests/unit/io/test_files.h"

namespace veneer::adapt {
namespace {

using io::ScratchFolder;
using io::write_f32;
using io::write_names;

std::shared_ptr<const Adapter> open(const std::filesystem::path& path) {
  auto adapter = open_adapter(path);
  EXPECT_TRUE(adapter) << adapter.error().message;
  return adapter ? *adapter : std::make_shared<const Adapter>();
}

const AdapterModule* find(const Adapter& adapter, std::string_view prefix, std::string_view name) {
  const auto found = std::ranges::find_if(adapter.modules,
                                          [&](const AdapterModule& m) { return m.prefix == prefix && m.name == name; });
  return found == adapter.modules.end() ? nullptr : &*found;
}

int64_t accounted(const Adapter& adapter) {
  int64_t keys = static_cast<int64_t>(adapter.ignored.size()) + (adapter.vera_down ? 1 : 0) + (adapter.vera_up ? 1 : 0);
  for (const AdapterModule& module : adapter.modules) keys += static_cast<int64_t>(module.keys.parts.size());
  for (const BundledEmbedding& embedding : adapter.embeddings) keys += static_cast<int64_t>(embedding.parts.size());
  return keys;
}

void expect_error(const std::filesystem::path& path, ErrorCode code, std::string_view words) {
  const auto adapter = open_adapter(path);
  ASSERT_FALSE(adapter) << path;
  EXPECT_EQ(adapter.error().code, code) << adapter.error().message;
  EXPECT_TRUE(contains(adapter.error().message, words)) << adapter.error().message;
  EXPECT_TRUE(adapter.error().message.starts_with(path.parent_path().string())) << adapter.error().message;
}

TEST(Adapter, GroupsKeysByModule) {
  const ScratchFolder folder;
  const auto adapter =
      open(write_f32(folder / "style.v2.safetensors", {{"lora_unet_conv_in.lora_down.weight", {1, 2}, {1, 2}},
                                                       {"lora_unet_conv_in.lora_up.weight", {3, 4, 5}, {3, 1}},
                                                       {"lora_unet_conv_in.alpha", {0.5f}, {}},
                                                       {"unet.conv_out.lora_A.weight", {6}, {1, 1}}}));
  EXPECT_EQ(adapter->name, "style.v2");
  EXPECT_EQ(adapter->key_count, 4);
  EXPECT_EQ(accounted(*adapter), 4);
  ASSERT_EQ(adapter->modules.size(), 2u);
  const AdapterModule* kohya = find(*adapter, "lora_unet_", "conv_in");
  ASSERT_TRUE(kohya);
  EXPECT_EQ(kohya->keys.module, "lora_unet_conv_in");
  EXPECT_EQ(kohya->keys.parts.size(), 3u);
  EXPECT_FALSE(kohya->keys.settings.is_peft);
  const KeyPart* up = kohya->keys.find("up");
  ASSERT_TRUE(up);
  EXPECT_EQ(up->key, "lora_unet_conv_in.lora_up.weight");
  EXPECT_EQ(up->type, "F32");
  EXPECT_EQ(up->weight.decode_all(), (std::vector<float>{3, 4, 5}));
  const AdapterModule* peft = find(*adapter, "unet.", "conv_out");
  ASSERT_TRUE(peft);
  EXPECT_TRUE(peft->keys.settings.is_peft);
}

TEST(Adapter, APartGivenTwiceMakesASecondGroup) {
  const ScratchFolder folder;
  const auto adapter = open(write_names(folder / "x.safetensors",
                                        {"unet.a.lora_A.weight", "unet.a.lora_down.weight", "unet.a.lora_B.weight"}));
  ASSERT_EQ(adapter->modules.size(), 2u);
  EXPECT_EQ(adapter->modules[0].name, adapter->modules[1].name);
  EXPECT_EQ(accounted(*adapter), 3);
}

TEST(Adapter, Hashes) {
  const ScratchFolder folder;
  const std::vector<io::NamedValues> tensors = {{"lora_unet_a.lora_up.weight", {1, 2, 3}}};
  const auto path = write_f32(folder / "a.safetensors", tensors, {{"ss_output_name", "one"}});
  const auto adapter = open(path);
  const auto text = read_text_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(adapter->sha256, sha256_hex(std::as_bytes(std::span(*text))));
  EXPECT_EQ(adapter->auto_v2(), adapter->sha256.substr(0, 10));
  // The numbers alone: 1, 2, 3 in little-endian float32.
  const std::vector<float> numbers = {1, 2, 3};
  EXPECT_EQ(adapter->auto_v3, sha256_hex(std::as_bytes(std::span(numbers))));
  // Other metadata: another file, the same numbers.
  const auto renamed = open(write_f32(folder / "b.safetensors", tensors, {{"ss_output_name", "two"}}));
  EXPECT_NE(renamed->sha256, adapter->sha256);
  EXPECT_EQ(renamed->auto_v3, adapter->auto_v3);
}

TEST(Adapter, AnyContainerByItsContent) {
  const ScratchFolder folder;
  // GGUF counts dimensions from the fastest; type 0 is F32.
  const auto adapter =
      open(folder.write("x.safetensors", io::gguf_file({}, {{"lora_unet_a.lora_down.weight", {3, 2}, 0, 0}},
                                                       io::floats({1, 2, 3, 4, 5, 6}))));
  ASSERT_EQ(adapter->modules.size(), 1u);
  EXPECT_EQ(adapter->modules[0].keys.find("down")->weight.shape, (Shape{2, 3}));
  EXPECT_EQ(adapter->sha256.size(), 64u);
  EXPECT_EQ(adapter->auto_v3, "");  // defined for safetensors only
}

TEST(Adapter, TrainersFacts) {
  const ScratchFolder folder;
  const auto adapter = open(
      write_f32(folder / "a.safetensors", {{"lora_unet_a.alpha", {1}, {}}},
                {{"ss_output_name", "foxes"},
                 {"ss_base_model_version", "sd_v1"},
                 {"ss_network_module", "lycoris.kohya"},
                 {"ss_network_args", R"({"algo": "loha", "conv_dim": "4"})"},
                 {"ss_network_dim", "16"},
                 {"ss_network_alpha", "8.0"},
                 {"modelspec.title", "Foxes"},
                 {"ss_tag_frequency", R"({"10_fox": {"a fox": 3, "snow ": 9}, "5_more": {"a fox": 7, "ice": 1}})"}}));
  const TrainerFacts& facts = adapter->facts;
  EXPECT_EQ(facts.alias, "foxes");
  EXPECT_EQ(facts.base_model, "sd_v1");
  EXPECT_EQ(facts.network, "lycoris.kohya (loha)");
  EXPECT_EQ(facts.rank, "16");
  EXPECT_EQ(facts.alpha, "8.0");
  EXPECT_EQ(facts.title, "Foxes");
  EXPECT_EQ(facts.trigger_words, (std::vector<std::string>{"a fox", "snow", "ice"}));
  EXPECT_EQ(
      trainer_facts({{"modelspec.architecture", "flux-1-dev/lora"}, {"modelspec.trigger_phrase", "xyz"}}).base_model,
      "flux-1-dev/lora");
  EXPECT_EQ(trainer_facts({{"modelspec.trigger_phrase", "xyz"}, {"ss_tag_frequency", "{}"}}).trigger_words,
            std::vector<std::string>{"xyz"});
  // Metadata that nobody can read says nothing.
  const TrainerFacts broken = trainer_facts(
      {{"ss_tag_frequency", "{"}, {"ss_network_module", "m"}, {"ss_network_args", "[1"}, {"ss_network_dim", "None"}});
  EXPECT_TRUE(broken.trigger_words.empty());
  EXPECT_EQ(broken.network, "m");
  EXPECT_EQ(broken.rank, "");
}

TEST(Adapter, PeftConfigurationInTheMetadata) {
  const auto adapter = open(test::data_path("tiny-sd1/adapters/peft_rslora.safetensors"));
  const AdapterModule* plain = find(*adapter, "unet.", "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_k");
  const AdapterModule* special = find(*adapter, "unet.", "mid_block.attentions.0.transformer_blocks.0.attn2.to_v");
  ASSERT_TRUE(plain && special);
  EXPECT_TRUE(plain->keys.settings.rank_stabilised);
  EXPECT_EQ(plain->keys.settings.alpha, 6);
  EXPECT_EQ(special->keys.settings.alpha, 3);
}

TEST(Adapter, PeftConfigurationBesideTheFile) {
  const ScratchFolder folder;
  folder.write("adapter_config.json", R"({"lora_alpha": 12})");
  const auto alpha = [&](const char* file, const char* key) {
    const auto adapter = open(write_names(folder / file, {key}));
    return adapter->modules.front().keys.settings.alpha;
  };
  EXPECT_EQ(alpha("adapter_model.safetensors", "conv_in.lora_A.weight"), 12);
  EXPECT_EQ(alpha("renamed.safetensors", "base_model.model.conv_in.lora_A.weight"), 12);
  // Another file in the same folder is not what the configuration is about.
  EXPECT_EQ(alpha("other.safetensors", "unet.conv_in.lora_A.weight"), std::nullopt);
  folder.write("adapter_config.json", R"({"fan_in_fan_out": true})");
  expect_error(folder / "adapter_model.safetensors", ErrorCode::kUnsupported, "adapter_config.json: fan_in_fan_out");
}

TEST(Adapter, SharedProjectionsOfVera) {
  const ScratchFolder folder;
  const auto adapter = open(write_names(
      folder / "x.safetensors", {"base_model.model.a.vera_lambda_b", "base_model.model.a.vera_lambda_d",
                                 "base_model.model.b.vera_lambda_d", "base_model.vera_A", "base_model.vera_B"}));
  ASSERT_EQ(adapter->modules.size(), 2u);
  EXPECT_EQ(accounted(*adapter), 5);
  for (const AdapterModule& module : adapter->modules) {
    EXPECT_EQ(module.keys.vera_down, &*adapter->vera_down);
    EXPECT_EQ(module.keys.vera_up, &*adapter->vera_up);
  }
  EXPECT_EQ(adapter->vera_down->key, "base_model.vera_A");
}

TEST(Adapter, EmbeddingsAndMetadataTensorsAreNoGroups) {
  const ScratchFolder folder;
  const auto adapter = open(write_f32(folder / "x.safetensors",
                                      {{"lora_unet_a.alpha", {1}, {}},
                                       {"bundle_emb.fox.clip_l", {1, 2}, {1, 2}},
                                       {"bundle_emb.fox.clip_g", {1, 2}, {1, 2}},
                                       {"<s1>", {1, 2}},
                                       {"text_encoder.text_model.embeddings.position_ids", {0, 1}}},
                                      {{"<s1>", "<embed>"}}));
  ASSERT_EQ(adapter->modules.size(), 1u);
  ASSERT_EQ(adapter->embeddings.size(), 2u);
  EXPECT_EQ(adapter->embeddings[0].name, "<s1>");
  EXPECT_EQ(adapter->embeddings[1].name, "fox");
  EXPECT_EQ(adapter->embeddings[1].parts.size(), 2u);
  EXPECT_EQ(adapter->embeddings[1].parts[0].key, "bundle_emb.fox.clip_g");
  EXPECT_EQ(adapter->ignored.size(), 1u);
  EXPECT_EQ(accounted(*adapter), adapter->key_count);
}

TEST(Adapter, NumberedModulesOfKnownClassesOnly) {
  const ScratchFolder folder;
  const auto write = [&](const char* classes) {
    return write_f32(folder / "x.safetensors", {{"unet:0:up", {1}, {1, 1}}, {"unet:0:down", {1}, {1, 1}}},
                     {{"unet", classes}});
  };
  const auto adapter = open(write(R"(["CrossAttention", "Attention", "GEGLU"])"));
  ASSERT_EQ(adapter->modules.size(), 1u);
  EXPECT_EQ(adapter->modules[0].keys.parts.size(), 2u);
  expect_error(write(R"(["CrossAttention", "ResnetBlock2D"])"), ErrorCode::kUnsupported, "ResnetBlock2D");
  expect_error(write("["), ErrorCode::kBadFile, "metadata unet");
}

TEST(Adapter, FilesThatAreNoAdapters) {
  const ScratchFolder folder;
  expect_error(folder / "missing.safetensors", ErrorCode::kNotFound, "missing.safetensors");
  expect_error(folder.write("empty.safetensors", ""), ErrorCode::kBadFile, "empty");
  expect_error(folder.write("page.safetensors", "<!DOCTYPE html><html>"), ErrorCode::kBadFile, "web page");
  expect_error(folder.write("cut.safetensors", io::raw_safetensors(R"({"a.alpha":{"dtype":"F32","shape":[9],)"
                                                                   R"("data_offsets":[0,36]}})")),
               ErrorCode::kBadFile, "cut.safetensors");
  expect_error(folder.write("none.safetensors", io::raw_safetensors("{}")), ErrorCode::kBadFile, "holds no tensors");
  expect_error(write_names(folder / "model.safetensors", {"conv_in.weight", "conv_in.bias"}), ErrorCode::kMismatch,
               "none of its 2 tensors has an adapter's name (first: conv_in.bias)");
  expect_error(write_names(folder / "ti.safetensors", {"emb_params"}), ErrorCode::kMismatch, "textual inversion");
  expect_error(write_names(folder / "ti_xl.safetensors", {"clip_g", "clip_l"}), ErrorCode::kMismatch,
               "textual inversion");
}

}  // namespace
}  // namespace veneer::adapt
