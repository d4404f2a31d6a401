// Stacks over layers of many stored types: what arrives, what order and removal leave behind, which route each layer
// takes and what is told. Named after the acceptance cases where there is one.
#include <gtest/gtest.h>

#include <unistd.h>
#include <fstream>

#include "codec/encode.h"
#include "core/hash.h"
#include "device/devices.h"
#include "nn/product.h"
#include "tests/support/weight_kinds.h"
#include "tests/unit/adapt/family_support.h"
#include "tests/unit/adapt/fitted_support.h"

namespace veneer::adapt {
namespace {

using test::entry_of;
using test::fitted_to;
using test::group_of;
using test::random_part;

// Values in a stored form that has an encoder.
codec::Weight stored(const char* form_name, const std::vector<float>& values, const Shape& shape) {
  const codec::Form form = *codec::find_form(form_name);
  auto bytes = codec::encode(form, values, shape, "w");
  EXPECT_TRUE(bytes) << bytes.error().message;
  return codec::decodable(form, *std::move(bytes), shape, "w");
}

// One model part on one device.
class Layers {
 public:
  explicit Layers(const char* device = "cpu") : device_(*device::open_device(device, 2, true)) {}

  const nn::Layer* add(codec::Weight weight) {
    nn::Layer layer;
    layer.name = concat("unet.layer", list_.size());
    layer.weight = std::move(weight);
    return list_.add(std::move(layer));
  }
  StackPart part(io::Part part = io::Part::kDenoiser) const { return {part, &list_, device_.get()}; }

  std::shared_ptr<const Stack> stack(const std::vector<StackEntry>& entries, const StackOptions& options = {}) const {
    const StackPart one = part();
    const auto built = build_stack(entries, {&one, 1}, options);
    EXPECT_TRUE(built) << built.error().message;
    return built ? *built : nullptr;
  }
  // What a layer gives for an input; `stack` null for the layer alone.
  std::vector<float> run(const nn::Layer* layer, const std::vector<float>& x, const Stack* stack = nullptr) const {
    device::Arena arena(size_t{1} << 20);
    nn::PanelCache panels(0);
    nn::Context context{*device_, arena, panels, stack ? stack->overlays_of(io::Part::kDenoiser) : nullptr};
    const Tensor y = nn::linear(context, *layer, Tensor::from(x, {1, static_cast<int64_t>(x.size())}));
    return {y.values().begin(), y.values().end()};
  }
  // Of all bytes that the layers are made of, and of where they lie.
  std::string digest() const {
    Sha256 hash;
    for (const nn::Layer& layer : list_.all()) {
      add_to(hash, layer.weight);
      if (layer.weight.side)
        for (const auto& [key, weight] : layer.weight.side->tensors) add_to(hash, weight);
    }
    return hash.hex();
  }

 private:
  static void add_to(Sha256& hash, const codec::Weight& weight) {
    const void* address = weight.bytes.data();
    hash.add(std::as_bytes(std::span(&address, 1)));
    hash.add(weight.bytes);
  }

  nn::LayerList list_;
  std::unique_ptr<device::Device> device_;
};

// Adds `value` to every weight of a layer of one output.
KeyGroup constant(float value, int64_t inputs) {
  return group_of(
      {{"up", {1, 1}, {value}}, {"down", {1, inputs}, std::vector<float>(static_cast<size_t>(inputs), 1.0f)}});
}

KeyGroup random_pair(int64_t size, uint32_t seed) {
  return group_of({random_part("up", {size, 4}, seed), random_part("down", {4, size}, seed + 1)});
}

// A change far below the step of the base's 4-bit codes arrives whole, and in proportion to its strength.
TEST(Q1, AChangeBelowTheStepOfTheCodesArrives) {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(i / 2 - 8) / 64);
  Layers layers;
  const nn::Layer* layer = layers.add(stored("q4_0", values, {1, 32}));
  ASSERT_EQ(layer->weight.decode_all(), values);
  const auto adapter = fitted_to("a", {{layer, constant(1.0f / 512, 32)}});
  for (const float strength : {0.25f, 0.5f, 1.0f, 2.0f}) {
    const auto stack = layers.stack({entry_of(adapter, strength)});
    EXPECT_NEAR(layers.run(layer, std::vector<float>(32, 1.0f), stack.get())[0], -0.25 + strength * 0.0625, 1e-6);
  }
}

TEST(Q4, TheRouteIsChosenForEachLayer) {
  Layers layers;
  std::vector<test::Place> places;
  for (const char* held : {"f16", "f8_e4m3", "f16", "f8_e5m2", "bf16"})
    places.push_back({layers.add(*veneer::test::weight_of_kind(held, {16, 16}, 1)), random_pair(16, 5)});
  const auto adapter = fitted_to("a", places);
  StackOptions options;
  options.mode = ApplyMode::kImmediately;
  const auto stack = layers.stack({entry_of(adapter, 1)}, options);
  std::vector<nn::Route> routes;
  for (const LayerAccount& layer : stack->receipt.layers) routes.push_back(layer.route);
  using enum nn::Route;
  EXPECT_EQ(routes, (std::vector{kMerged, kFolded, kMerged, kFolded, kMerged}));
  EXPECT_EQ(stack->receipt.not_merged, (std::map<std::string, int64_t>{{"denoiser: held as FP8", 2}}));
  EXPECT_TRUE(layers.stack({entry_of(adapter, 1)})->receipt.not_merged.empty());
}

// Each component asks the device that it computes on.
TEST(Q3, TheProbeIsOfTheComponentsOwnDevice) {
  Layers text("mask(ref; device-memory; no-add=f16)"), denoiser;
  const auto weight = *veneer::test::weight_of_kind("f16", {16, 16}, 1);
  const nn::Layer *te = text.add(weight), *unet = denoiser.add(weight);
  const auto adapter = fitted_to("a", {{te, random_pair(16, 5), io::Part::kTextEncoder}, {unet, random_pair(16, 5)}});
  const StackPart parts[] = {text.part(io::Part::kTextEncoder), denoiser.part()};
  StackOptions options;
  options.mode = ApplyMode::kImmediately;
  const auto stack = build_stack({{entry_of(adapter, 1)}}, parts, options);
  ASSERT_TRUE(stack) << stack.error().message;
  EXPECT_EQ((*stack)->receipt.not_merged,
            (std::map<std::string, int64_t>{{"text_encoder: the device can not add to f16 weights in its memory", 1}}));
  EXPECT_EQ((*stack)->receipt.routes().at("merged"), 1);
}

// The scale of a scaled weight is the base's alone.
TEST(Q5, AChangeIsAddedAfterTheScale) {
  Layers layers;
  const nn::Layer* layer = layers.add(stored("f8_e4m3_scaled", {1, -1, 0.5f, 0}, {2, 2}));
  const auto adapter = fitted_to("a", {{layer, group_of({{"diff", {2, 2}, {0.5f, 0, 0, 0}}})}});
  const auto stack = layers.stack({entry_of(adapter, 1)});
  EXPECT_NEAR(layers.run(layer, {1, 0}, stack.get())[0], 1.5, 1e-6);
  EXPECT_NEAR(layers.run(layer, {1, 0}, stack.get())[1], 0.5, 1e-6);
}

// A weight of zeros has scale 0 in block formats.
TEST(Q6, SumsOnAnyBaseAndWhatIsTakenAwayIsGone) {
  for (const char* form : {"f32", "f16", "f8_e4m3", "f8_e4m3_scaled", "q8_0", "q4_0", "sdnq_int8", "sdnq_uint4"}) {
    SCOPED_TRACE(form);
    Layers layers;
    const nn::Layer* layer = layers.add(stored(form, std::vector<float>(64), {1, 64}));
    const auto a = fitted_to("a", {{layer, constant(1, 64)}}), b = fitted_to("b", {{layer, constant(10, 64)}});
    std::vector<float> x(64);
    x[3] = 1;
    EXPECT_EQ(layers.run(layer, x, layers.stack({entry_of(a, 0.5), entry_of(b, 0.25)}).get())[0], 3.0f);
    EXPECT_EQ(layers.run(layer, x, layers.stack({entry_of(b, 0.25)}).get())[0], 2.5f);
  }
}

TEST(Q6, TheOrderOfMentionChangesNoBit) {
  Layers layers;
  const nn::Layer* layer = layers.add(*veneer::test::weight_of_kind("q8_0", {64, 64}, 1));
  std::vector<StackEntry> entries;
  for (const uint32_t seed : {10u, 20u, 30u, 40u})
    entries.push_back(entry_of(fitted_to(std::to_string(seed), {{layer, random_pair(64, seed)}}), 0.1 * seed));
  const std::vector<float> x = test::random_values(64, 3);
  const auto expected = layers.run(layer, x, layers.stack(entries).get());
  for (size_t i = 0; i < entries.size(); ++i) {
    std::rotate(entries.begin(), entries.begin() + 1, entries.end());
    EXPECT_EQ(layers.run(layer, x, layers.stack(entries).get()), expected);
  }
}

TEST(Stack, TheSameFileTwiceHasTheSumOfItsStrengths) {
  Layers layers;
  const nn::Layer* layer = layers.add(stored("f16", {1, 2}, {1, 2}));
  const auto a = fitted_to("a", {{layer, constant(4, 2)}});
  const auto stack = layers.stack({entry_of(a, 0.5), entry_of(a, 0.75)});
  EXPECT_EQ(stack->receipt.adapters.size(), 1u);
  EXPECT_EQ(layers.run(layer, {1, 0}, stack.get())[0], 6.0f);
  EXPECT_EQ(layers.stack({entry_of(a, 0.5), entry_of(a, -0.5)})->overlays_of(io::Part::kDenoiser)->front(), nullptr);
}

// With strength 0 for one component its layers are left alone.
TEST(F8, EachComponentHasItsStrength) {
  Layers text, denoiser;
  const nn::Layer *te = text.add(stored("f16", {1, 2}, {1, 2})), *unet = denoiser.add(stored("f16", {1, 2}, {1, 2}));
  const auto adapter =
      fitted_to("a", {{te, constant(4, 2), io::Part::kTextEncoder}, {unet, constant(4, 2), io::Part::kDenoiser}});
  const StackPart parts[] = {text.part(io::Part::kTextEncoder), denoiser.part()};
  const auto stack = build_stack({{StackEntry{adapter, 0, 0.5, std::nullopt}}}, parts, {});
  ASSERT_TRUE(stack) << stack.error().message;
  EXPECT_EQ((*stack)->overlays_of(io::Part::kTextEncoder)->front(), nullptr);
  EXPECT_EQ(denoiser.run(unet, {1, 0}, stack->get())[0], 3.0f);
  EXPECT_EQ((*stack)->receipt.adapters[0].strength, (std::map<std::string, double>{{"te", 0}, {"diffusion", 0.5}}));
}

// However much of it applies: what contradicts itself in one place is not to be trusted in the others.
TEST(Judge, ABrokenFileIsAnErrorToAllButTheLenient) {
  Fitted fitted;
  fitted.account.name = "x";
  fitted.account.keys = {6, 3, 3, 0, 0};
  fitted.broken.push_back({ErrorCode::kBadFile, "a key has 1 non-finite values", "key"});
  for (const Policy policy : {Policy::kReport, Policy::kStrict}) {
    const Verdict verdict = judge(fitted, policy);
    ASSERT_TRUE(verdict.error);
    test::expect_says(*verdict.error, ErrorCode::kBadFile, {"adapter x: ", "non-finite"});
  }
  const Verdict lenient = judge(fitted, Policy::kLenient);
  EXPECT_FALSE(lenient.error);
  EXPECT_FALSE(lenient.left_out);
  EXPECT_FALSE(lenient.warnings.empty());
}

int64_t resident_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(S2, AThousandTimesOnAndOffLeavesNoTrace) {
  Layers layers;
  std::vector<test::Place> with_a, with_b;
  for (const char* held : {"f16", "bf16", "f8_e4m3", "q8_0", "q4_0", "sdnq:uint4"}) {
    const nn::Layer* layer = layers.add(*veneer::test::weight_of_kind(held, {32, 64}, 1));
    with_a.push_back({layer, group_of({random_part("up", {32, 4}, 5), random_part("down", {4, 64}, 6)})});
    with_b.push_back({layer, group_of({random_part("diff", {32, 64}, 7)})});
  }
  const auto a = fitted_to("a", with_a), b = fitted_to("b", with_b);
  const std::vector<float> x = test::random_values(64, 3);
  const std::string at_first = layers.digest();
  const auto outputs = [&](const Stack* stack) {
    std::vector<float> all;
    for (const test::Place& place : with_a)
      for (const float value : layers.run(place.layer, x, stack)) all.push_back(value);
    return all;
  };
  std::vector<float> first_a, first_b;
  const std::vector<float> plain = outputs(nullptr);
  [[maybe_unused]] int64_t resident = 0;  // the address sanitizer keeps what was freed
  for (int cycle = 1; cycle <= 1000; ++cycle) {
    const auto only_a = layers.stack({entry_of(a, 0.7)});
    const std::vector<float> now_a = outputs(only_a.get());
    const auto both = layers.stack({entry_of(a, 0.7), entry_of(b, 0.7)});
    const std::vector<float> now_b = outputs(both.get());
    if (cycle == 1) first_a = now_a, first_b = now_b;
    if (cycle == 10) resident = resident_bytes();
    ASSERT_EQ(now_a, first_a) << cycle;
    ASSERT_EQ(now_b, first_b) << cycle;
    ASSERT_EQ(outputs(nullptr), plain) << cycle;
  }
  EXPECT_NE(first_a, plain);
  EXPECT_NE(first_b, first_a);
  EXPECT_EQ(layers.digest(), at_first);
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
  EXPECT_LT(resident_bytes() - resident, 1 << 20);
#endif
}

}  // namespace
}  // namespace veneer::adapt
