// Files with one defect each (tests/data/adapters/errors) on the tiny Stable Diffusion 1.x model: what every policy
// makes of them, where each key is counted, and the words that a user needs to mend the file.
#include <gtest/gtest.h>

#include "adapt/stack.h"
#include "core/format.h"
#include "model/model.h"
#include "model/spellings.h"
#include "tests/support/golden.h"

namespace veneer::adapt {
namespace {

enum class Outcome { kGoesOn, kError };

struct Defect {
  const char* file;
  KeyCounts keys;  // total, applied, refused, unmatched, ignored
  int64_t sites, sites_applied;
  Outcome report, strict;
  std::vector<const char*> words;  // of the error, or of the warning where the run goes on
};

void PrintTo(const Defect& defect, std::ostream* out) { *out << defect.file; }

constexpr const char* kToQ = "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q";
constexpr const char* kLayer = "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q";

const Defect kDefects[] = {
    {"shape_mismatch",
     {6, 3, 3, 0, 0},
     2,
     1,
     Outcome::kGoesOn,
     Outcome::kError,
     {"Only (3 / 6)", kToQ, "[", "layer is"}},
    {"missing_up", {5, 3, 2, 0, 0}, 2, 1, Outcome::kGoesOn, Outcome::kError, {"Only (3 / 5)", kToQ, "up"}},
    {"zero_rank", {5, 3, 2, 0, 0}, 2, 1, Outcome::kGoesOn, Outcome::kError, {"Only (3 / 5)", kToQ, "rank 0"}},
    {"rank_mismatch", {3, 0, 3, 0, 0}, 1, 0, Outcome::kError, Outcome::kError, {"no tensor of", kToQ, "rank"}},
    {"nan", {3, 0, 3, 0, 0}, 1, 0, Outcome::kError, Outcome::kError, {kToQ, "non-finite"}},
    {"inf", {3, 0, 3, 0, 0}, 1, 0, Outcome::kError, Outcome::kError, {kToQ, "non-finite"}},
    {"duplicate_spellings_differ",
     {6, 0, 6, 0, 0},
     0,
     0,
     Outcome::kError,
     Outcome::kError,
     {"two spellings", kToQ, "lora_unet_input_blocks_1_1_transformer_blocks_0_attn1_to_q"}},
    {"unknown_keys",
     {7, 3, 0, 4, 0},
     1,
     1,
     Outcome::kGoesOn,
     Outcome::kError,
     {"Only (3 / 7)", "unmatched=4", "nearest known: lora_unet_"}},
    {"wrong_family_sdxl",
     {6, 0, 0, 6, 0},
     0,
     0,
     Outcome::kError,
     Outcome::kError,
     {"no tensor of", "SDXL", "the loaded model is SD 1.x"}},
    {"alpha_zero", {3, 3, 0, 0, 0}, 1, 1, Outcome::kGoesOn, Outcome::kGoesOn, {kLayer, "alpha is 0"}},
    {"all_zero_up", {3, 3, 0, 0, 0}, 1, 1, Outcome::kGoesOn, Outcome::kGoesOn, {kLayer, "zero"}},
    {"duplicate_spellings_equal", {6, 3, 0, 0, 3}, 1, 1, Outcome::kGoesOn, Outcome::kGoesOn, {"ignored=3"}},
};

class Errors : public testing::TestWithParam<Defect> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sd1");
    const auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    model_ = *model::build_model(*files);
    resolver_ = *Resolver::build(model::name_table(model_));
    auto adapter = open_adapter(test::data_path(concat("adapters/errors/", GetParam().file, ".safetensors")));
    ASSERT_TRUE(adapter) << adapter.error().message;
    auto fitted = fit(*adapter, *resolver_, {}, model_.family->name);
    ASSERT_TRUE(fitted) << fitted.error().message;
    fitted_ = *fitted;
  }

  void expect_words(const std::string& text) const {
    for (const char* word : GetParam().words) EXPECT_TRUE(contains(text, word)) << word << " in: " << text;
  }

  model::Model model_;
  std::optional<Resolver> resolver_;
  std::shared_ptr<const Fitted> fitted_;
};

TEST_P(Errors, CountEveryKeyOnce) {
  const Defect& defect = GetParam();
  const KeyCounts &found = fitted_->account.keys, &wanted = defect.keys;
  EXPECT_EQ(found.total, wanted.total);
  EXPECT_EQ(found.applied, wanted.applied);
  EXPECT_EQ(found.refused, wanted.refused);
  EXPECT_EQ(found.unmatched, wanted.unmatched);
  EXPECT_EQ(found.ignored, wanted.ignored);
  const auto& components = fitted_->account.components;
  const auto denoiser = components.find(io::Part::kDenoiser);
  EXPECT_EQ(denoiser == components.end() ? 0 : denoiser->second.sites, defect.sites);
  EXPECT_EQ(denoiser == components.end() ? 0 : denoiser->second.applied, defect.sites_applied);
  EXPECT_EQ(static_cast<int64_t>(fitted_->sites.size()), defect.sites_applied);
}

TEST_P(Errors, AreErrorsWhereThePolicySaysSo) {
  for (const Policy policy : {Policy::kReport, Policy::kStrict}) {
    SCOPED_TRACE(name_of(policy));
    const Verdict verdict = judge(*fitted_, policy);
    const Outcome wanted = policy == Policy::kReport ? GetParam().report : GetParam().strict;
    ASSERT_EQ(verdict.error.has_value(), wanted == Outcome::kError)
        << (verdict.error ? verdict.error->message : "goes on");
    EXPECT_FALSE(verdict.left_out);
    if (verdict.error) {
      expect_words(verdict.error->message);
      EXPECT_TRUE(contains(verdict.error->message, GetParam().file)) << verdict.error->message;
    } else {
      EXPECT_EQ(verdict.warnings.size(), 1u);
      expect_words(join(verdict.warnings, "\n"));
    }
  }
}

TEST_P(Errors, AreWarningsToTheLenient) {
  const Verdict verdict = judge(*fitted_, Policy::kLenient);
  EXPECT_FALSE(verdict.error);
  EXPECT_EQ(verdict.left_out, GetParam().keys.applied == 0);
  expect_words(join(verdict.warnings, "\n"));
}

INSTANTIATE_TEST_SUITE_P(Files, Errors, testing::ValuesIn(kDefects),
                         [](const auto& defect) { return std::string(defect.param.file); });

}  // namespace
}  // namespace veneer::adapt
