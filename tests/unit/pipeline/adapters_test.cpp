// Adapters of a session, order after order: what is applied, taken away, changed in strength or replaced on disk, what
// is read and what is told. Named after the acceptance cases where there is one.
#include <gtest/gtest.h>

#include <unistd.h>
#include <fstream>

#include "core/format.h"
#include "core/hash.h"
#include "device/devices.h"
#include "pipeline/adapter_rack.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

using io::ScratchFolder;

fs::path tiny_adapter(const std::string& name) { return test::data_path("tiny-sd1/adapters/" + name + ".safetensors"); }

text::AdapterRequest at(const fs::path& path, double strength) {
  text::AdapterRequest request;
  request.name = path.string();
  request.text_encoder_scale = request.denoiser_scale = strength;
  return request;
}

// The tiny model, drawing 16 x 16 pixels in one step.
class Adapters : public testing::Test {
 protected:
  Adapters() { open({}); }

  void open(SessionOptions options) {
    options.paths.model = test::data_path("tiny-sd1");
    options.threads = 2;
    auto session = Session::open(options, Log([this](LogLevel level, const std::string& line) {
                                   if (level == LogLevel::kWarn) warnings_.push_back(line);
                                   if (line.starts_with("loading LoRA from")) ++files_read_;
                                 }));
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }

  Result<RunResult> draw(const AdapterOrder& order) {
    Request request;
    request.prompt = "a photo of a cat";
    request.width = request.height = 16;
    request.steps = 1;
    request.seed = 5;
    request.adapters = order;
    return session_->generate(request, {}, CancelFlag());
  }
  std::vector<uint8_t> pixels_of(const AdapterOrder& order) {
    auto result = draw(order);
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->pictures[0].image.pixels : std::vector<uint8_t>();
  }
  std::vector<uint8_t> pixels(std::vector<text::AdapterRequest> adapters) {
    AdapterOrder order;
    order.adapters = std::move(adapters);
    return pixels_of(order);
  }
  adapt::Receipt receipt(const AdapterOrder& order) {
    auto stack = session_->plan_adapters(order);
    EXPECT_TRUE(stack) << stack.error().message;
    return stack ? (*stack)->receipt : adapt::Receipt();
  }

  std::unique_ptr<Session> session_;
  std::vector<std::string> warnings_;
  int files_read_ = 0;
  const fs::path a_ = tiny_adapter("lora"), b_ = tiny_adapter("dora");
};

using S1 = Adapters;
using S3 = Adapters;
using S4 = Adapters;
using S5 = Adapters;
using F1 = Adapters;
using F8 = Adapters;
using Q3 = Adapters;

TEST_F(S1, WhatIsTakenAwayIsGone) {
  const auto plain = pixels({}), with_a = pixels({at(a_, 1)});
  EXPECT_NE(with_a, plain);
  EXPECT_EQ(pixels({}), plain);
  const auto with_b = pixels({at(b_, 1)}), with_both = pixels({at(a_, 1), at(b_, 1)});
  EXPECT_NE(with_b, with_a);
  EXPECT_NE(with_both, with_b);
  EXPECT_EQ(pixels({}), plain);
  // A set is what a fresh session makes of it, whatever was in use before.
  open({});
  EXPECT_EQ(pixels({at(b_, 1), at(a_, 1)}), with_both);
  EXPECT_EQ(pixels({at(a_, 1)}), with_a);
}

TEST_F(S3, StrengthZeroIsNoAdapter) {
  const auto plain = pixels({});
  EXPECT_NE(pixels({at(a_, 1)}), plain);
  EXPECT_EQ(pixels({}), plain);
  EXPECT_EQ(pixels({at(a_, 0)}), plain);
  EXPECT_NE(pixels({at(a_, -0.3)}), pixels({at(a_, 0.3)}));
  EXPECT_EQ(pixels({}), plain);
}

// The file is replaced by garbage of the same size and time: whoever reads it again fails.
TEST_F(S4, AChangeOfStrengthReadsNoFile) {
  const auto half = pixels({at(a_, 0.5)});
  const ScratchFolder folder;
  const fs::path copy = folder / "a.safetensors";
  fs::copy_file(a_, copy);
  const auto changed = fs::last_write_time(copy);
  EXPECT_NE(pixels({at(copy, 1)}), half);
  const auto size = fs::file_size(copy);
  fs::remove(copy);
  folder.write("a.safetensors", std::string(size, 'x'));
  fs::last_write_time(copy, changed);
  EXPECT_EQ(pixels({at(copy, 0.5)}), half);
  EXPECT_EQ(files_read_, 2);
}

TEST_F(S4, AnEditedFileIsReadAgain) {
  const auto with_b = pixels({at(b_, 1)});
  const ScratchFolder folder;
  const fs::path copy = folder / "a.safetensors";
  fs::copy_file(a_, copy);
  EXPECT_NE(pixels({at(copy, 1)}), with_b);
  fs::remove(copy);
  fs::copy_file(b_, copy);
  EXPECT_EQ(pixels({at(copy, 1)}), with_b);
}

int64_t resident_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST_F(S5, ChangingSetsForeverTakesNoMemory) {
  const std::vector<text::AdapterRequest> sets[] = {{at(a_, 1)}, {at(b_, 1)}, {}};
  int64_t first = 0, last = 0;
  for (size_t i = 0; i < 50; ++i) {
    pixels(sets[i % 3]);
    int64_t& peak = i < 3 ? first : last;
    peak = std::max(peak, resident_bytes());
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
  // Beside so small a model the pages that the allocator keeps weigh; a set kept for each request would take megabytes.
  constexpr double kAllocator = 1 << 20;
  EXPECT_LE(static_cast<double>(last), 1.02 * static_cast<double>(first) + kAllocator);
#endif
  EXPECT_EQ(files_read_, 2);
}

TEST_F(Adapters, WithoutACacheOnlyTheSetInUseIsHeld) {
  SessionOptions options;
  options.adapter_cache_bytes = 0;
  open(options);
  const auto with_a = pixels({at(a_, 1)});
  EXPECT_EQ(pixels({at(a_, 1)}), with_a);
  EXPECT_EQ(files_read_, 1);
  pixels({});
  EXPECT_EQ(pixels({at(a_, 1)}), with_a);
  EXPECT_EQ(files_read_, 2);
}

TEST_F(Adapters, AnOrderThatFailsChangesNothing) {
  const auto with_a = pixels({at(a_, 1)});
  AdapterOrder order;
  order.adapters = {at(a_, 1), at("nowhere", 1)};
  const auto missing = draw(order);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  order.adapters = {at(test::data_path("adapters/errors/rank_mismatch.safetensors"), 1)};
  const auto useless = draw(order);
  ASSERT_FALSE(useless);
  EXPECT_EQ(useless.error().code, ErrorCode::kMismatch);
  EXPECT_EQ(pixels({at(a_, 1)}), with_a);
  EXPECT_EQ(files_read_, 2);
}

TEST_F(Adapters, TheLenientGoOnWithoutWhatCanNotBeUsed) {
  const auto with_a = pixels({at(a_, 1)});
  AdapterOrder order;
  order.policy = adapt::Policy::kLenient;
  order.adapters = {at(a_, 1), at("nowhere", 1), at(test::data_path("tiny-sd1/model_index.json"), 1),
                    at(test::data_path("adapters/errors/wrong_family_sdxl.safetensors"), 1)};
  EXPECT_EQ(pixels_of(order), with_a);
  ASSERT_EQ(warnings_.size(), 3u);
  EXPECT_TRUE(contains(warnings_[0], "nowhere"));
  EXPECT_TRUE(contains(warnings_[1], "model_index.json"));
  EXPECT_TRUE(contains(warnings_[2], "SDXL"));
}

// One adapter in six conventions of names.
TEST_F(F1, SpellingsGiveTheSameBytes) {
  const auto written = [](const fs::path& path, const std::string& first, const std::string& second,
                          const std::string& down, const std::string& up) {
    std::vector<io::NamedValues> tensors;
    for (const auto& [module, seed] : {std::pair{first, 0.1f}, {second, -0.2f}}) {
      std::vector<float> values;
      for (int i = 0; i < 64; ++i) values.push_back(seed * static_cast<float>(i % 7 - 3));
      tensors.push_back({module + down, values, {2, 32}});
      tensors.push_back({module + up, values, {32, 2}});
    }
    return io::write_f32(path, tensors);
  };
  const std::string diffusers = "down_blocks.0.attentions.0.transformer_blocks.0.attn1.";
  const std::string original = "input_blocks.1.1.transformer_blocks.0.attn1.";
  const auto flat = [](std::string name) {
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  };
  const ScratchFolder folder;
  const fs::path files[] = {written(folder / "1.safetensors", "lora_unet_" + flat(diffusers) + "to_q",
                                    "lora_unet_" + flat(diffusers) + "to_k", ".lora_down.weight", ".lora_up.weight"),
                            written(folder / "2.safetensors", diffusers + "processor.to_q_lora",
                                    diffusers + "processor.to_k_lora", ".down.weight", ".up.weight"),
                            written(folder / "3.safetensors", "unet." + diffusers + "to_q",
                                    "unet." + diffusers + "to_k", ".lora.down.weight", ".lora.up.weight"),
                            written(folder / "4.safetensors", "base_model.model." + diffusers + "to_q",
                                    "base_model.model." + diffusers + "to_k", ".lora_A.weight", ".lora_B.weight"),
                            written(folder / "5.safetensors", "diffusion_model." + original + "to_q",
                                    "diffusion_model." + original + "to_k", ".lora_down.weight", ".lora_up.weight"),
                            written(folder / "6.safetensors", "lora_unet_" + flat(original) + "to_q",
                                    "lora_unet_" + flat(original) + "to_k", ".lora_down.weight", ".lora_up.weight")};
  const auto expected = pixels({at(files[0], 1)});
  EXPECT_NE(expected, pixels({}));
  for (const fs::path& file : files) {
    EXPECT_EQ(pixels({at(file, 1)}), expected) << file;
    AdapterOrder order;
    order.adapters = {at(file, 1)};
    const adapt::Receipt told = receipt(order);
    EXPECT_EQ(told.adapters[0].keys.total, 4);
    EXPECT_EQ(told.adapters[0].keys.applied, 4) << file;
  }
}

TEST_F(F8, ComponentsAreCountedAndStrengthenedEachForItself) {
  AdapterOrder order;
  order.adapters = {at(a_, 1)};
  const auto both = pixels_of(order);
  order.adapters[0].text_encoder_scale = 0;
  EXPECT_NE(pixels_of(order), both);
  const adapt::Receipt told = receipt(order);
  const auto& components = told.adapters[0].components;
  ASSERT_EQ(components.size(), 2u);
  for (const auto& [part, counts] : components) {
    EXPECT_GT(counts.sites, 0) << io::name_of(part);
    EXPECT_EQ(counts.applied, counts.sites) << io::name_of(part);
  }
  for (const adapt::LayerAccount& layer : told.layers) EXPECT_TRUE(layer.layer.starts_with("unet.")) << layer.layer;
}

TEST_F(Q3, WhatCouldNotBeMergedIsToldOnce) {
  AdapterOrder order;
  order.adapters = {at(a_, 1)};
  const auto beside = pixels_of(order);
  SessionOptions options;
  options.backend = "mask(cpu; device-memory; no-add=f16)";
  open(options);
  order.mode = adapt::ApplyMode::kImmediately;
  EXPECT_EQ(pixels_of(order), beside);
  order.adapters[0].denoiser_scale = 0.5;
  pixels_of(order);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(contains(warnings_[0], "denoiser: the device can not add to f16 weights in its memory"));
  EXPECT_TRUE(contains(warnings_[0], "text_encoder: the device can not"));
}

// What a set changes is never the weights, in any mode: neither their bytes nor where they lie.
TEST(AdapterRackOfTheTinyModel, LeavesAllWeightsWhereAndAsTheyAre) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sd1");
  const auto files = *io::open_model_files(paths);
  const model::Model model = *model::build_model(files);
  const auto device = *device::open_device("cpu", 2, false);
  AdapterRack rack(model, *device, {}, Log());
  const auto digest = [&] {
    Sha256 hash;
    for (const auto& [part, network] : model.networks())
      for (const nn::Layer& layer : network->layers().all()) {
        const void* address = layer.weight.bytes.data();
        hash.add(std::as_bytes(std::span(&address, 1)));
        hash.add(layer.weight.bytes);
        hash.add(std::as_bytes(std::span(layer.bias)));
        hash.add(std::as_bytes(std::span(layer.gain)));
      }
    return hash.hex();
  };
  const std::string at_load = digest();
  for (const char* name : {"lora", "full_norm", "dora", "ia3"})
    for (const auto mode : {adapt::ApplyMode::kAuto, adapt::ApplyMode::kImmediately}) {
      AdapterOrder order;
      order.mode = mode;
      order.adapters = {at(tiny_adapter(name), 0.7)};
      const auto outcome = rack.stack_for(order);
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(digest(), at_load) << name;
    }
  ASSERT_TRUE(rack.stack_for({}));
  EXPECT_EQ(digest(), at_load);
}

}  // namespace
}  // namespace veneer::pipeline
