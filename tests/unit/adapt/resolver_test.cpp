// Modules to layers: prefixes and components, variants, fused names, clashes, duplicates, numbers, and hints.
#include "adapt/resolver.h"

#include <gtest/gtest.h>

#include "adapt/fingerprint.h"
#include "core/format.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::adapt {
namespace {

using io::Part;
using io::ScratchFolder;
using io::write_f32;
using io::write_names;

// A model of a few layers with one name each, and what tests add to it.
class Model {
 public:
  const nn::Layer* add(Part part, const char* name, int64_t out = 1, int64_t in = 1) {
    nn::Layer layer;
    layer.name = concat(io::name_of(part), ".", name);
    layer.weight.shape = {out, in};
    const nn::Layer* added = layers_.add(std::move(layer));
    spell(part, name, {{added, 0, out}});
    return added;
  }
  void spell(Part part, const char* name, std::vector<nn::RowRange> ranges, bool swap_halves = false) {
    table_.spellings.push_back({part, name, std::move(ranges), swap_halves});
  }
  void has(std::initializer_list<Part> parts) { table_.parts = parts; }
  Result<Resolver> try_resolver() const { return Resolver::build(table_); }
  Resolver resolver() const {
    auto resolver = try_resolver();
    EXPECT_TRUE(resolver) << resolver.error().message;
    return *std::move(resolver);
  }

 private:
  nn::LayerList layers_;
  nn::NameTable table_;
};

std::shared_ptr<const Adapter> open(const std::filesystem::path& path) {
  auto adapter = open_adapter(path);
  EXPECT_TRUE(adapter) << adapter.error().message;
  return adapter ? *adapter : std::make_shared<const Adapter>();
}

Resolution resolve(const Resolver& resolver, const Adapter& adapter) {
  auto resolution = resolver.resolve(adapter);
  EXPECT_TRUE(resolution) << resolution.error().message;
  return resolution ? *std::move(resolution) : Resolution();
}

int64_t accounted(const Resolution& resolution) {
  size_t keys = resolution.ignored.size();
  for (const SiteKeys& site : resolution.sites) keys += site.keys.parts.size();
  for (const AdapterModule* module : resolution.unmatched) keys += module->keys.parts.size();
  for (const Contradiction& contradiction : resolution.contradictions) keys += contradiction.keys.size();
  return static_cast<int64_t>(keys);
}

TEST(Resolver, FindsByPrefixAndComponent) {
  Model model;
  const nn::Layer* unet = model.add(Part::kDenoiser, "down_blocks.0.conv1");
  const nn::Layer* first = model.add(Part::kTextEncoder, "text_model.fc1");
  const nn::Layer* second = model.add(Part::kTextEncoder2, "text_model.fc1");
  const nn::Layer* t5 = model.add(Part::kTextEncoder3, "encoder.block.0.q");
  const Resolver resolver = model.resolver();
  const std::tuple<const char*, const char*, const nn::Layer*> cases[] = {
      {"lora_unet_", "down_blocks_0_conv1", unet},
      {"lora_unet_", "_down_blocks_0_conv1", unet},  // "lora_unet__down_blocks..."
      {"unet.", "down_blocks.0.conv1", unet},
      {"", "down_blocks.0.conv1", unet},
      {"lycoris_", "down_blocks_0_conv1", unet},
      {"lycoris_", "text_model_fc1", first},  // the first component that has it
      {"lora_te_", "text_model_fc1", first},
      {"text_encoder_2.", "text_model.fc1", second},
      {"lora_te2_", "encoder_block_0_q", t5},
      {"lora_te3_", "encoder_block_0_q", t5},
      {"lora_te_", "encoder_block_0_q", t5},
      {"lora_te3_", "text_model_fc1", nullptr},
      {"lora_unet_", "text_model_fc1", nullptr},
      {"lora_unet_", "down_blocks_0_conv", nullptr},
      {"lora_unet_", "", nullptr},
      {"lora_prior_unet_", "down_blocks_0_conv1", nullptr},
      {"unet.", "_down_blocks.0.conv1", nullptr},
  };
  for (const auto& [prefix, module, layer] : cases) {
    const nn::Spelling* found = resolver.find(prefix, module);
    EXPECT_EQ(found ? found->ranges.front().layer : nullptr, layer) << prefix << " " << module;
  }
}

TEST(Resolver, AllNamesOfAPlaceAreOnePlace) {
  Model model;
  const nn::Layer* layer = model.add(Part::kDenoiser, "conv_in");
  model.spell(Part::kDenoiser, "input_blocks.0.0", {{layer, 0, 1}});
  const Resolver resolver = model.resolver();
  EXPECT_EQ(resolver.find("unet.", "conv_in"), resolver.find("diffusion_model.", "input_blocks.0.0"));
  EXPECT_EQ(resolver.find("lora_unet_", "input_blocks_0_0")->name, "conv_in");
  EXPECT_EQ(resolver.block_of(*layer), "input_blocks.0");
  EXPECT_EQ(resolver.block_of(nn::Layer()), "");
}

TEST(Resolver, FusedAndSwappedNames) {
  Model model;
  const nn::Layer* q = model.add(Part::kDenoiser, "to_q", 4);
  const nn::Layer* k = model.add(Part::kDenoiser, "to_k", 4);
  const nn::Layer* fused = model.add(Part::kDenoiser, "linear1", 12);
  model.spell(Part::kDenoiser, "qk", {{q, 0, 4}, {k, 0, 4}});
  model.spell(Part::kDenoiser, "mlp", {{fused, 8, 4}});
  model.spell(Part::kDenoiser, "original_linear1", {{fused, 0, 12}}, /*swap_halves=*/true);
  const ScratchFolder folder;
  const auto adapter =
      open(write_names(folder / "x.safetensors", {"lora_unet_qk.alpha", "lora_unet_mlp.alpha", "unet.linear1.alpha",
                                                  "lora_unet_original_linear1.alpha"}));
  const Resolver resolver = model.resolver();
  const Resolution resolution = resolve(resolver, *adapter);
  ASSERT_EQ(resolution.sites.size(), 4u);  // parts of a layer, and its two orders of rows, are different places
  const auto site = [&](std::string_view name) -> const SiteKeys& {
    return *std::ranges::find_if(resolution.sites, [&](const SiteKeys& s) { return s.target->name == name; });
  };
  ASSERT_EQ(site("qk").sites.size(), 2u);
  EXPECT_EQ(site("qk").sites[1].layer, k);
  EXPECT_EQ(site("mlp").sites[0].first_row, 8);
  EXPECT_EQ(site("mlp").sites[0].rows, 4);
  EXPECT_FALSE(site("linear1").target->swap_halves);
  EXPECT_TRUE(site("original_linear1").target->swap_halves);
}

TEST(Resolver, TwoLayersMayNotShareAName) {
  Model model;
  model.add(Part::kDenoiser, "a.b_c");
  model.add(Part::kTextEncoder, "a.b.c");  // another component: another name
  EXPECT_TRUE(model.try_resolver());
  model.add(Part::kDenoiser, "a_b.c");
  const auto resolver = model.try_resolver();
  ASSERT_FALSE(resolver);
  EXPECT_EQ(resolver.error().code, ErrorCode::kBug);
  EXPECT_TRUE(contains(resolver.error().message, "denoiser.a.b_c and denoiser.a_b.c")) << resolver.error().message;
}

TEST(Resolver, SortsEveryKey) {
  Model model;
  model.add(Part::kDenoiser, "a");
  model.add(Part::kDenoiser, "block.to_q");
  model.has({Part::kDenoiser, Part::kTextEncoder, Part::kVae});
  const Resolver resolver = model.resolver();
  const ScratchFolder folder;
  const auto adapter = open(write_names(
      folder / "x.safetensors", {"lora_unet_a.lora_up.weight", "lora_unet_a.lora_down.weight", "lora_unet_a.alpha",
                                 "lora_unet_block_to_p.alpha", "lora_te_text_model_fc1.alpha", "lora_te2_x.alpha",
                                 "vae.decoder.conv_in.diff", "something_else", "bundle_emb.fox.clip_l"}));
  const Resolution resolution = resolve(resolver, *adapter);
  EXPECT_EQ(accounted(resolution) + 1, adapter->key_count);  // an embedding is for no module
  ASSERT_EQ(resolution.sites.size(), 1u);
  EXPECT_EQ(resolution.sites[0].keys.parts.size(), 3u);
  EXPECT_EQ(resolution.sites[0].sites.size(), 1u);
  EXPECT_TRUE(resolution.sites[0].sites[0].is_whole());
  // A component that this model has and was loaded without; one that it has not is another model's.
  std::map<std::string, std::string> rules;
  for (const IgnoredKey& ignored : resolution.ignored) rules[ignored.key] = ignored.rule;
  EXPECT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules["lora_te_text_model_fc1.alpha"], "text_encoder is not loaded");
  EXPECT_EQ(rules["vae.decoder.conv_in.diff"], "vae is not loaded");
  ASSERT_EQ(resolution.unmatched.size(), 3u);
  EXPECT_EQ(resolution.unmatched[0]->keys.module, "lora_te2_x");
  EXPECT_EQ(resolution.unmatched[1]->keys.module, "lora_unet_block_to_p");
  EXPECT_EQ(resolver.nearest(*resolution.unmatched[1], 1), std::vector<std::string>{"lora_unet_block_to_q"});
  EXPECT_EQ(resolution.unmatched[2]->keys.module, "something_else");
}

TEST(Resolver, NearestNamesAreInTheFilesStyle) {
  Model model;
  model.add(Part::kDenoiser, "block.to_q");
  model.add(Part::kTextEncoder, "block.to_p");
  model.spell(Part::kDenoiser, ":0", {{model.add(Part::kDenoiser, "zzzzzz"), 0, 1}});
  const Resolver resolver = model.resolver();
  const auto nearest = [&](const char* prefix, const char* name) { return resolver.nearest({prefix, name, {}}, 2); };
  EXPECT_EQ(nearest("unet.", "block.to_p"), (std::vector<std::string>{"unet.block.to_q", "unet.zzzzzz"}));
  EXPECT_EQ(nearest("lora_unet_", "block_to_p").front(), "lora_unet_block_to_q");
  EXPECT_TRUE(nearest("lora_te3_", "block_to_p").empty());
}

// A layer with two names, and a file that uses both.
class TwoSpellings : public testing::Test {
 protected:
  TwoSpellings() {
    const nn::Layer* layer = model_.add(Part::kDenoiser, "conv_in");
    model_.spell(Part::kDenoiser, "input_blocks.0.0", {{layer, 0, 1}});
  }
  Resolution resolve_file(const std::vector<io::NamedValues>& tensors) {
    adapter_ = open(write_f32(folder_ / "x.safetensors", tensors));
    Resolution resolution = resolve(model_.resolver(), *adapter_);
    EXPECT_EQ(accounted(resolution), adapter_->key_count);
    return resolution;
  }
  Model model_;
  ScratchFolder folder_;
  std::shared_ptr<const Adapter> adapter_;
};

TEST_F(TwoSpellings, EqualPartsAreIgnored) {
  const Resolution resolution = resolve_file({{"lora_unet_conv_in.lora_up.weight", {1, 2}},
                                              {"lora_unet_input_blocks_0_0.lora_up.weight", {1, 2}},
                                              {"lora_unet_input_blocks_0_0.alpha", {3}}});
  ASSERT_EQ(resolution.sites.size(), 1u);
  EXPECT_EQ(resolution.sites[0].keys.parts.size(), 2u);  // what only one of them has counts
  ASSERT_EQ(resolution.ignored.size(), 1u);
  EXPECT_EQ(resolution.ignored[0].key, "lora_unet_input_blocks_0_0.lora_up.weight");
  EXPECT_EQ(resolution.ignored[0].rule, "the same as lora_unet_conv_in.lora_up.weight");
}

TEST_F(TwoSpellings, PartsThatDifferContradict) {
  for (const io::NamedValues& other : {io::NamedValues{"lora_unet_input_blocks_0_0.lora_up.weight", {1, 3}},
                                       io::NamedValues{"lora_unet_input_blocks_0_0.lora_up.weight", {1, 2}, {2, 1}}}) {
    const Resolution resolution =
        resolve_file({{"lora_unet_conv_in.lora_up.weight", {1, 2}}, {"lora_unet_conv_in.alpha", {1}}, other});
    EXPECT_TRUE(resolution.sites.empty());
    ASSERT_EQ(resolution.contradictions.size(), 1u);
    EXPECT_EQ(resolution.contradictions[0].keys,
              (std::vector<std::string>{"lora_unet_conv_in.lora_up.weight", "lora_unet_input_blocks_0_0.lora_up.weight",
                                        "lora_unet_conv_in.alpha"}));
  }
}

TEST_F(TwoSpellings, OfAPartUnderOneModule) {
  EXPECT_EQ(resolve_file({{"unet.conv_in.lora_A.weight", {1}}, {"unet.conv_in.lora_down.weight", {1}}}).ignored.size(),
            1u);
  EXPECT_EQ(
      resolve_file({{"unet.conv_in.lora_A.weight", {1}}, {"unet.conv_in.lora_down.weight", {2}}}).contradictions.size(),
      1u);
}

TEST(Resolver, ModulesByNumberMustFitAllLayers) {
  Model model;
  model.spell(Part::kDenoiser, ":0", {{model.add(Part::kDenoiser, "to_q", 3, 2), 0, 3}});
  model.spell(Part::kDenoiser, ":1", {{model.add(Part::kDenoiser, "to_k", 3, 5), 0, 3}});
  const Resolver resolver = model.resolver();
  const ScratchFolder folder;
  const auto pair = [](int number, int64_t out, int64_t in) {
    return std::vector<io::NamedValues>{
        {concat("unet:", number, ":up"), std::vector<float>(static_cast<size_t>(out)), {out, 1}},
        {concat("unet:", number, ":down"), std::vector<float>(static_cast<size_t>(in)), {1, in}}};
  };
  const auto both = [&](std::vector<io::NamedValues> first, const std::vector<io::NamedValues>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return open(write_f32(folder / "x.safetensors", first));
  };
  const Resolution fits = resolve(resolver, *both(pair(0, 3, 2), pair(1, 3, 5)));
  ASSERT_EQ(fits.sites.size(), 2u);
  EXPECT_EQ(fits.sites[1].target->name, "to_k");
  for (const auto& [adapter, words] :
       {std::pair(both(pair(0, 3, 2), pair(1, 3, 2)), "unet:1 does not fit denoiser.to_k"),
        std::pair(both(pair(0, 2, 2), pair(1, 3, 5)), "unet:0 does not fit"),
        std::pair(both(pair(0, 3, 2), pair(2, 3, 5)), "unet:2 is beyond the last one")}) {
    const auto resolution = resolver.resolve(*adapter);
    ASSERT_FALSE(resolution) << words;
    EXPECT_EQ(resolution.error().code, ErrorCode::kMismatch);
    EXPECT_TRUE(contains(resolution.error().message, words)) << resolution.error().message;
  }
}

TEST(Resolver, ModulesByNumberOfAComponentThatIsNotLoaded) {
  Model model;
  model.spell(Part::kDenoiser, ":0", {{model.add(Part::kDenoiser, "to_q"), 0, 1}});
  model.has({Part::kDenoiser, Part::kTextEncoder});
  const Resolver resolver = model.resolver();
  const ScratchFolder folder;
  const auto adapter =
      open(write_f32(folder / "x.safetensors", {{"unet:0:up", {1}, {1, 1}}, {"text_encoder:0:up", {1}, {1, 1}}}));
  const Resolution resolution = resolve(resolver, *adapter);
  EXPECT_EQ(resolution.sites.size(), 1u);
  ASSERT_EQ(resolution.ignored.size(), 1u);
  EXPECT_EQ(resolution.ignored[0].rule, "text_encoder is not loaded");
}

TEST(Fingerprint, SignsOfFamilies) {
  const ScratchFolder folder;
  const std::tuple<const char*, int64_t, const char*, const char*> cases[] = {
      {"lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn2_to_k.lora_down.weight", 768, "SD 1.x", "768"},
      {"unet.down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_v.lora_A.weight", 1024, "SD 2.x", "1024"},
      {"lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn2_to_k.hada_w1_b", 2048, "SDXL", "2048"},
      {"lora_te2_text_model_encoder_layers_0_mlp_fc1.alpha", 0, "SDXL", "lora_te2_"},
      {"lora_unet_input_blocks_7_1_transformer_blocks_9_attn1_to_q.alpha", 0, "SDXL", "10 transformer blocks"},
      {"lora_unet_label_emb_0_0.alpha", 0, "SDXL", "add_embedding"},
      {"transformer.transformer_blocks.9.attn1.to_q.lora_A.weight", 1152, "", ""},
      {"transformer.transformer_blocks.27.attn2.to_q.lora_A.weight", 1152, "PixArt", "1152"},
      {"lora_unet_blocks_3_cross_attn_kv_linear.alpha", 0, "PixArt", "kv_linear"},
      {"lora_unet_joint_blocks_0_x_block_attn_qkv.alpha", 0, "SD3", "joint_blocks"},
      {"transformer.transformer_blocks.0.attn.add_q_proj.lora_A.weight", 1536, "SD3", "add_q_proj"},
      {"lora_unet_double_blocks_0_img_attn_qkv.alpha", 0, "FLUX.1", "double_blocks"},
      {"transformer.single_transformer_blocks.0.attn.to_q.lora_A.weight", 3072, "FLUX.1", "single_transformer_blocks"},
      {"lora_prior_unet_x.alpha", 0, "Stable Cascade", "lora_prior_"},
      {"diffusion_model.blocks.0.cross_attn.q.lora_A.weight", 5120, "a video model", "cross_attn"},
      {"lora_unet_conv_in.alpha", 0, "", ""},
  };
  for (const auto& [key, inputs, family, words] : cases) {
    const std::vector<float> values(static_cast<size_t>(std::max<int64_t>(inputs, 1)));
    const Shape shape = inputs > 0 ? Shape{1, inputs} : Shape{1};
    const auto found = fingerprint(*open(write_f32(folder / "x.safetensors", {{key, values, shape}})));
    EXPECT_EQ(found ? found->family : "", family) << key;
    EXPECT_TRUE(contains(found ? found->evidence : "", words)) << key;
  }
}

TEST(Fingerprint, NamesAllSignsOfItsFamily) {
  const auto found = fingerprint(*open(test::data_path("adapters/errors/wrong_family_sdxl.safetensors")));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->family, "SDXL");
  EXPECT_EQ(found->evidence, "lora_te2_* keys, 10 transformer blocks in one attention, cross-attention of 2048 inputs");
}

}  // namespace
}  // namespace veneer::adapt
