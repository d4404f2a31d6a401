// Programs of every kind of term on every kind of layer, run as the product runs them, against the adapted weight in
// double. Whatever route a term takes, and however many there are, the result is that of one matrix.
#include "nn/overlay.h"

#include <algorithm>
#include <cstring>

#include "codec/encode.h"
#include "nn/adapted_rows.h"
#include "nn/operations.h"
#include "one_layer.h"

namespace veneer::nn {
namespace {

Tensor random_tensor(const Shape& shape, uint32_t seed, float scale = 1) {
  Tensor tensor = Tensor::from(random_values(static_cast<size_t>(shape.elements()), seed), shape);
  for (float& value : tensor.values()) value *= scale;
  return tensor;
}

// Terms that fit a layer, made from a seed.
struct TermMaker {
  const Layer& layer;
  uint32_t seed;

  int64_t out() const { return layer.out(); }
  Shape with_columns(int64_t rows) const {
    Shape shape = layer.weight.shape;
    shape[0] = rows;
    return shape;
  }
  Term pair() const { return Pair{random_tensor(with_columns(3), seed), random_tensor({out(), 3}, seed + 1), 0.3f}; }
  Term input_pair() const {
    return Pair{random_tensor({2, layer.in()}, seed), random_tensor({layer.in(), 2}, seed + 1), 0.1f, Side::kInput};
  }
  // Inputs and outputs in groups of 2 and 3.
  Term kron(bool split) const {
    Shape right = layer.weight.shape;
    right[0] = split ? 2 : out() / 3;
    right[1] = layer.in() / 2;
    return Kron{random_tensor({3, 2}, seed), random_tensor(right, seed + 1, 0.3f),
                split ? random_tensor({out() / 3, 2}, seed + 2) : Tensor(), 0.5f};
  }
  Term dense(bool of_base) const {
    Dense dense;
    dense.needs_base = of_base;
    dense.what = "test";
    const Tensor values = random_tensor(layer.weight.shape, seed, 0.2f);
    dense.rows = [values, of_base](int64_t first, int64_t count, float* rows) {
      const int64_t width = values.elements() / values.shape[0];
      for (int64_t i = 0; i < count * width; ++i)
        rows[i] = values.f32()[first * width + i] * (of_base ? rows[i] : 1.0f);
    };
    return dense;
  }
  Term gain(Side side) const {
    Tensor factors = random_tensor({side == Side::kOutput ? out() : layer.in()}, seed, 0.1f);
    for (float& value : factors.values()) value += 1;
    return Gain{factors, side};
  }
  Term rotate(Side side, bool permuted) const {
    const int64_t channels = side == Side::kOutput ? out() : layer.in(), n = channels / 2;
    Rotate rotate{random_tensor({2, n, n}, seed, 0.3f), {}, side};
    if (permuted) {
      rotate.order.resize(static_cast<size_t>(channels));
      for (size_t i = 0; i < rotate.order.size(); ++i) rotate.order[i] = static_cast<int32_t>(i);
      std::shuffle(rotate.order.begin(), rotate.order.end(), std::mt19937(seed));
    }
    return rotate;
  }
  Term bias() const { return Vector{Vector::Of::kBias, random_tensor({out()}, seed)}; }
};

// The programs of several adapters on one layer.
using Programs = std::vector<Program>;
Programs programs_of(const std::string& kind, const TermMaker& make) {
  const TermMaker other{make.layer, make.seed + 50};
  if (kind == "pair") return {{{make.pair()}, 0.7f}};
  if (kind == "kron") return {{{make.kron(false)}, 0.7f}};
  if (kind == "kron_split") return {{{make.kron(true)}, -1.0f}};
  if (kind == "dense") return {{{make.dense(false)}, 0.7f}};
  if (kind == "dense_of_base") return {{{make.dense(true)}, 0.7f}};
  if (kind == "bias") return {{{make.bias()}, 0.5f}};
  if (kind == "gain_out") return {{{make.gain(Side::kOutput)}, 0.7f}};
  if (kind == "gain_in") return {{{make.gain(Side::kInput)}, 0.7f}};
  if (kind == "rotate_out") return {{{make.rotate(Side::kOutput, false)}, 0.7f}};
  if (kind == "rotate_in") return {{{make.rotate(Side::kInput, true)}, 0.7f}};
  if (kind == "stages")
    return {{{make.rotate(Side::kOutput, false), other.rotate(Side::kOutput, true), make.gain(Side::kOutput)}, 1.0f}};
  if (kind == "both_sides") return {{{make.rotate(Side::kInput, true), make.gain(Side::kOutput)}, 0.7f}};
  if (kind == "gained_pair") return {{{make.pair(), make.gain(Side::kOutput)}, 0.7f}};
  if (kind == "gained_kron") return {{{make.kron(false), make.gain(Side::kOutput)}, 0.7f}};
  if (kind == "gained_dense_of_base") return {{{make.dense(true), make.gain(Side::kOutput)}, 0.7f}};
  if (kind == "pair_on_gained_input") return {{{make.gain(Side::kInput), make.pair()}, 0.7f}};
  if (kind == "pair_before_input_pair") return {{{make.pair(), make.input_pair()}, 0.7f}};
  if (kind == "two_pairs") return {{{make.pair()}, 0.7f}, {{other.pair()}, -0.4f}};
  if (kind == "gain_and_pair") return {{{make.gain(Side::kOutput)}, 0.7f}, {{other.pair()}, -0.4f}};
  if (kind == "two_gains") return {{{make.gain(Side::kOutput)}, 0.7f}, {{other.gain(Side::kOutput)}, -0.4f}};
  if (kind == "gain_and_dense") return {{{make.gain(Side::kOutput)}, 0.7f}, {{other.dense(true)}, 0.4f}};
  if (kind == "everything")
    return {{{make.pair(), make.bias()}, 0.7f},
            {{make.rotate(Side::kOutput, true)}, 0.5f},
            {{make.gain(Side::kInput), other.pair()}, -0.4f},
            {{other.gain(Side::kOutput)}, 0.3f},
            {{other.kron(true)}, 0.2f},
            {{other.dense(false)}, 0.2f}};
  ADD_FAILURE() << kind;
  return {};
}

constexpr const char* kKinds[] = {"pair",
                                  "kron",
                                  "kron_split",
                                  "dense",
                                  "dense_of_base",
                                  "bias",
                                  "gain_out",
                                  "gain_in",
                                  "rotate_out",
                                  "rotate_in",
                                  "stages",
                                  "both_sides",
                                  "gained_pair",
                                  "gained_kron",
                                  "two_pairs",
                                  "gain_and_pair",
                                  "two_gains",
                                  "everything",
                                  "gain_and_dense",
                                  "gained_dense_of_base",
                                  "pair_on_gained_input",
                                  "pair_before_input_pair"};

struct Kind {
  Shape shape;
  ConvGeometry geometry;
};
const Kind kLayers[] = {{{24, 40}, {}},
                        {{12, 8, 1, 1}, {}},
                        {{12, 8, 3, 3}, ConvGeometry::same(3)},
                        {{12, 8, 3, 3}, ConvGeometry::same(3, 2)}};

class Overlays : public OneLayer {
 protected:
  // Within the rounding of a float32 product: its own terms, twice over because intermediate results are rounded too.
  void expect_adapted(const Layer& layer, const Programs& programs, const OverlayOptions& options) {
    const OverlaySet overlays{make_overlay(layer, programs, options)};
    ASSERT_NE(overlays[0], nullptr);
    const Shape& shape = layer.weight.shape;
    const Tensor x = random_tensor({2, 5, 4, layer.in()}, 3);
    Layer adapted = layer;
    const std::vector<double> bias = adapted_vector(layer, programs, Vector::Of::kBias);
    adapted.bias.assign(bias.begin(), bias.end());
    const std::vector<double> expected = reference(adapted, adapted_rows(layer, programs, 0, layer.out()), shape, x);
    expect_close(run(layer, x, &overlays), expected, 4 * layer.weight.row_values());
    PanelCache panels(size_t{1} << 20);
    for (int pass = 0; pass < 2; ++pass)
      expect_close(run(layer, x, &overlays, panels), expected, 4 * layer.weight.row_values());
  }
};

TEST_P(Overlays, EqualTheAdaptedWeight) {
  for (const Kind& kind : kLayers)
    for (const char* name : kKinds)
      for (const bool fold : {false, true}) {
        SCOPED_TRACE(concat(name, " on ", kind.shape.to_string(), fold ? " folded" : " beside"));
        const Layer layer = make_layer(kind.shape, kind.geometry, true, 6);
        expect_adapted(layer, programs_of(name, {layer, 11}), {fold, fold});
      }
}

TEST_P(Overlays, SliceOfAFusedLayer) {
  const Layer layer = make_layer({24, 40}, {}, true, 6);
  const Layer slice = make_layer({6, 40}, {}, true, 6);
  for (const char* name : {"pair", "bias", "gain_out", "rotate_out", "kron", "gained_pair", "both_sides"}) {
    SCOPED_TRACE(name);
    Programs programs = programs_of(name, {slice, 11});
    programs[0].first_row = 12;
    programs[0].rows = 6;
    expect_adapted(layer, programs, {});
  }
}

TEST_P(Overlays, ABiasIsMadeWhereThereIsNone) {
  const Layer layer = make_layer({24, 40}, {}, false, 6);
  expect_adapted(layer, programs_of("bias", {layer, 11}), {});
}

TEST_P(Overlays, AReplacementTakesTheWeightsPlace) {
  const Layer layer = make_layer({24, 40}, {}, true, 6), other = make_layer({24, 40}, {}, true, 99);
  const Program program{{Replace{other.weight}}};
  expect_adapted(layer, {program}, {});
}

// On a format with low-rank factors of its own the pairs may join them: one weight, no product more, the same sum.
TEST_P(Overlays, PairsJoinTheSideFactorsOfAFormat) {
  for (const char* form : {"sdnq_uint4", "sdnq_uint4_svd", "sdnq_int8"}) {
    SCOPED_TRACE(form);
    Layer layer = make_layer({24, 64}, {}, true, 6);
    const auto encoded = codec::encode(*codec::find_form(form), layer.weight.decode_all(), {24, 64}, "w");
    ASSERT_TRUE(encoded) << encoded.error().message;
    layer.weight = codec::decodable(*codec::find_form(form), *encoded, {24, 64}, "w");
    const Programs programs = programs_of("two_pairs", {layer, 11});
    const auto overlay = make_overlay(layer, programs, {.side_factors = true});
    ASSERT_TRUE(overlay->weight && overlay->beside.empty() && overlay->folded.empty());
    expect_adapted(layer, programs, {.side_factors = true});
    expect_adapted(layer, programs, {.fold_dense = false, .fold_pairs = false});
  }
}

TEST_P(Overlays, NeutralProgramsLeaveNothing) {
  const Layer layer = make_layer({24, 40}, {}, true, 6);
  Programs programs = programs_of("everything", {layer, 11});
  for (Program& program : programs) program.amount = 0;
  EXPECT_EQ(make_overlay(layer, programs, {}), nullptr);
}

// Panels that hold folded terms are the overlay's own: the plain layer is multiplied as before, bit for bit.
TEST_P(Overlays, ComeAndGoWithoutATrace) {
  const Layer layer = make_layer({24, 40}, {}, true, 6);
  const Tensor x = random_tensor({1, 1, 9, 40}, 3);
  PanelCache panels(size_t{1} << 20);
  const Tensor before = run(layer, x, nullptr, panels);
  for (const char* name : kKinds) {
    const OverlaySet overlays{make_overlay(layer, programs_of(name, {layer, 11}), {})};
    const Tensor with = run(layer, x, &overlays, panels);
    EXPECT_NE(std::memcmp(with.data, before.data, before.bytes()), 0) << name;
    const Tensor again = run(layer, x, &overlays, panels);
    EXPECT_EQ(std::memcmp(with.data, again.data, again.bytes()), 0) << name;
    panels.forget(overlays[0].get());
    const Tensor after = run(layer, x, nullptr, panels);
    EXPECT_EQ(std::memcmp(after.data, before.data, before.bytes()), 0) << name;
  }
}

// What a measuring arena counts is enough for the run itself.
TEST_P(Overlays, AreMeasured) {
  for (const char* name : kKinds) {
    const Layer layer = make_layer({12, 8, 3, 3}, ConvGeometry::same(3), true, 6);
    const OverlaySet overlays{make_overlay(layer, programs_of(name, {layer, 11}), {false, false})};
    const Tensor x = random_tensor({2, 5, 4, 8}, 3);
    const auto dry = device::make_dry_device();
    device::Arena measuring = device::Arena::measuring();
    PanelCache none(0);
    Context dry_context{*dry, measuring, none, &overlays};
    conv2d(dry_context, layer, x);
    device::Arena arena(measuring.peak());
    Context context{*device_, arena, none, &overlays};
    EXPECT_NO_THROW(conv2d(context, layer, x)) << name;
  }
}

TEST_P(Overlays, NormsAndEmbeddings) {
  device::Arena arena(size_t{1} << 20);
  PanelCache panels(0);
  Layer norm = make_layer({16}, {}, false, 6);
  norm.kind = LayerKind::kNorm;
  norm.gain = norm.weight.decode_all();
  norm.bias = random_values(16, 7);
  const Program vectors{
      {Vector{Vector::Of::kWeight, random_tensor({16}, 1)}, Vector{Vector::Of::kBias, random_tensor({16}, 2)}}, 0.5f};
  const OverlaySet of_norm{make_overlay(norm, {&vectors, 1}, {})};
  Layer adapted = norm;
  for (size_t i = 0; i < 16; ++i) {
    adapted.gain[i] += 0.5f * std::get<Vector>(vectors.terms[0]).delta.f32()[i];
    adapted.bias[i] += 0.5f * std::get<Vector>(vectors.terms[1]).delta.f32()[i];
  }
  const Tensor x = random_tensor({3, 16}, 3);
  Context with{*device_, arena, panels, &of_norm}, plain{*device_, arena, panels};
  const Tensor y = layer_norm(with, norm, x, 1e-5f), expected = layer_norm(plain, adapted, x, 1e-5f);
  EXPECT_EQ(std::memcmp(y.data, expected.data, y.bytes()), 0);

  Layer table = make_layer({10, 16}, {}, false, 8);
  table.kind = LayerKind::kEmbedding;
  const Programs pair = programs_of("pair", {table, 4});
  const OverlaySet of_table{make_overlay(table, pair, {})};
  Context lookup{*device_, arena, panels, &of_table};
  const std::vector<int32_t> ids{3, 9, 3};
  const Tensor rows = embed(lookup, table, ids);
  const std::vector<double> all = adapted_rows(table, pair, 0, 10);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t c = 0; c < 16; ++c)
      EXPECT_NEAR(rows.f32()[i * 16 + c], all[static_cast<size_t>(ids[static_cast<size_t>(i)] * 16 + c)], 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Devices, Overlays, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer::nn
