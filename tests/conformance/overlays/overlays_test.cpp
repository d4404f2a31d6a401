// Every family of adapters on weights of every stored form, in every mode, on every device: the output is that of the
// adapted weight in double, the route is the one that the decision table gives, and `immediately` tells what it could
// not have, and nothing else does.
//
// Tolerance, of what a sum of absolute values could reach: 3e-6 for float32 sums whatever their order; for a merged
// copy half a unit in the last place of the type that it is held in on top.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <random>

#include "adapt/stack.h"
#include "device/devices.h"
#include "nn/adapted_rows.h"
#include "nn/product.h"
#include "tests/golden/adapt/case.h"
#include "tests/support/weight_kinds.h"
#include "tests/unit/adapt/fitted_support.h"

namespace veneer::adapt {
namespace {

using nn::Route;

struct Form {
  const char* name;
  const char* device;
  bool strict;
  // Computes as another form does: only the kinds of weights between which the decision table distinguishes.
  bool decisions_only;
  // Held types that float32 can not be added to where the weights lie.
  std::vector<std::string_view> no_add = {};
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.device; }

const Form kForms[] = {
    {"ref", "ref", true, false},
    {"cpu", "cpu", false, false},
    {"cpu_strict", "cpu", true, true},
    {"host_memory_needs_no_probe", "mask(cpu; no-add=f16; no-add=bf16)", false, true},
    {"device_memory", "mask(cpu; device-memory)", false, true},
    {"no_f16", "mask(cpu; device-memory; no-add=f16)", false, true, {"f16"}},
    {"no_f16_no_bf16", "mask(cpu; device-memory; no-add=f16; no-add=bf16)", false, true, {"f16", "bf16"}},
};

const std::vector<std::string> kDecisiveKinds = {"f32",     "f16",         "bf16", "f8_e4m3",
                                                 "f8_e5m2", "int8_scaled", "q4_0", "sdnq:uint4"};

constexpr double kStrength = 0.7;

// The layer of a case with its weight in another form, and the case's adapters on it.
class Subject {
 public:
  Subject(const veneer::test::AdapterCase& one, codec::Weight weight) {
    nn::Layer with_weight = one.layer;
    with_weight.weight = std::move(weight);
    layer_ = layers_.add(std::move(with_weight));
    for (size_t i = 0; i < one.groups.size(); ++i)
      add(one.groups[i], i, one.multipliers.empty() ? kStrength : one.multipliers[i]);
    make_input();
    evaluate();
  }
  Subject(const Subject&) = delete;  // entries point to the layer

  const nn::Layer& layer() const { return *layer_; }
  const nn::LayerList& layers() const { return layers_; }
  const std::vector<StackEntry>& entries() const { return entries_; }
  const Tensor& x() const { return x_; }
  const std::vector<double>& expected() const { return expected_; }
  double largest() const { return largest_; }

  const std::vector<nn::Program>& programs() const { return programs_; }
  bool any_term(bool (*predicate)(const nn::Term&)) const {
    return std::ranges::any_of(programs_, [&](const auto& p) { return std::ranges::any_of(p.terms, predicate); });
  }

 private:
  void add(const KeyGroup& group, size_t at, double strength) {
    entries_.push_back(test::entry_of(test::fitted_to(std::to_string(at), {{layer_, group}}), strength));
    LowerOptions options;
    options.strength = strength;
    const auto lowered = lower(group, {layer_, 0, layer_->out()}, options);
    ASSERT_TRUE(lowered) << lowered.error().message;
    programs_.push_back({lowered->terms, lowered->strength_inside ? 1.0f : static_cast<float>(strength)});
  }

  void make_input() {
    const bool image = layer_->kind == nn::LayerKind::kConv2d;
    x_ = Tensor::zeros(image ? Shape{1, 5, 4, layer_->in()} : Shape{1, 1, 5, layer_->in()});
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    for (float& value : x_.values()) value = normal(generator);
  }

  // y = W' x + b by the layer's definition, and the largest sum of the absolute values of its products.
  void evaluate() {
    const std::vector<double> weight = nn::adapted_rows(*layer_, programs_, 0, layer_->out());
    const std::vector<double> bias = nn::adapted_vector(*layer_, programs_, nn::Vector::Of::kBias);
    const int64_t kernel = layer_->kernel();
    for (int64_t r = 0; r < layer_->geometry.out_height(x_.shape[1], kernel); ++r)
      for (int64_t c = 0; c < layer_->geometry.out_width(x_.shape[2], kernel); ++c)
        for (int64_t o = 0; o < layer_->out(); ++o)
          add_output(weight.data() + o * layer_->weight.row_values(), r, c, o, bias[static_cast<size_t>(o)]);
  }

  void add_output(const double* row, int64_t r, int64_t c, int64_t o, double bias) {
    const auto& g = layer_->geometry;
    const int64_t kernel = layer_->kernel(), in = layer_->in() / g.groups, first = o / (layer_->out() / g.groups) * in;
    double sum = bias, size = std::abs(bias);
    for (int64_t i = 0; i < in * kernel * kernel; ++i) {
      const int64_t y = r * g.stride + i / kernel % kernel - g.pad_top, x = c * g.stride + i % kernel - g.pad_left;
      if (y < 0 || x < 0 || y >= x_.shape[1] || x >= x_.shape[2]) continue;
      const double product = row[i] * x_.f32()[(y * x_.shape[2] + x) * layer_->in() + first + i / (kernel * kernel)];
      sum += product;
      size += std::abs(product);
    }
    expected_.push_back(sum);
    largest_ = std::max(largest_, size);
  }

  nn::LayerList layers_;
  const nn::Layer* layer_ = nullptr;
  std::vector<StackEntry> entries_;
  std::vector<nn::Program> programs_;  // at the strengths of the entries
  Tensor x_;
  std::vector<double> expected_;
  double largest_ = 0;
};

// The decision table: why the layer can not be merged, or empty.
std::string blocker(std::string_view held, const Form& form) {
  if (held == "f8_e4m3" || held == "f8_e5m2" || held == "f8_e4m3_scaled" || held == "f8_e5m2_scaled")
    return "denoiser: held as FP8";
  if (held == "f64") return "denoiser: held as F64";
  if (held != "f32" && held != "f16" && held != "bf16") return "denoiser: held quantized";
  if (std::ranges::find(form.no_add, held) != form.no_add.end())
    return concat("denoiser: the device can not add to ", held, " weights in its memory");
  return {};
}

bool multiplies(const nn::Term& term) { return !std::holds_alternative<nn::Vector>(term); }
bool turns(const nn::Term& term) { return nn::acts_on_input(term) || std::holds_alternative<nn::Rotate>(term); }

template <typename Term>
bool has(const nn::Program& program) {
  return std::ranges::any_of(program.terms, [](const nn::Term& term) { return std::holds_alternative<Term>(term); });
}
// It holds rows that are made on demand: a difference, or Kronecker factors whose rows have gains of their own.
bool is_dense(const nn::Program& program) {
  return has<nn::Dense>(program) || (has<nn::Kron>(program) && has<nn::Gain>(program));
}

double last_place(std::string_view held) { return std::ldexp(1.0, held == "f32" ? -24 : held == "f16" ? -11 : -8); }

// The largest errors of the exact routes on the processor, for docs/performance.md: written as a table to the file that
// VENEER_ERROR_TABLE names.
class ErrorTable : public testing::Environment {
 public:
  void add(const std::string& family, const std::string& kind, Route route, double error) {
    double& worst = errors_[family][group_of(kind)][route];
    worst = std::max(worst, error);
  }
  void TearDown() override {
    const char* path = std::getenv("VENEER_ERROR_TABLE");
    if (path == nullptr) return;
    std::ofstream file(path);
    file << "| family |";
    for (const char* group : kGroups) file << ' ' << group << " |";
    file << "\n| --- | --- | --- | --- | --- | --- |\n" << std::setprecision(1) << std::scientific;
    for (const auto& [family, groups] : errors_) {
      file << "| " << family << " |";
      for (const char* group : kGroups) {
        const auto found = groups.find(group);
        std::string_view before = " ";
        for (const auto& [route, error] : found == groups.end() ? std::map<Route, double>() : found->second) {
          file << before << name_of(route) << ' ' << error;
          before = ", ";
        }
        file << " |";
      }
      file << '\n';
    }
    EXPECT_TRUE(file.flush()) << path;
  }

 private:
  static constexpr const char* kGroups[] = {"floats of 16 bits and more", "8 and 4 bits with scales", "GGUF blocks",
                                            "SDNQ", "bitsandbytes"};
  static std::string group_of(const std::string& kind) {
    if (kind.starts_with("sdnq")) return kGroups[3];
    if (kind.starts_with("bnb")) return kGroups[4];
    if (kind == "f64" || kind == "f32" || kind == "f16" || kind == "bf16") return kGroups[0];
    if (kind.starts_with("f8") || kind.find("scaled") != std::string::npos || kind == "mxfp8") return kGroups[1];
    return kGroups[2];
  }
  std::map<std::string, std::map<std::string, std::map<Route, double>>> errors_;
};

ErrorTable& error_table() {
  static auto* const table = dynamic_cast<ErrorTable*>(testing::AddGlobalTestEnvironment(new ErrorTable));
  return *table;
}

class Matrix : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    auto device = device::open_device(GetParam().device, 2, GetParam().strict);
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
  }

  std::shared_ptr<const Stack> stack(const Subject& subject, ApplyMode mode) {
    StackOptions options;
    options.mode = mode;
    options.overlay.fold_pairs = !GetParam().strict;
    const StackPart part{io::Part::kDenoiser, &subject.layers(), device_.get()};
    auto built = build_stack(subject.entries(), {&part, 1}, options);
    EXPECT_TRUE(built) << built.error().message;
    return built ? *built : nullptr;
  }

  Tensor run(const Subject& subject, const Stack& stack) {
    nn::PanelCache panels(0);
    nn::Context context{*device_, arena_, panels, stack.overlays_of(io::Part::kDenoiser)};
    const nn::Layer& layer = subject.layer();
    return (layer.kind == nn::LayerKind::kConv2d ? nn::conv2d : nn::linear)(context, layer, subject.x()).clone();
  }

  // What the receipt has to say. Where pairs and rotations may be folded, which of the two routes is taken is a matter
  // of cost.
  void expect_account(const Subject& subject, ApplyMode mode, const Receipt& receipt) {
    const std::string_view held = subject.layer().weight.codec->name;
    const bool wants_copy = mode == ApplyMode::kImmediately && subject.any_term(multiplies);
    const std::string reason = wants_copy ? blocker(held, GetParam()) : "";
    const std::map<std::string, int64_t> none, one = {{reason, 1}};
    EXPECT_EQ(receipt.not_merged, reason.empty() ? none : one);
    ASSERT_EQ(receipt.layers.size(), 1u);
    const LayerAccount& account = receipt.layers[0];
    EXPECT_EQ(account.held, held);
    EXPECT_EQ(account.route == Route::kMerged, wants_copy && reason.empty());
    if (account.route == Route::kMerged) return;
    EXPECT_EQ(account.survival, 1);
    EXPECT_EQ(account.error, 0);
    const bool dense = std::ranges::any_of(subject.programs(), is_dense), folded = account.route == Route::kFolded;
    const bool turned = subject.any_term(turns);
    if (GetParam().strict || (dense && !turned)) {
      EXPECT_EQ(folded, dense && !turned);
    }
  }

  // The largest error, of what a sum of absolute values could reach.
  double expect_output(const Subject& subject, const Tensor& y, Route route) {
    const double tolerance = 3e-6 + (route == Route::kMerged ? last_place(subject.layer().weight.codec->name) : 0.0);
    EXPECT_EQ(y.elements(), static_cast<int64_t>(subject.expected().size()));
    double worst = 0;
    for (int64_t i = 0; i < y.elements(); ++i)
      worst = std::max(worst, std::abs(y.f32()[i] - subject.expected().at(static_cast<size_t>(i))));
    EXPECT_LE(worst, tolerance * subject.largest());
    return worst / subject.largest();
  }

  void check(const Subject& subject, const std::string& family, const std::string& kind) {
    const auto plain = stack(subject, ApplyMode::kAtRuntime);
    ASSERT_TRUE(plain);
    const Tensor at_runtime = run(subject, *plain);
    for (const ApplyMode mode : {ApplyMode::kAtRuntime, ApplyMode::kAuto, ApplyMode::kImmediately}) {
      SCOPED_TRACE(name_of(mode));
      const auto made = stack(subject, mode);
      ASSERT_TRUE(made);
      expect_account(subject, mode, made->receipt);
      const Tensor y = run(subject, *made);
      const Route route = made->receipt.layers[0].route;
      const double error = expect_output(subject, y, route);
      const bool merged = route == Route::kMerged;
      if (!merged && std::string_view(GetParam().name).starts_with("cpu"))
        error_table().add(family, kind, route, error);
      EXPECT_TRUE(merged || std::ranges::equal(y.values(), at_runtime.values()));
    }
  }

  std::unique_ptr<device::Device> device_;
  device::Arena arena_{size_t{8} << 20};
};

TEST_P(Matrix, GivesTheAdaptedWeightByTheRouteOfTheTable) {
  size_t checked = 0;
  const std::vector<veneer::test::AdapterCase> cases = veneer::test::load_adapter_cases();
  const std::vector<std::string> kinds = GetParam().decisions_only ? kDecisiveKinds : veneer::test::weight_kinds();
  for (const std::string& kind : kinds)
    for (const veneer::test::AdapterCase& one : cases) {
      // A norm multiplies no weight: its vectors are in float32 whatever the file holds.
      if (one.layer.kind == nn::LayerKind::kNorm) continue;
      SCOPED_TRACE(concat(one.id, " on ", kind));
      auto weight = veneer::test::weight_of_kind(kind, one.layer.weight.shape, 3);
      if (!weight) continue;
      check(Subject(one, *std::move(weight)), one.family, kind);
      if (HasFailure()) return;
      ++checked;
    }
  EXPECT_GT(checked, 80 * kinds.size());
}

INSTANTIATE_TEST_SUITE_P(Devices, Matrix, testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace veneer::adapt
