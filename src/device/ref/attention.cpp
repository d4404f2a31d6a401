// Attention by its definition: scores, softmax, weighted mean, one query at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/ref/kernels.h"

namespace veneer::device::ref {
namespace {

// Replaces scores by their softmax. Scores of -infinity count as very low ones, so that a row of nothing else is
// uniform.
void softmax(std::vector<double>& scores) {
  constexpr double kLowest = -1e30;
  double highest = kLowest;
  for (const double score : scores) highest = std::max(highest, score);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(std::max(score, kLowest) - highest);
  for (double& score : scores) score /= sum;
}

void attend(const Attention& attention, int64_t b, int64_t head, int64_t query) {
  const int64_t d = attention.head_width, column = head * d;
  const int64_t visible = attention.causal ? std::min(query + 1, attention.keys) : attention.keys;
  const float* q = attention.q + (b * attention.queries + query) * attention.q_stride + column;
  const float* k = attention.k + b * attention.keys * attention.k_stride + column;
  const float* v = attention.v + b * attention.keys * attention.v_stride + column;
  float* y = attention.y + ((b * attention.queries + query) * attention.heads + head) * d;

  std::vector<double> weights(static_cast<size_t>(visible));
  for (int64_t i = 0; i < visible; ++i) {
    double score = 0;
    for (int64_t c = 0; c < d; ++c) score += double{q[c]} * k[i * attention.k_stride + c];
    score *= attention.scale;
    if (attention.key_mask) score += attention.key_mask[b * attention.keys + i];
    if (attention.bias) score += attention.bias[(head * attention.queries + query) * attention.keys + i];
    weights[static_cast<size_t>(i)] = score;
  }
  softmax(weights);
  for (int64_t c = 0; c < d; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < visible; ++i) sum += weights[static_cast<size_t>(i)] * v[i * attention.v_stride + c];
    y[c] = static_cast<float>(sum);
  }
}

}  // namespace

void attention(Device&, const Attention& attention) {
  for (int64_t b = 0; b < attention.batch; ++b)
    for (int64_t head = 0; head < attention.heads; ++head)
      for (int64_t query = 0; query < attention.queries; ++query) attend(attention, b, head, query);
}

}  // namespace veneer::device::ref
