// Adapters of every family on the tiny Stable Diffusion 1.x model, against LyCORIS, PEFT and diffusers in float32
// (tests/data/tiny-sd1); and the demo model's five adapters over whole runs against diffusers.
// Tolerance: 2e-5 of the largest value for one network call, as without adapters; for rotations, whose matrices the
// library inverts in float32 only, 1e-4.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>

#include "adapt/stack.h"
#include "core/files.h"
#include "device/devices.h"
#include "io/container.h"
#include "io/safetensors_write.h"
#include "model/model.h"
#include "model/spellings.h"
#include "pipeline/adapter_choice.h"
#include "pipeline/memory.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

struct Form {
  const char* device;
  bool strict;
};

class TinyAdapters : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sd1");
    auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    auto built = model::build_model(*files);
    ASSERT_TRUE(built) << built.error().message;
    model_ = *std::move(built);
    device_ = *device::open_device(GetParam().device, 2, GetParam().strict);
    resolver_ = *adapt::Resolver::build(model::name_table(model_));
  }

  adapt::StackEntry entry(const std::string& file, double denoiser, double text_encoder, adapt::DoraConvention dora) {
    return entry_of(test::data_path("tiny-sd1/" + file), denoiser, text_encoder, dora);
  }
  adapt::StackEntry entry_of(const std::filesystem::path& file, double denoiser, double text_encoder,
                             adapt::DoraConvention dora) {
    auto adapter = adapt::open_adapter(file);
    EXPECT_TRUE(adapter) << adapter.error().message;
    adapt::LowerOptions options;
    options.dora = dora;
    auto fitted = adapt::fit(*adapter, *resolver_, options, model_.family->name);
    EXPECT_TRUE(fitted) << fitted.error().message;
    const adapt::KeyCounts& keys = (*fitted)->account.keys;
    EXPECT_EQ(keys.applied, keys.total) << adapt::count_line((*fitted)->account);
    return {*fitted, text_encoder, denoiser, std::nullopt};
  }

  void lay(const std::vector<adapt::StackEntry>& entries) {
    adapt::StackOptions options;
    options.overlay.fold_pairs = !GetParam().strict;
    auto stack = adapt::build_stack(entries, pipeline::stack_parts(model_, *device_), options);
    ASSERT_TRUE(stack) << stack.error().message;
    stack_ = *stack;
  }

  Tensor run(io::Part part, const model::Network& network, const std::function<Tensor(nn::Context&)>& work) {
    nn::PanelCache panels(size_t{1} << 28);
    pipeline::Workplace place(*device_, panels);
    if (stack_) place.lay({stack_, stack_->overlays_of(part)}, network.layers());
    Tensor result;
    place.run([&](nn::Context& context) {
      const Tensor out = work(context);
      if (!context.measuring()) result = out.clone();
    });
    return result;
  }

  const model::TextEncoder& text_encoder() const { return *model_.text_encoder(io::Part::kTextEncoder); }
  Tensor encode() {
    const auto ids = golden_.ids("input_ids");
    return run(io::Part::kTextEncoder, text_encoder(),
               [&](nn::Context& context) { return text_encoder().encode(context, {.ids = ids}).states; });
  }
  Tensor denoise(const Tensor& text) {
    const model::Denoiser::Input input{golden_.map("latents"), 500.0f, text};
    return run(io::Part::kDenoiser, *model_.denoiser,
               [&](nn::Context& context) { return model_.denoiser->forward(context, input); });
  }

  test::Golden golden_{"tiny-sd1/golden.safetensors"};
  model::Model model_;
  std::unique_ptr<device::Device> device_;
  std::optional<adapt::Resolver> resolver_;
  std::shared_ptr<const adapt::Stack> stack_;
};

TEST_P(TinyAdapters, AgreeWithTheLibraries) {
  const auto index = parse_json(*read_text_file(test::data_path("tiny-sd1/golden.index.json"), 1 << 24), "index");
  ASSERT_TRUE(index);
  const Json& tensors = (*index)["tensors"];
  int compared = 0;
  for (const auto& [name, run_info] : (*index)["runs"].items()) {
    SCOPED_TRACE(name);
    const auto dora = adapt::dora_from(run_info.value("convention", "interp"));
    std::vector<adapt::StackEntry> entries;
    bool rotates = false;
    for (const Json& one : run_info["adapters"]) {
      const std::string adapter = one[0];
      rotates |= adapter.find("oft") != std::string::npos;
      entries.push_back(entry((*index)["adapters"][adapter]["file"], one[1], one[2], *dora));
    }
    lay(entries);
    const double tolerance = rotates ? 1e-4 : 2e-5;
    Tensor text = golden_.tensor("base/te/last");
    if (tensors.contains(name + "/te/last")) {
      EXPECT_TRUE(test::close_to(encode(), golden_.tensor(name + "/te/last"), tolerance));
      text = golden_.tensor(name + "/te/last");
      ++compared;
    }
    if (tensors.contains(name + "/unet/t500")) {
      EXPECT_TRUE(test::close_to(denoise(text), golden_.map(name + "/unet/t500"), tolerance));
      ++compared;
    }
  }
  EXPECT_GE(compared, 40);
}

// The same adapter in four spellings: the same overlays, and so the same numbers to the bit.
TEST_P(TinyAdapters, SpellingsDoNotMatter) {
  lay({entry("adapters/lora.safetensors", 1, 1, adapt::DoraConvention::kInterp)});
  const Tensor text = encode(), out = denoise(text);
  EXPECT_TRUE(test::close_to(out, golden_.map("lora@1/unet/t500"), 2e-5));
  for (const char* file : {"adapters/lora_original_names.safetensors", "adapters/lora_peft_names.safetensors",
                           "adapters/lora_processor_names.safetensors"}) {
    lay({entry(file, 1, 1, adapt::DoraConvention::kInterp)});
    // Some spellings have no room for alpha, which is worked into the factors there: rounded once more.
    EXPECT_TRUE(test::close_to(denoise(text), out, 2e-6)) << file;
    EXPECT_TRUE(test::close_to(encode(), text, 2e-6)) << file;
  }
}

// The adapter of `file` with its factors in another type: as the type holds them, or as F32 of the same values.
std::filesystem::path with_factors_in(const std::string& file, const char* codec_name, const char* type, bool widened) {
  const auto store = io::open_weights(test::data_path("tiny-sd1/" + file));
  EXPECT_TRUE(store);
  const codec::Codec& codec = *codec::find_codec(codec_name);
  std::deque<std::vector<std::byte>> memory;
  std::vector<io::TensorToWrite> tensors;
  for (const auto& [name, stored] : store->entries()) {
    const bool is_factor = stored.weight.shape.rank() > 1;
    std::vector<float> values = stored.weight.decode_all();
    std::vector<std::byte>& bytes = memory.emplace_back(values.size() * static_cast<size_t>(codec.block_bytes));
    codec.encode(values, bytes.data());
    if (is_factor && widened) {
      codec::Weight held = stored.weight;
      held.codec = &codec;
      held.bytes = bytes;
      values = held.decode_all();
    }
    if (!is_factor || widened) {
      const auto whole = std::as_bytes(std::span(values));
      bytes.assign(whole.begin(), whole.end());
    }
    tensors.push_back({name, is_factor && !widened ? type : "F32", stored.weight.shape, bytes});
  }
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / concat(codec_name, widened ? "_widened" : "", ".safetensors");
  EXPECT_TRUE(io::write_safetensors(path, tensors, {}));
  return path;
}

// Adapters come in narrow types too, which have no product of their own anywhere: they are the numbers they stand for.
TEST_P(TinyAdapters, FactorsInNarrowTypesAreTheNumbersTheyStandFor) {
  for (const auto& [codec, type] : {std::pair{"f8_e4m3", "F8_E4M3"}, {"f8_e5m2", "F8_E5M2"}, {"bf16", "BF16"}}) {
    SCOPED_TRACE(codec);
    lay({entry_of(with_factors_in("adapters/lora.safetensors", codec, type, true), 1, 1,
                  adapt::DoraConvention::kInterp)});
    const Tensor text = encode(), out = denoise(text);
    lay({entry_of(with_factors_in("adapters/lora.safetensors", codec, type, false), 1, 1,
                  adapt::DoraConvention::kInterp)});
    EXPECT_TRUE(test::close_to(encode(), text, 0));
    EXPECT_TRUE(test::close_to(denoise(text), out, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TinyAdapters,
                         testing::Values(Form{"ref", true}, Form{"cpu", true}, Form{"cpu", false}),
                         [](const auto& form) {
                           return std::string(form.param.device) + (form.param.strict ? "_strict" : "");
                         });

}  // namespace
}  // namespace veneer
