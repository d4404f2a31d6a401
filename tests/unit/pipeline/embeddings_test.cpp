// Words that stand for vectors, and strengths by block, over a whole session. The vectors of the tests are the tiny
// model's own rows for a few words, so that the picture must be the one that those words give, to the last byte.
#include "pipeline/embeddings.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/format.h"
#include "io/container.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::pipeline {
namespace {

using io::NamedValues;
using io::ScratchFolder;
using io::write_f32;

constexpr const char* kWords = "a photo of a cat";
constexpr int64_t kWidth = 32;
const std::string kLora = test::data_path("tiny-sd1/adapters/lora.safetensors").string();

std::vector<float> rows_of_words() {
  const auto tokenizer = text::ClipTokenizer::load_folder(test::data_path("tiny-sd1/tokenizer"));
  const auto store = io::open_weights(test::data_path("tiny-sd1/text_encoder/model.safetensors"));
  const auto table = store->weight("text_model.embeddings.token_embedding.weight");
  const auto ids = tokenizer->encode(kWords);
  EXPECT_TRUE(ids && table);
  std::vector<float> rows(ids->size() * kWidth);
  for (size_t i = 0; i < ids->size(); ++i) table->decode_rows((*ids)[i], 1, rows.data() + i * kWidth);
  return rows;
}

NamedValues vectors(const std::string& key, const std::vector<float>& rows = rows_of_words()) {
  return {key, rows, {static_cast<int64_t>(rows.size()) / kWidth, kWidth}};
}

// An adapter that changes nothing, with vectors beside.
std::filesystem::path write_bundle(const std::filesystem::path& path, std::vector<NamedValues> more,
                                   const std::map<std::string, std::string>& metadata = {}) {
  const std::string module = "lora_te_text_model_encoder_layers_0_self_attn_q_proj";
  more.push_back({module + ".lora_down.weight", std::vector<float>(kWidth, 1.0f), {1, kWidth}});
  more.push_back({module + ".lora_up.weight", std::vector<float>(kWidth, 0.0f), {kWidth, 1}});
  return write_f32(path, more, metadata);
}

class Embeddings : public testing::Test {
 protected:
  void open(const std::filesystem::path& directory = {}) {
    SessionOptions options;
    options.paths.model = test::data_path("tiny-sd1");
    options.threads = 2;
    options.embedding_dir = directory;
    auto session = Session::open(options, Log());
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }

  static Request request(const std::string& prompt, const std::vector<std::string>& adapters = {}) {
    Request request;
    request.prompt = prompt;
    request.width = request.height = 32;
    request.steps = 2;
    request.seed = 5;
    for (const std::string& value : adapters) {
      auto adapter = text::parse_adapter_option(value);
      EXPECT_TRUE(adapter) << adapter.error().message;
      request.adapters.adapters.push_back(*std::move(adapter));
    }
    return request;
  }

  RunResult draw(const Request& request) {
    auto result = session_->generate(request, {}, CancelFlag());
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : RunResult();
  }
  std::vector<uint8_t> pixels(const std::string& prompt, const std::vector<std::string>& adapters = {}) {
    return pixels_of(draw(request(prompt, adapters)));
  }
  static std::vector<uint8_t> pixels_of(const RunResult& result) {
    return result.pictures.empty() ? std::vector<uint8_t>() : result.pictures[0].image.pixels;
  }
  // What became of the first adapter's keys.
  static adapt::AdapterAccount account_of(const RunResult& result) {
    EXPECT_TRUE(result.report.stack);
    return result.report.stack ? result.report.stack->receipt.adapters.at(0) : adapt::AdapterAccount();
  }
  Error refusal(const Request& request) {
    const auto result = session_->generate(request, {}, CancelFlag());
    EXPECT_FALSE(result);
    return result ? Error() : result.error();
  }

  ScratchFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(Embeddings, FilesStandForTheirVectors) {
  open(folder_.path());
  const auto words = pixels(kWords), text = pixels("fox");
  EXPECT_NE(text, words);
  write_f32(folder_ / "Fox.safetensors", {vectors("emb_params")});  // seen without opening the session again
  EXPECT_EQ(pixels("fox"), words);
  EXPECT_EQ(pixels("(fox:1.5), grass"), pixels(concat("(", kWords, ":1.5), grass")));
  EXPECT_NE(pixels("foxes"), words);

  // Two words that make one text together.
  const std::vector<float> rows = rows_of_words();
  const auto middle = rows.begin() + kWidth * 2;
  write_f32(folder_ / "Fox.safetensors", {vectors("emb_params", {rows.begin(), middle})});
  write_f32(folder_ / "hen.safetensors", {vectors("emb_params", {middle, rows.end()})});
  EXPECT_EQ(pixels("fox hen"), words);
  EXPECT_NE(pixels("hen fox"), words);
  std::filesystem::remove(folder_ / "Fox.safetensors");
  EXPECT_EQ(pixels("fox"), text);
}

TEST_F(Embeddings, OnlyFilesThatAPromptMentionsAreOpened) {
  open(folder_.path());
  const auto plain = pixels("grass");
  folder_.write("bad.pt", "no tensors");
  write_f32(folder_ / "holed.safetensors", {{"emb_params", {std::numeric_limits<float>::infinity()}, {1, 1}}});
  EXPECT_EQ(pixels("grass"), plain);
  EXPECT_TRUE(contains(refusal(request("bad grass")).message, "bad.pt"));
  Request negative = request("grass");
  negative.negative_prompt = "holed";
  EXPECT_TRUE(contains(refusal(negative).message, "holed.safetensors: key emb_params"));
  write_f32(folder_ / "long.safetensors", {vectors("emb_params", std::vector<float>(76 * kWidth, 0.5f))});
  EXPECT_TRUE(contains(refusal(request("long")).message, "embedding long: has 76 rows"));
}

TEST_F(Embeddings, VectorsForAnotherTextEncoderLeaveTheWord) {
  open(folder_.path());
  const auto text = pixels("fox");
  write_f32(folder_ / "fox.safetensors", {{"clip_l", {1, 2}, {1, 2}}, {"clip_g", {1, 2, 3}, {1, 3}}});
  const RunResult result = draw(request("fox"));
  EXPECT_EQ(pixels_of(result), text);
  ASSERT_EQ(result.report.warnings.size(), 1u);
  EXPECT_TRUE(contains(result.report.warnings[0], "has vectors of 3 and 2 values, the text encoder takes 32"))
      << result.report.warnings[0];
}

TEST_F(Embeddings, AdaptersBringWordsWhateverTheirStrength) {
  open();
  const auto words = pixels(kWords);
  const std::string bundle = write_bundle(folder_ / "bundle.safetensors",
                                          {vectors("bundle_emb.fox.clip_l"), {"bundle_emb.fox.clip_g", {1}, {1, 1}}})
                                 .string();
  const RunResult result = draw(request("FOX", {bundle}));
  EXPECT_EQ(pixels_of(result), words);
  EXPECT_EQ(pixels("fox", {bundle + ":0"}), words);
  EXPECT_NE(pixels("fox"), words);  // gone with the adapter
  const adapt::AdapterAccount account = account_of(result);
  EXPECT_EQ(account.keys.total, 4);
  EXPECT_EQ(account.keys.applied, 3);
  EXPECT_EQ(account.words, std::vector<std::string>{"fox"});
  ASSERT_EQ(account.ignored.size(), 1u);
  EXPECT_EQ(account.ignored[0].rule, "vectors of 1 values are for another text encoder");

  const std::string tokens =
      write_bundle(folder_ / "tokens.safetensors", {vectors("<s1>")}, {{"<s1>", "<embed>"}}).string();
  EXPECT_EQ(pixels("<s1>", {tokens}), words);
}

TEST_F(Embeddings, TheAdapterWinsOverAFileOfTheSameName) {
  open(folder_.path());
  const auto words = pixels(kWords);
  const std::string bundle = write_bundle(folder_ / "adapter.safetensors", {vectors("bundle_emb.fox.clip_l")}).string();
  write_f32(folder_ / "fox.safetensors", {vectors("emb_params", std::vector<float>(kWidth, 0.5f))});
  EXPECT_NE(pixels("fox"), words);
  const RunResult result = draw(request("fox", {bundle}));
  EXPECT_EQ(pixels_of(result), words);
  ASSERT_FALSE(result.report.warnings.empty());
  EXPECT_TRUE(contains(result.report.warnings.back(), "fox.safetensors is not used")) << result.report.warnings.back();
}

TEST_F(Embeddings, BundledVectorsThatCannotBeUsed) {
  open();
  const std::string wide =
      write_bundle(folder_ / "wide.safetensors", {{"bundle_emb.fox.clip_l", {1, 2}, {1, 2}}}).string();
  const RunResult result = draw(request("fox", {wide}));
  const adapt::AdapterAccount account = account_of(result);
  ASSERT_EQ(account.refused.size(), 1u);
  EXPECT_EQ(account.refused[0].reason, "vectors of 2 values, the text encoder takes 32");
  EXPECT_TRUE(account.words.empty());

  std::vector<float> holed = rows_of_words();
  holed[3] = std::numeric_limits<float>::quiet_NaN();
  const std::string broken =
      write_bundle(folder_ / "broken.safetensors", {vectors("bundle_emb.fox.clip_l", holed)}).string();
  Request order = request("grass", {broken});
  EXPECT_TRUE(contains(refusal(order).message, "bundle_emb.fox.clip_l"));
  order.adapters.policy = adapt::Policy::kLenient;
  EXPECT_EQ(account_of(draw(order)).refused.size(), 1u);
}

TEST(BlockWeights, OfARequestAndBack) {
  for (const char* arguments : {"lbw=INS", "mid=0.3", "lbw=1,0.25,0,0,0,0,0,0,0,0,0,0.1:in=-2:out=0"}) {
    const auto request = text::parse_adapter_option(concat("x.pt:", arguments));
    ASSERT_TRUE(request);
    const auto weights = block_weights_of(*request);
    ASSERT_TRUE(weights && weights->has_value()) << arguments;
    const auto again = text::parse_adapter_option(concat("x.pt:", (*weights)->to_string()));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*block_weights_of(*again), *weights) << arguments;
  }
  EXPECT_FALSE(block_weights_of(*text::parse_adapter_option("x.pt:0.5:in=1:mid=1"))->has_value());
  const auto wrong = block_weights_of(*text::parse_adapter_option("x.pt:lbw=1,2"));
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("adapter x.pt: lbw=1,2: no order has 2 numbers"))
      << wrong.error().message;
}

TEST_F(Embeddings, BlockWeightsReachTheLayers) {
  open();
  const auto plain = pixels(kWords), whole = pixels(kWords, {kLora});
  EXPECT_NE(whole, plain);
  EXPECT_EQ(pixels(kWords, {kLora + ":lbw=NONE"}), plain);
  EXPECT_EQ(pixels(kWords, {kLora + ":lbw=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}), whole);
  EXPECT_NE(pixels(kWords, {kLora + ":in=0"}), whole);
  EXPECT_NE(pixels(kWords, {kLora + ":in=0"}), plain);
  // Parts of one file, whatever the order they are named in.
  const std::string in = kLora + ":mid=0:out=0", rest = kLora + ":in=0";
  EXPECT_EQ(pixels(kWords, {in, rest}), pixels(kWords, {rest, in}));
  EXPECT_EQ(pixels(kWords, {in, in}), pixels(kWords, {kLora + ":2:mid=0:out=0"}));
  EXPECT_EQ(account_of(draw(request(kWords, {in}))).blocks, "mid=0:out=0");
  EXPECT_TRUE(contains(refusal(request(kWords, {kLora + ":lbw=1,2"})).message, "no order has 2 numbers"));
}

// An encoder of which only the sizes count.
class SizedEncoder final : public model::TextEncoder {
 public:
  explicit SizedEncoder(int64_t width) : width_(width) {}
  Encoded encode(nn::Context&, const Input&) const override { return {}; }
  int64_t width() const override { return width_; }
  int64_t positions() const override { return 77; }
  int64_t vocabulary() const override { return 49408; }
  int64_t depth() const override { return 1; }

 private:
  int64_t width_;
};

// Stable Diffusion XL reads with two encoders; which vectors are whose is told by their width.
TEST(EmbeddingsOfTwoEncoders, GoToTheEncodersOfTheirWidths) {
  const auto xl = std::ranges::find(model::families(), "SDXL", &model::Family::name);
  model::Model model;
  model.family = &*xl;
  model.text_encoders.emplace(io::Part::kTextEncoder, std::make_unique<SizedEncoder>(768));
  model.text_encoders.emplace(io::Part::kTextEncoder2, std::make_unique<SizedEncoder>(1280));
  const auto vectors_of = [](int64_t count, int64_t width) { return Tensor::zeros({count, width}); };
  const adapt::Embedding bundled[] = {{"both", "a", {vectors_of(2, 1280), vectors_of(2, 768)}},
                                      {"first", "b", {vectors_of(3, 768)}},
                                      {"neither", "c", {vectors_of(1, 1024)}}};
  const auto prompts = parse_prompts("both, first, neither", "");
  ASSERT_TRUE(prompts);
  const auto found = find_words(*prompts, {{}, MappedFile::Mode::kMap, bundled}, model);
  ASSERT_TRUE(found) << found.error().message;
  const ExtraTokens &clip_l = found->tokens.at(io::Part::kTextEncoder),
                    &clip_g = found->tokens.at(io::Part::kTextEncoder2);
  ASSERT_EQ(clip_l.words.size(), 2u);
  EXPECT_EQ(clip_l.words[1].first_id, 49410);
  EXPECT_EQ(clip_l.rows.shape, (Shape{5, 768}));
  ASSERT_EQ(clip_g.words.size(), 1u);
  EXPECT_EQ(clip_g.words[0].first_id, 49408);
  EXPECT_EQ(clip_g.rows.shape, (Shape{2, 1280}));
  ASSERT_EQ(found->warnings.size(), 1u);
  EXPECT_TRUE(contains(found->warnings[0], "has vectors of 1024 values, the text encoder takes 768 and 1280"))
      << found->warnings[0];
}

}  // namespace
}  // namespace veneer::pipeline
