// Merged copies, row block by row block.
#include "adapt/merged.h"

#include <cmath>

#include "nn/adapted_rows.h"

namespace veneer::adapt {

void AchievedSums::add(const AchievedSums& other) {
  dd_ += other.dd_;
  ad_ += other.ad_;
  ee_ += other.ee_;
}

Achieved AchievedSums::result() const {
  if (dd_ == 0) return {1, ee_ == 0 ? 0.0 : HUGE_VAL};
  return {ad_ / dd_, std::sqrt(ee_ / dd_)};
}

nn::Layer layer_after(const nn::Layer& layer, const nn::Program& program) {
  const std::vector<double> rows = nn::adapted_rows(layer, {&program, 1}, 0, layer.out());
  nn::Layer after = layer;
  after.weight = codec::weight_from(std::vector<float>(rows.begin(), rows.end()), layer.weight.shape,
                                    *codec::find_codec("f32"), layer.weight.name);
  return after;
}

std::vector<double> wanted_weight(const nn::Layer& layer, std::span<const nn::Program> programs, Combine combine) {
  if (combine == Combine::kSum || programs.size() < 2) return nn::adapted_rows(layer, programs, 0, layer.out());
  nn::Layer running = layer_after(layer, programs.front());
  for (const nn::Program& program : programs.subspan(1, programs.size() - 2)) running = layer_after(running, program);
  return nn::adapted_rows(running, programs.last(1), 0, layer.out());
}

Merged merge_layer(const nn::Layer& layer, std::span<const nn::Program> programs, Combine combine,
                   const codec::Codec& codec) {
  const std::vector<double> wanted = wanted_weight(layer, programs, combine);
  const std::vector<float> rounded(wanted.begin(), wanted.end());
  Merged merged{codec::weight_from(rounded, layer.weight.shape, codec, layer.weight.name), {}};
  const std::vector<float> base = layer.weight.decode_all(), achieved = merged.weight.decode_all();
  for (size_t i = 0; i < base.size(); ++i) merged.sums.add(base[i], wanted[i], achieved[i]);
  return merged;
}

}  // namespace veneer::adapt
