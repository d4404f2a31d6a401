// Converting: what must stay the same to the byte, what may differ and by how much, and what is refused without leaving
// anything behind.
#include "pipeline/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/format.h"
#include "io/container.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;
using io::write_f32;

const fs::path kFolder = test::data_path("tiny-sd1");
const fs::path kSingle = test::data_path("tiny-sd1/tiny-sd1-ldm.safetensors");

io::WeightStore open(const fs::path& file) {
  auto store = io::open_weights(file);
  EXPECT_TRUE(store) << store.error().message;
  return store ? *std::move(store) : io::WeightStore();
}

// Names, types, shapes and bytes.
void expect_same_tensors(const io::WeightStore& a, const io::WeightStore& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (const auto& [name, entry] : a.entries()) {
    const io::Entry* other = b.find(name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_EQ(entry.type_name, other->type_name) << name;
    EXPECT_EQ(entry.weight.shape, other->weight.shape) << name;
    EXPECT_TRUE(std::ranges::equal(entry.weight.bytes, other->weight.bytes)) << name;
  }
}

double relative_error(const codec::Weight& a, const codec::Weight& b) {
  const std::vector<float> x = a.decode_all(), y = b.decode_all();
  double errors = 0, values = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    errors += (x[i] - y[i]) * (x[i] - y[i]);
    values += x[i] * x[i];
  }
  return std::sqrt(errors / values);
}

class Convert : public testing::Test {
 protected:
  Result<Json> run(const fs::path& model, const fs::path& output, std::string_view type = "",
                   std::string_view rules = "", bool canonical = false) {
    auto parsed = io::TypeRules::parse(type, rules);
    EXPECT_TRUE(parsed) << parsed.error().message;
    ConvertOptions options;
    options.paths.model = model;
    options.output = output;
    options.rules = *std::move(parsed);
    options.canonical_names = canonical;
    options.threads = 2;
    return convert(options, Log(), {}, CancelFlag());
  }
  // Converts and opens the result.
  fs::path done(const fs::path& model, std::string_view name, std::string_view type = "", std::string_view rules = "",
                bool canonical = false) {
    auto report = run(model, scratch_ / name, type, rules, canonical);
    EXPECT_TRUE(report) << report.error().message;
    if (report) report_ = *std::move(report);
    return scratch_ / name;
  }
  Error refused(const fs::path& model, const fs::path& output, std::string_view type = "",
                std::string_view rules = "") {
    const auto report = run(model, output, type, rules);
    EXPECT_FALSE(report) << output;
    return report ? Error() : report.error();
  }
  size_t files_in_scratch() const {
    return static_cast<size_t>(std::distance(fs::recursive_directory_iterator(scratch_.path()), {}));
  }
  // What the report says of a target type.
  Json row(std::string_view type) const {
    for (const Json& candidate : report_["types"])
      if (candidate["type"] == type) return candidate;
    return {};
  }

  io::ScratchFolder scratch_;
  Json report_;
};

TEST_F(Convert, WithoutATypeEveryTensorStaysAsItIs) {
  expect_same_tensors(open(kSingle), open(done(kSingle, "same.safetensors")));
  EXPECT_TRUE(report_["types"].empty());
  EXPECT_EQ(report_["bytes_before"], report_["bytes_after"]);
  const fs::path gguf = done(kSingle, "q.gguf", "q8_0");
  const fs::path again = done(gguf, "again.gguf");
  expect_same_tensors(open(gguf), open(again));
  EXPECT_EQ(*read_text_file(gguf), *read_text_file(again));
}

TEST_F(Convert, ThereAndBackThroughAWiderTypeIsTheSame) {
  const fs::path half = done(kSingle, "half.safetensors", "f16");
  const fs::path back = done(done(half, "wide.safetensors", "f32"), "back.safetensors", "f16");
  expect_same_tensors(open(half), open(back));
  EXPECT_EQ(row("f16")["relative_error"], 0.0);
}

TEST_F(Convert, KeepsMetadata) {
  const fs::path source =
      write_f32(scratch_ / "a.safetensors", {{"a.weight", {1, 2}}}, {{"title", "tiny"}, {"n", "3"}});
  const io::WeightStore::Metadata expected = {{"n", "3"}, {"title", "tiny"}};
  EXPECT_EQ(open(done(source, "b.safetensors", "f16")).metadata(), expected);
  EXPECT_EQ(open(done(source, "c.gguf", "f16")).metadata(), expected);
  // A number of a GGUF file has a kind, which is not known any more.
  EXPECT_EQ(open(done(scratch_ / "c.gguf", "d.gguf")).metadata(), (io::WeightStore::Metadata{{"title", "tiny"}}));
}

// A folder becomes one file that is the same model: parts, weights, configurations.
TEST_F(Convert, AFolderBecomesOneFile) {
  io::ModelPaths folder, single;
  folder.model = kFolder;
  for (const bool canonical : {false, true})
    for (const char* name : {"m.safetensors", "m.gguf"}) {
      single.model = done(kFolder, concat(canonical, name), "", "", canonical);
      const auto before = io::open_model_files(folder), after = io::open_model_files(single);
      ASSERT_TRUE(before && after);
      EXPECT_EQ(after->scheduler_config, before->scheduler_config);
      ASSERT_EQ(after->parts.size(), before->parts.size());
      for (const auto& [part, content] : before->parts) {
        const io::ModelPart* other = after->find(part);
        ASSERT_NE(other, nullptr) << io::name_of(part);
        EXPECT_EQ(other->config, content.config);
        EXPECT_EQ(other->weights.bytes(), content.weights.bytes());
        if (!canonical) expect_same_tensors(content.weights, other->weights);
      }
      EXPECT_TRUE(after->unused_tensors.empty());
    }
}

TEST_F(Convert, CanonicalNamesAreTheOriginalOnes) {
  const io::WeightStore original = open(kSingle), written = open(done(kFolder, "n.safetensors", "", "", true));
  for (const auto& [name, entry] : written.entries())
    EXPECT_TRUE(original.contains(name) || name.ends_with("position_ids")) << name;
}

TEST_F(Convert, RulesGoByCanonicalNamesAndAreCounted) {
  const io::WeightStore store =
      open(done(kFolder, "m.safetensors", "f32", "input_blocks\\.1\\.0\\.in_layers\\.2=f8_e4m3,nowhere=bf16"));
  const io::Entry* hit = store.find("model.diffusion_model.down_blocks.0.resnets.0.conv1.weight");
  ASSERT_NE(hit, nullptr);
  EXPECT_EQ(hit->type_name, "F8_E4M3");
  const Json& rules = report_["rules"];
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0]["matched"], 2);  // weight and bias
  EXPECT_EQ(rules[0]["converted"], 1);
  EXPECT_EQ(rules[0]["left"], Json({{"names never converted", 1}}));
  EXPECT_EQ(rules[1]["matched"], 0);
  EXPECT_TRUE(rules[2]["rule"].is_null());
  ASSERT_EQ(report_["warnings"].size(), 1u);
  EXPECT_TRUE(contains(report_["warnings"][0].get<std::string>(), "\"nowhere\" matches no tensor"));
}

// Half a step of each format on numbers spread as weights are; a wrong scale would be far beyond.
TEST_F(Convert, ReportsTheErrorThatItAdds) {
  const std::pair<const char*, double> kLimits[] = {
      {"bf16", 0.004}, {"f8_e4m3", 0.04}, {"f8_e4m3_scaled", 0.04}, {"f8_e5m2_scaled_rows", 0.08}};
  for (const auto& [type, limit] : kLimits) {
    done(done(kSingle, "wide.safetensors", "f32"), concat(type, ".safetensors"), type);
    EXPECT_LT(row(type)["relative_error"], limit) << type;
    EXPECT_GT(row(type)["relative_error"], limit / 100) << type;
    EXPECT_GT(row(type)["tensors"], 0);
  }
}

TEST_F(Convert, ScaledWeightsComeBackAndLeaveNoSideTensors) {
  const fs::path scaled = done(kSingle, "s.safetensors", "f8_e4m3_scaled_rows");
  const io::WeightStore raw = open(scaled);
  EXPECT_TRUE(raw.metadata().contains("_quantization_metadata"));
  io::ModelPaths paths;
  paths.model = scaled;
  const auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  expect_same_tensors(raw, open(done(scaled, "kept.safetensors")));
  const io::WeightStore plain = open(done(scaled, "f.safetensors", "f32"));
  EXPECT_EQ(plain.entries().size(), open(kSingle).entries().size());
  EXPECT_FALSE(plain.metadata().contains("_quantization_metadata"));
  // One layer of many: its record and its scale go, those of the others stay.
  done(scaled, "one.safetensors", "", "input_blocks\\.1\\.0\\.in_layers\\.2=f32");
  const io::WeightStore one = open(scratch_ / "one.safetensors");
  EXPECT_EQ(one.entries().size(), raw.entries().size() - 1);
  paths.model = scratch_ / "one.safetensors";
  EXPECT_TRUE(io::open_model_files(paths));
}

TEST_F(Convert, SdnqFoldersComeBack) {
  for (const auto& [type, limit] :
       {std::pair("sdnq_int8", 0.02), std::pair("sdnq_uint4", 0.2), std::pair("sdnq_uint4_svd", 0.2)}) {
    const fs::path out = done(kFolder, type, type);
    EXPECT_TRUE(fs::exists(out / "tokenizer" / "merges.txt"));
    io::ModelPaths before, after;
    before.model = kFolder;
    after.model = out;
    const auto was = io::open_model_files(before), is = io::open_model_files(after);
    ASSERT_TRUE(was && is) << type;
    int64_t quantized = 0;
    for (const auto& [part, content] : was->parts)
      for (const auto& [name, entry] : content.weights.entries()) {
        const codec::Weight& weight = is->find(part)->weights.find(name)->weight;
        ASSERT_EQ(weight.shape, entry.weight.shape) << name;
        if (weight.codec->name != "sdnq") continue;
        ++quantized;
        EXPECT_LT(relative_error(entry.weight, weight), limit) << type << " " << name;
      }
    EXPECT_GT(quantized, 20) << type;
    const fs::path file = fs::path("unet") / "diffusion_pytorch_model.safetensors";
    const fs::path kept = done(out, concat(type, "-kept"));
    expect_same_tensors(open(out / file), open(kept / file));
    expect_same_tensors(open(out / file), open(done(out, concat(type, "-same"), type) / file));
    done(out, concat(type, "-plain"), "f16");
    EXPECT_FALSE(contains(*read_text_file(scratch_ / concat(type, "-plain/unet/config.json")), "quantization_config"));
  }
}

// Two kinds of SDNQ in one component are told apart by the configuration.
TEST_F(Convert, SdnqTypesCanBeMixed) {
  const fs::path out = done(kFolder, "mixed", "sdnq_uint4", "attn1=sdnq_int8,to_out=f16");
  io::ModelPaths paths;
  paths.model = done(out, "more", "", "ff\\.net=sdnq_int8_svd");
  const auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  const auto original = io::open_model_files({.model = kFolder});
  std::map<std::string, int> bits;
  for (const auto& [name, entry] : files->find(io::Part::kDenoiser)->weights.entries()) {
    if (!entry.weight.side) continue;
    ++bits[entry.type_name];
    const io::Entry* was = original->find(io::Part::kDenoiser)->weights.find(name);
    EXPECT_LT(relative_error(was->weight, entry.weight), 0.2) << name;
  }
  EXPECT_GT(bits["I8"], 0);
  EXPECT_GT(bits["U8"], 0);
}

TEST_F(Convert, PartOptionsTakeTheirPartsPlace) {
  const fs::path vae = done(kFolder / "vae", "vae.safetensors", "f8_e4m3");
  ConvertOptions options;
  options.paths = {.model = kFolder, .vae = vae};
  options.output = scratch_ / "both.safetensors";
  const auto report = convert(options, Log(), {}, CancelFlag());
  ASSERT_TRUE(report) << report.error().message;
  const io::WeightStore both = open(options.output);
  EXPECT_EQ(both.find("first_stage_model.decoder.conv_in.weight")->type_name, "F8_E4M3");
  EXPECT_NE(both.find("model.diffusion_model.conv_in.weight")->type_name, "F8_E4M3");
}

// F8 has no place in GGUF: refused as a target; widened, exactly, where a rule leaves such a tensor as it is.
TEST_F(Convert, GgufHasNoF8) {
  for (const char* type : {"f8_e4m3", "f8_e5m2_scaled", "sdnq_uint4"}) {
    const Error error = refused(kSingle, scratch_ / "x.gguf", type);
    EXPECT_EQ(error.code, ErrorCode::kUsage);
    EXPECT_TRUE(contains(error.message, concat(type, ": GGUF has no such type"))) << error.message;
  }
  EXPECT_EQ(refused(kSingle, scratch_ / "x.gguf", "f16", "attn=f8_e4m3").code, ErrorCode::kUsage);
  const fs::path f8 = done(kSingle, "f8.safetensors", "f8_e4m3");
  const Error kept = refused(f8, scratch_ / "x.gguf");
  EXPECT_EQ(kept.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(contains(kept.message, "f8_e4m3 has no place in a GGUF file")) << kept.message;
  const io::WeightStore narrow = open(f8), wide = open(done(f8, "w.gguf", "q8_0"));
  int64_t widened = 0;
  for (const auto& [name, entry] : wide.entries()) {
    const codec::Weight& was = narrow.find(name)->weight;
    if (was.codec->name != "f8_e4m3" || entry.type_name != "F16") continue;
    EXPECT_EQ(was.decode_all(), entry.weight.decode_all()) << name;
    ++widened;
  }
  EXPECT_GT(widened, 0);
}

TEST_F(Convert, RefusesWhatTheOutputCannotHold) {
  EXPECT_EQ(refused(kSingle, scratch_ / "x.safetensors", "q8_0").code, ErrorCode::kUsage);
  EXPECT_EQ(refused(kSingle, scratch_ / "x.safetensors", "sdnq_int8").code, ErrorCode::kUsage);
  EXPECT_EQ(refused(kSingle, scratch_ / "x.bin").code, ErrorCode::kUsage);
  EXPECT_EQ(refused(kSingle, scratch_ / "folder").code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused({}, scratch_ / "x.gguf").code, ErrorCode::kUsage);
  EXPECT_EQ(refused(scratch_ / "missing.safetensors", scratch_ / "x.gguf").code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(test::data_path("bad/safetensors/overlap.safetensors"), scratch_ / "x.gguf").code,
            ErrorCode::kBadFile);
  EXPECT_EQ(files_in_scratch(), 0u);
  const fs::path blocks = done(kSingle, "q.gguf", "q8_0");
  EXPECT_EQ(refused(blocks, scratch_ / "x.safetensors").code, ErrorCode::kUnsupported);
  const fs::path quantized = done(kFolder, "sdnq", "sdnq_int8");
  EXPECT_EQ(refused(quantized, scratch_ / "x.safetensors").code, ErrorCode::kUnsupported);
}

TEST_F(Convert, NeverWritesOverItsInput) {
  const fs::path source = scratch_ / "in.safetensors";
  fs::copy_file(kSingle, source);
  fs::create_symlink(source, scratch_ / "symlink.safetensors");
  fs::create_hard_link(source, scratch_ / "hardlink.safetensors");
  for (const char* name : {"in.safetensors", "symlink.safetensors", "hardlink.safetensors"}) {
    const Error error = refused(source, scratch_ / name, "f32");
    EXPECT_EQ(error.code, ErrorCode::kUsage) << name;
    EXPECT_TRUE(contains(error.message, "is what is being read")) << error.message;
  }
  EXPECT_EQ(refused(scratch_ / "symlink.safetensors", source).code, ErrorCode::kUsage);
  expect_same_tensors(open(kSingle), open(source));

  const fs::path folder = scratch_ / "model";
  fs::copy(kFolder, folder, fs::copy_options::recursive);
  fs::create_directory_symlink(folder, scratch_ / "link");
  for (const char* name : {"model", "model/", "model/inside", "link", "link/inside"})
    EXPECT_EQ(refused(folder, scratch_ / name).code, ErrorCode::kUsage) << name;
  EXPECT_EQ(refused(folder, folder / "unet" / "diffusion_pytorch_model.safetensors").code, ErrorCode::kUsage);
  fs::create_directory(scratch_ / "full");
  fs::create_directory(scratch_ / "full" / "x");
  EXPECT_EQ(refused(folder, scratch_ / "full").code, ErrorCode::kIo);
}

// Values that are not finite: named, the file that was there stays, and nothing is left behind. F8 saturates.
TEST_F(Convert, BrokenValuesAreNamed) {
  std::vector<float> values(64, 1.0f);
  values[3] = std::numeric_limits<float>::infinity();
  values[5] = std::nanf("");
  const fs::path source = write_f32(scratch_ / "in.safetensors", {{"broken.weight", values, {1, 64}}});
  const fs::path target = scratch_.write("out.gguf", "old");
  const size_t files = files_in_scratch();
  const Error error = refused(source, target, "q8_0");
  EXPECT_EQ(error.code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(error.message, "broken.weight")) << error.message;
  EXPECT_EQ(*read_text_file(target), "old");
  EXPECT_EQ(files_in_scratch(), files);
  done(source, "f8.safetensors", "f8_e4m3");
  EXPECT_EQ(report_["non_finite"], Json::array({Json({{"tensor", "broken.weight"}, {"values", 2}})}));
  EXPECT_EQ(open(scratch_ / "f8.safetensors").find("broken.weight")->weight.decode_all()[3], 448.0f);
}

TEST_F(Convert, CancelledItLeavesNothing) {
  ConvertOptions options;
  options.paths.model = kFolder;
  for (const char* name : {"x.safetensors", "folder"}) {
    options.output = scratch_ / name;
    CancelFlag cancel;
    const auto stop = [&cancel](uint64_t, uint64_t) { cancel.set(CancelMode::kAll); };
    const auto report = convert(options, Log(), stop, cancel);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(files_in_scratch(), 0u) << name;
  }
}

TEST_F(Convert, ProgressReachesTheEnd) {
  for (const char* type : {"", "f32", "f8_e4m3_scaled"}) {
    ConvertOptions options;
    options.paths.model = kFolder;
    options.output = scratch_ / "x.safetensors";
    options.rules = *io::TypeRules::parse(type, "");
    uint64_t last = 0, all = 0;
    const auto progress = [&](uint64_t done, uint64_t total) {
      EXPECT_GE(done, last);
      last = done;
      all = total;
    };
    ASSERT_TRUE(convert(options, Log(), progress, CancelFlag()));
    EXPECT_EQ(last, all) << type;
  }
}

}  // namespace
}  // namespace veneer::pipeline
