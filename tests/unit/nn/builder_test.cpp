// Layers out of a store: what fits, what is refused, and with which words.
#include "nn/builder.h"

#include <gtest/gtest.h>

namespace veneer::nn {
namespace {

using device::ConvGeometry;

io::WeightStore store_of(const std::vector<std::pair<std::string, Shape>>& tensors) {
  io::WeightStore::Entries entries;
  for (const auto& [name, shape] : tensors) {
    const std::vector<float> values(static_cast<size_t>(shape.elements()), 0.5f);
    entries[name] = {codec::weight_from(values, shape, *codec::find_codec("f16"), "prefix." + name), "F16"};
  }
  return io::WeightStore(std::move(entries), {}, {});
}

TEST(LayerBuilder, TakesLayersAndCountsTheRest) {
  const auto store =
      store_of({{"a.weight", {4, 3}}, {"a.bias", {4}}, {"n.weight", {4}}, {"n.bias", {4}}, {"left.weight", {2, 2}}});
  LayerList layers;
  LayerBuilder builder(store, "unet", layers);
  const Layer* a = builder.linear("a", 4, 3);
  const Layer* n = builder.norm("n", 4, 2);
  ASSERT_TRUE(builder.status());
  EXPECT_EQ(a->name, "unet.a");
  EXPECT_EQ(a->bias, std::vector<float>(4, 0.5f));
  EXPECT_EQ(n->gain, std::vector<float>(4, 0.5f));
  EXPECT_EQ(n->id, 1);
  EXPECT_EQ(builder.unused(), std::vector<std::string>{"prefix.left.weight"});
}

TEST(LayerBuilder, AMatrixAndAPointwiseConvolutionAreTheSame) {
  const auto store = store_of({{"m.weight", {4, 3}}, {"c.weight", {4, 3, 1, 1}}});
  LayerList layers;
  LayerBuilder builder(store, "unet", layers);
  const Layer* m = builder.conv2d("m", 4, 3, 1, {}, Bias::kNone);
  const Layer* c = builder.linear("c", 4, 3, Bias::kNone);
  ASSERT_TRUE(builder.status());
  EXPECT_EQ(m->weight.shape, (Shape{4, 3, 1, 1}));
  EXPECT_TRUE(m->is_pointwise());
  EXPECT_EQ(c->weight.shape, (Shape{4, 3}));
}

TEST(LayerBuilder, NormsWithoutABiasAndTablesThatAreNoLayers) {
  const auto store = store_of({{"n.weight", {4}}, {"table", {6, 4}}});
  LayerList layers;
  LayerBuilder builder(store, "unet", layers);
  const Layer* n = builder.norm("n", 4, 1, Bias::kNone);
  const std::vector<float> table = builder.values("table", {6, 4});
  ASSERT_TRUE(builder.status());
  EXPECT_TRUE(n->bias.empty());
  EXPECT_EQ(table, std::vector<float>(24, 0.5f));
  EXPECT_EQ(layers.size(), 1u);
  EXPECT_TRUE(builder.unused().empty());
  EXPECT_TRUE(builder.values("table", {4, 6}).empty());
  EXPECT_EQ(builder.status().error().code, ErrorCode::kMismatch);
}

TEST(LayerBuilder, NamesWhatIsMissingOrHasAnotherShape) {
  const auto store = store_of({{"a.weight", {4, 3}}, {"k.weight", {4, 3, 3, 3}}, {"n.weight", {6}}, {"n.bias", {6}}});
  const auto problem = [&](const auto& build) {
    LayerList layers;
    LayerBuilder builder(store, "unet", layers);
    build(builder);
    const Status status = builder.status();
    EXPECT_FALSE(status);
    return status ? Error() : status.error();
  };
  const Error shape = problem([](LayerBuilder& b) { b.linear("a", 4, 5, Bias::kNone); });
  EXPECT_EQ(shape.code, ErrorCode::kMismatch);
  EXPECT_NE(shape.message.find("tensor prefix.a.weight: expected shape [4, 5], found [4, 3]"), std::string::npos)
      << shape.message;
  const Error bias = problem([](LayerBuilder& b) { b.linear("a", 4, 3); });
  EXPECT_EQ(bias.code, ErrorCode::kBadFile);
  EXPECT_NE(bias.message.find("a.bias"), std::string::npos);
  EXPECT_EQ(problem([](LayerBuilder& b) { b.linear("absent", 4, 3); }).code, ErrorCode::kBadFile);
  // A matrix on a convolution that looks further than one pixel is no spelling of it.
  EXPECT_EQ(problem([](LayerBuilder& b) { b.linear("k", 4, 27, Bias::kNone); }).code, ErrorCode::kMismatch);
  EXPECT_EQ(problem([](LayerBuilder& b) { b.norm("n", 6, 4); }).code, ErrorCode::kMismatch);
}

TEST(LayerBuilder, CountsFurtherProblems) {
  const auto store = store_of({});
  LayerList layers;
  LayerBuilder builder(store, "unet", layers);
  for (const char* name : {"a", "b", "c"}) builder.linear(name, LayerBuilder::kAny, 3);
  EXPECT_NE(builder.status().error().message.find("2 more problems"), std::string::npos);
}

}  // namespace
}  // namespace veneer::nn
