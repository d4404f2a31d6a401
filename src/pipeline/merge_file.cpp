// A merge: changes for the conversion, and the judgement of what it wrote.
#include "pipeline/merge_file.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "adapt/merged.h"
#include "codec/form_of.h"
#include "codec/sdnq_layout.h"
#include "core/format.h"
#include "nn/adapted_rows.h"
#include "pipeline/merge_changes.h"
#include "pipeline/workers.h"

namespace veneer::pipeline {
namespace {

constexpr double kLeastSurvival = 0.95, kMostError = 0.3;  // beyond these a layer is flagged
constexpr int64_t kBlockValues = int64_t{1} << 20;         // of a weight that are compared at a time

// One layer of the written model against what was wanted.
struct MergedLayer {
  std::string name, type;
  bool weight = false, bias = false;  // what changes
  adapt::AchievedSums sums;
};

// Both lie in their files in the same number format, scales included.
bool same_format(const codec::Weight& a, const codec::Weight& b) {
  if (a.codec != b.codec || (a.side == nullptr) != (b.side == nullptr)) return false;
  if (!a.side) return true;
  const codec::Weight *scale = a.side->find("scale"), *other = b.side->find("scale");
  return a.side->settings == b.side->settings && scale && other && scale->shape == other->shape;
}

// The form that the codes of a written weight were encoded in, without the ranks that the change has added.
std::optional<codec::Form> encoded_form(const codec::Weight& written, const std::optional<LowRankChange>& change) {
  if (const auto form = codec::form_of(written)) return form;
  if (written.codec->name != "sdnq") return std::nullopt;
  const auto layout = codec::sdnq_layout(written);
  if (!layout || !change || layout->rank < change->rank) return std::nullopt;
  return codec::SdnqForm{layout->type, layout->group, layout->rank - change->rank, nullptr, false};
}

// What the output would hold without the adapters: the source's values, or what its new format makes of them.
Result<std::vector<float>> plain_values(const codec::Weight& source, const codec::Weight& written,
                                        const std::optional<LowRankChange>& change) {
  std::vector<float> values = source.decode_all();
  if (same_format(source, written)) return values;
  const auto form = encoded_form(written, change);
  if (!form) return values;
  VENEER_TRY(encoded, codec::encode(*form, values, source.shape, source.name));
  return codec::decodable(*form, std::move(encoded), source.shape, source.name).decode_all();
}

Status compare_weight(const adapt::LayerPrograms& wanted, const codec::Weight& written, adapt::AchievedSums& sums) {
  const nn::Layer& layer = *wanted.layer;
  VENEER_TRY(plain, plain_values(layer.weight, written, low_rank_change(wanted)));
  const int64_t width = layer.weight.row_values();
  const int64_t step = std::clamp<int64_t>(kBlockValues / width, 1, layer.out());
  for (int64_t first = 0; first < layer.out(); first += step) {
    const int64_t count = std::min(step, layer.out() - first);
    const auto rows = nn::adapted_rows(layer, wanted.programs, first, count);
    std::vector<float> base(rows.size()), now(rows.size());
    layer.weight.decode_rows(first, count, base.data());
    written.decode_rows(first, count, now.data());
    const float* before = plain.data() + first * width;
    for (size_t i = 0; i < rows.size(); ++i) sums.add(0, rows[i] - base[i], static_cast<double>(now[i]) - before[i]);
  }
  return {};
}

void compare_vector(const std::vector<double>& wanted, std::span<const float> base, std::span<const float> now,
                    adapt::AchievedSums& sums) {
  for (size_t i = 0; i < wanted.size(); ++i) sums.add(base[i], wanted[i], now[i]);
}

Result<MergedLayer> compare(const adapt::LayerPrograms& wanted, const nn::Layer& written) {
  const nn::Layer& layer = *wanted.layer;
  MergedLayer merged{layer.name, codec::form_name(written.weight), changes_weight(wanted), changes_bias(wanted), {}};
  if (merged.weight && layer.kind == nn::LayerKind::kNorm)
    compare_vector(nn::adapted_vector(layer, wanted.programs, nn::Vector::Of::kWeight), layer.gain, written.gain,
                   merged.sums);
  else if (merged.weight)
    VENEER_TRY_STATUS(compare_weight(wanted, written.weight, merged.sums));
  if (merged.bias)
    compare_vector(nn::adapted_vector(layer, wanted.programs, nn::Vector::Of::kBias), layer.bias, written.bias,
                   merged.sums);
  return merged;
}

Result<std::vector<MergedLayer>> compare_all(std::span<const adapt::LayerPrograms> wanted,
                                             const std::filesystem::path& written, int threads) {
  io::ModelPaths paths;
  paths.model = written;
  VENEER_TRY(files, io::open_model_files(paths));
  VENEER_TRY(model, model::build_model(files));
  std::map<io::Part, const nn::LayerList*> lists;
  for (const auto& [part, network] : model.networks()) lists[part] = &network->layers();
  std::vector<MergedLayer> layers(wanted.size());
  VENEER_TRY_STATUS(on_threads(threads, wanted.size(), [&](size_t i) -> Status {
    const auto list = lists.find(wanted[i].part);
    const auto id = static_cast<size_t>(wanted[i].layer->id);
    VENEER_CHECK(list != lists.end() && id < list->second->size());
    VENEER_TRY(compared, compare(wanted[i], list->second->all()[id]));
    layers[i] = std::move(compared);
    return {};
  }));
  return layers;
}

struct TypeSums {
  int64_t layers = 0;
  adapt::AchievedSums sums;
};

std::map<std::string, TypeSums> by_type(const std::vector<MergedLayer>& layers) {
  std::map<std::string, TypeSums> types;
  for (const MergedLayer& layer : layers) {
    TypeSums& type = types[layer.type];
    ++type.layers;
    type.sums.add(layer.sums);
  }
  return types;
}

bool is_plain_float(std::string_view type) { return type == "f32" || type == "f16" || type == "bf16"; }

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

Status judge_merge(const std::vector<MergedLayer>& layers, const std::optional<double>& asked) {
  for (const auto& [type, sums] : by_type(layers)) {
    const adapt::Achieved achieved = sums.sums.result();
    if (!asked && is_plain_float(type)) continue;
    const double least = asked.value_or(kLeastSurvival);
    if (achieved.survival >= least) continue;
    return Error{
        ErrorCode::kVerifyFailed,
        concat("merge: ", type, " keeps ", percent_text(achieved.survival), " of the change, expected at least ",
               percent_text(least), " (--min-survival); merge into f16, or draw with the adapter as it is"),
        "--min-survival"};
  }
  return {};
}

Json figures(const adapt::AchievedSums& sums) {
  const adapt::Achieved achieved = sums.result();
  return {{"survival", achieved.survival}, {"error", achieved.error}};
}

Json merge_json(const std::vector<MergedLayer>& layers) {
  Json types = Json::array(), rows = Json::array(), flagged = Json::array();
  adapt::AchievedSums all;
  int64_t vectors = 0;
  for (const auto& [type, sums] : by_type(layers)) {
    types.push_back({{"type", type}, {"layers", sums.layers}});
    types.back().update(figures(sums.sums));
  }
  for (const MergedLayer& layer : layers) {
    all.add(layer.sums);
    vectors += layer.bias;
    rows.push_back({{"layer", layer.name}, {"type", layer.type}});
    rows.back().update(figures(layer.sums));
    const adapt::Achieved achieved = layer.sums.result();
    if (achieved.survival < kLeastSurvival || achieved.error > kMostError) flagged.push_back(layer.name);
  }
  Json total = {{"layers", layers.size()}, {"vectors", vectors}};
  total.update(figures(all));
  return {{"types", std::move(types)},
          {"total", std::move(total)},
          {"layers", std::move(rows)},
          {"flagged", std::move(flagged)}};
}

}  // namespace

Result<Json> merge_file(const AdaptedModel& model, std::span<const adapt::StackEntry> entries,
                        const MergeOptions& options, const Log& log, const ConvertProgress& progress,
                        const CancelFlag& cancel) {
  for (const auto& [part, content] : model.files().parts) VENEER_TRY_STATUS(content.weights.still_whole());
  constexpr adapt::Combine kCombine = adapt::Combine::kSum;
  VENEER_TRY(programs, adapt::layer_programs(adapt::canonical(entries, kCombine), kCombine));
  std::erase_if(programs, [](const auto& layer) { return !changes_weight(layer) && !changes_bias(layer); });
  VENEER_TRY(merged, MergeChanges::make(programs, model.files()));
  std::vector<MergedLayer> layers;
  ConvertChanges changes;
  changes.find = [&](const ConvertComponent& component, std::string_view name) { return merged.find(component, name); };
  changes.approve = [&](const std::filesystem::path& written) -> Status {
    VENEER_TRY_STATUS(merged.all_taken());
    VENEER_TRY(compared, compare_all(programs, written, options.convert.threads));
    layers = std::move(compared);
    return judge_merge(layers, options.min_survival);
  };
  VENEER_TRY(report, convert(options.convert, log, progress, cancel, &changes));
  report["merge"] = merge_json(layers);
  return report;
}

}  // namespace veneer::pipeline
