// The tables of names of real models (tests/data/adapters/names, checked against the reference converters when they
// were made): every spelling of every layer leads to exactly that layer, and names of fused modules to their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "adapt/fingerprint.h"
#include "adapt/resolver.h"
#include "core/format.h"
#include "core/json.h"
#include "model/model.h"
#include "model/spellings.h"
#include "tests/support/golden.h"
#include "text/gzip.h"

namespace veneer::adapt {
namespace {

using io::Part;

struct Row {
  std::string component, module, op;
  Shape shape;
  std::vector<std::string> names;  // spellings that mean exactly this module, prefix included
  std::string processor;           // before ".up.weight"; empty for modules that old files do not have
  // Spellings of the fused module that holds this one, and which of its rows; or of the one with its halves swapped.
  std::vector<std::string> fused = {}, swapped = {};
  int64_t first_row = 0, end_row = 0;
};

std::vector<Row> read_table(const std::string& model) {
  const auto text = text::read_plain_or_gzip(test::data_path("adapters/names/" + model + ".jsonl.gz"), 1 << 22);
  EXPECT_TRUE(text) << text.error().message;
  std::vector<Row> rows;
  const std::vector<std::string> lines = split(text ? *text : "", '\n');
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    const auto json = parse_json(line, model);
    EXPECT_TRUE(json) << json.error().message;
    if (!json->contains("module")) continue;  // the first line is about the table
    Row row{(*json)["component"], (*json)["module"], (*json)["op"], {}, {}, json->value("processor", "")};
    row.shape = Shape((*json)["weight"].get<std::vector<int64_t>>());
    for (const char* style : {"kohya", "dotted"})
      for (const auto& name : (*json)[style]) row.names.push_back(name);
    for (const char* style : {"kohya", "dotted"}) {
      if (json->contains(concat("fused_", style))) row.fused.push_back((*json)[concat("fused_", style)]);
      if (json->contains(concat("swapped_", style))) row.swapped.push_back((*json)[concat("swapped_", style)]);
    }
    if (json->contains("rows")) {
      row.first_row = (*json)["rows"][0];
      row.end_row = (*json)["rows"][1];
    }
    // The checkpoint's own name, where it is that of one layer and CLIP is not OpenCLIP.
    const std::string original = json->value("original_weight", "");
    const bool is_text = row.component.starts_with("text_encoder");
    if ((row.component == "unet" || row.component == "vae" || is_text) && !json->contains("rows") &&
        (!is_text || contains(original, ".text_model.")))
      row.names.push_back(original.substr(0, original.rfind('.')));
    rows.push_back(std::move(row));
  }
  EXPECT_GT(rows.size(), 500u) << model;
  return rows;
}

// A T5 encoder is the third text encoder, whatever its pipeline calls it.
Part part_of(const Row& row) {
  if (row.component == "vae") return Part::kVae;
  if (!row.component.starts_with("text_encoder")) return Part::kDenoiser;
  if (row.module == "shared" || row.module.starts_with("encoder.")) return Part::kTextEncoder3;
  return row.component == "text_encoder" ? Part::kTextEncoder : Part::kTextEncoder2;
}

// The layers of a table, without numbers.
class TableModel {
 public:
  explicit TableModel(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      nn::Layer layer;
      layer.kind = row.op == "norm"        ? nn::LayerKind::kNorm
                   : row.op == "conv2d"    ? nn::LayerKind::kConv2d
                   : row.op == "embedding" ? nn::LayerKind::kEmbedding
                                           : nn::LayerKind::kLinear;
      layer.name = concat(row.component, ".", row.module);
      layer.weight.shape = row.shape;
      layers_[part_of(row)].add(std::move(layer));
    }
  }
  Resolver resolver() const {
    nn::NameTable table;
    for (const auto& [part, list] : layers_) {
      table.parts.push_back(part);
      const std::vector<nn::Spelling> names = model::spellings_of(part, list);
      table.spellings.insert(table.spellings.end(), names.begin(), names.end());
    }
    auto resolver = Resolver::build(std::move(table));
    EXPECT_TRUE(resolver) << resolver.error().message;
    return *std::move(resolver);
  }

 private:
  std::map<Part, nn::LayerList> layers_;
};

std::string found_by(const Resolver& resolver, const std::string& key, std::string_view part) {
  const ParsedKey parsed = parse_key(key);
  EXPECT_EQ(parsed.part, part) << key;
  const nn::Spelling* found = resolver.find(parsed.prefix, parsed.module);
  if (!found) return "nothing";
  EXPECT_EQ(found->ranges.size(), 1u) << key;
  return found->ranges.front().layer->name;
}

class ResolvedNames : public testing::TestWithParam<const char*> {};

TEST_P(ResolvedNames, EverySpellingLeadsToItsLayer) {
  const std::vector<Row> rows = read_table(GetParam());
  const TableModel model(rows);
  const Resolver resolver = model.resolver();
  for (const Row& row : rows) {
    const std::string layer = concat(row.component, ".", row.module);
    for (const std::string& name : row.names) {
      EXPECT_EQ(found_by(resolver, name + ".lora_down.weight", "down"), layer) << name;
      EXPECT_EQ(found_by(resolver, name + ".alpha", "alpha"), layer) << name;
      EXPECT_EQ(found_by(resolver, name + ".lora_B.default.weight", "up"), layer) << name;
    }
    if (row.processor.empty()) continue;
    EXPECT_EQ(found_by(resolver, row.processor + ".up.weight", "up"), layer);
    // Old files often leave out the component of a UNet.
    if (row.component != "unet") continue;
    EXPECT_EQ(found_by(resolver, row.processor.substr(5) + ".up.weight", "up"), layer);
  }
}

TEST_P(ResolvedNames, TheCanonicalNameIsTheAnswer) {
  const std::vector<Row> rows = read_table(GetParam());
  const TableModel model(rows);
  const Resolver resolver = model.resolver();
  for (const Row& row : rows) {
    const ParsedKey parsed = parse_key(row.names.back() + ".alpha");
    const nn::Spelling* found = resolver.find(parsed.prefix, parsed.module);
    ASSERT_TRUE(found) << row.names.back();
    EXPECT_EQ(found->name, row.module);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ResolvedNames,
                         testing::Values("sd15", "sd21", "sdxl", "sd3-medium", "flux", "pixart-alpha", "pixart-sigma"));

class FusedNames : public testing::TestWithParam<const char*> {};

// Fused modules lead to the right rows of each of their layers, and modules with swapped halves say so.
TEST_P(FusedNames, LeadToTheRowsOfTheirLayers) {
  const std::vector<Row> rows = read_table(GetParam());
  const TableModel model(rows);
  const Resolver resolver = model.resolver();
  int fused = 0;
  for (const Row& row : rows) {
    if (row.component != "transformer") continue;
    const std::string layer = concat(row.component, ".", row.module);
    for (const std::string& name : row.fused) {
      const ParsedKey parsed = parse_key(name + ".lora_down.weight");
      const nn::Spelling* found = resolver.find(parsed.prefix, parsed.module);
      ASSERT_TRUE(found) << name;
      EXPECT_FALSE(found->swap_halves);
      int64_t first = 0;
      bool holds = false;
      for (const nn::RowRange& range : found->ranges) {
        holds = holds || (range.layer->name == layer && first == row.first_row && first + range.count == row.end_row);
        EXPECT_EQ(range.count, range.layer->out());
        first += range.count;
      }
      EXPECT_TRUE(holds) << name << " does not hold " << layer;
      ++fused;
    }
    for (const std::string& name : row.swapped) {
      const ParsedKey parsed = parse_key(name + ".lora_down.weight");
      const nn::Spelling* found = resolver.find(parsed.prefix, parsed.module);
      ASSERT_TRUE(found) << name;
      EXPECT_TRUE(found->swap_halves) << name;
      ASSERT_EQ(found->ranges.size(), 1u);
      EXPECT_EQ(found->ranges.front().layer->name, layer);
    }
  }
  EXPECT_GT(fused, 100);
}

INSTANTIATE_TEST_SUITE_P(Models, FusedNames, testing::Values("sd3-medium", "flux", "pixart-alpha", "pixart-sigma"));

// XLabs name what their adapters change in a block, in the order of the modules.
TEST(XlabsNames, LeadToTheAttentionsOfFlux) {
  const std::vector<Row> rows = read_table("flux");
  const TableModel model(rows);
  const Resolver resolver = model.resolver();
  const auto layers = [&](const std::string& name) {
    const ParsedKey parsed = parse_key(name + ".down.weight");
    const nn::Spelling* found = resolver.find(parsed.prefix, parsed.module);
    std::vector<std::string> names;
    if (found)
      for (const nn::RowRange& range : found->ranges) names.push_back(range.layer->name.substr(12));
    return join(names, " ");
  };
  EXPECT_EQ(layers("double_blocks.3.processor.qkv_lora1"),
            "transformer_blocks.3.attn.to_q transformer_blocks.3.attn.to_k transformer_blocks.3.attn.to_v");
  EXPECT_EQ(layers("double_blocks.3.processor.proj_lora2"), "transformer_blocks.3.attn.to_add_out");
  EXPECT_EQ(layers("single_blocks.30.processor.proj_lora"), "single_transformer_blocks.30.proj_out");
}

class SplitNames : public testing::TestWithParam<const char*> {};

TEST_P(SplitNames, PrefixModuleAndPart) {
  for (const Row& row : read_table(GetParam())) {
    for (const std::string& name : row.names) {
      const ParsedKey key = parse_key(name + ".lora_down.weight");
      EXPECT_EQ(key.part, "down") << name;
      EXPECT_EQ(key.place, name);
      const std::string_view wrapper = key.is_peft ? "base_model.model." : "";
      EXPECT_EQ(concat(wrapper, key.prefix, key.module), name);  // split, and nothing changed
      EXPECT_TRUE(std::ranges::count(parts_of(key.prefix), part_of(row))) << name;
      EXPECT_EQ(parse_key(name + ".lora_A.some_name.weight").module, key.module) << name;
    }
    if (row.processor.empty()) continue;
    const ParsedKey old = parse_key(row.processor + ".down.weight");
    EXPECT_EQ(concat(old.prefix, old.module), concat(row.component, ".", row.module));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SplitNames,
                         testing::Values("sd15", "sd21", "sdxl", "sd3-medium", "flux", "pixart-alpha", "pixart-sigma"));

TEST(NumberedNames, AreTheModulesOfTheTable) {
  const std::vector<Row> rows = read_table("sd15");
  const TableModel model(rows);
  const Resolver resolver = model.resolver();
  const auto text = read_text_file(test::data_path("adapters/names/sd15-numbered.json"));
  ASSERT_TRUE(text);
  const auto json = parse_json(*text, "numbered");
  ASSERT_TRUE(json) << json.error().message;
  for (const auto& [component, count] : {std::pair("unet", 144), std::pair("text_encoder", 48)}) {
    const Json& modules = (*json)[component];
    ASSERT_EQ(modules.size(), static_cast<size_t>(count));
    for (size_t i = 0; i < modules.size(); ++i)
      EXPECT_EQ(found_by(resolver, concat(component, ":", i, ":up"), "up"),
                concat(component, ".", modules[i][0].get<std::string>()));
    EXPECT_EQ(found_by(resolver, concat(component, ":", count, ":up"), "up"), "nothing");
  }
}

// The tiny model as it is opened, with its adapters of the same content under different names.
class TinyModel : public testing::Test {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sd1");
    const auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    auto built = model::build_model(*files);
    ASSERT_TRUE(built) << built.error().message;
    model_ = *std::move(built);
    auto resolver = Resolver::build(model::name_table(model_));
    ASSERT_TRUE(resolver) << resolver.error().message;
    resolver_ = std::make_unique<Resolver>(*std::move(resolver));
  }
  Resolution resolve(const std::string& path) {
    auto adapter = open_adapter(test::data_path(path));
    EXPECT_TRUE(adapter) << adapter.error().message;
    adapters_.push_back(*adapter);
    auto resolution = resolver_->resolve(**adapter);
    EXPECT_TRUE(resolution) << resolution.error().message;
    return resolution ? *std::move(resolution) : Resolution();
  }
  std::set<std::string> layers_of(const std::string& path) {
    std::set<std::string> names;
    const Resolution resolution = resolve(path);
    EXPECT_TRUE(resolution.unmatched.empty() && resolution.ignored.empty() && resolution.contradictions.empty());
    for (const SiteKeys& site : resolution.sites) names.insert(site.sites.front().layer->name);
    return names;
  }
  model::Model model_;
  std::unique_ptr<Resolver> resolver_;
  std::vector<std::shared_ptr<const Adapter>> adapters_;
};

TEST_F(TinyModel, OneAdapterInFourSpellings) {
  const std::set<std::string> layers = layers_of("tiny-sd1/adapters/lora.safetensors");
  EXPECT_EQ(layers.size(), 60u);
  for (const char* spelling : {"original", "peft", "processor"})
    EXPECT_EQ(layers_of(concat("tiny-sd1/adapters/lora_", spelling, "_names.safetensors")), layers) << spelling;
}

TEST_F(TinyModel, EveryAdapterOfItResolves) {
  for (const char* name : {"boft", "dora", "full_norm", "glora", "ia3", "locon", "locon_cp", "loha", "loha_cp", "lokr",
                           "lokr_full", "oft", "oft_constrained", "peft_bias", "peft_dora", "peft_rslora"})
    EXPECT_FALSE(layers_of(concat("tiny-sd1/adapters/", name, ".safetensors")).empty()) << name;
}

TEST_F(TinyModel, FilesWithDefects) {
  struct Counts {
    const char* file;
    size_t sites, unmatched, ignored, contradictions;
  };
  const Counts cases[] = {
      {"shape_mismatch", 2, 0, 0, 0},
      {"unknown_keys", 1, 2, 0, 0},
      {"wrong_family_sdxl", 0, 2, 0, 0},
      {"alpha_zero", 1, 0, 0, 0},
      {"duplicate_spellings_equal", 1, 0, 3, 0},
      {"duplicate_spellings_differ", 0, 0, 0, 1},
  };
  for (const Counts& expected : cases) {
    const Resolution found = resolve(concat("adapters/errors/", expected.file, ".safetensors"));
    EXPECT_EQ(found.sites.size(), expected.sites) << expected.file;
    EXPECT_EQ(found.unmatched.size(), expected.unmatched) << expected.file;
    EXPECT_EQ(found.ignored.size(), expected.ignored) << expected.file;
    EXPECT_EQ(found.contradictions.size(), expected.contradictions) << expected.file;
  }
}

TEST_F(TinyModel, BlocksOfItsLayers) {
  std::map<std::string, std::string> blocks;
  for (const nn::Layer& layer : model_.denoiser->layers().all())
    blocks[layer.name] = std::string(resolver_->block_of(layer));
  EXPECT_EQ(blocks["unet.conv_in"], "input_blocks.0");
  EXPECT_EQ(blocks["unet.mid_block.attentions.0.proj_in"], "middle_block.1");
  EXPECT_EQ(blocks["unet.up_blocks.1.attentions.1.proj_in"], "output_blocks.3");
  EXPECT_EQ(blocks["unet.time_embedding.linear_1"], "");
}

}  // namespace
}  // namespace veneer::adapt
