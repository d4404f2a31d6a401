// The walk down the tree. Nodes are numbered as in a binary heap: 0 is the end point, 1 the root, 2n and 2n + 1 the
// halves of n.
#include "sample/brownian.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "core/result.h"
#include "sample/philox.h"

namespace veneer::sample {
namespace {

// Below 2^-32 of the interval the path is a straight line: far under any step a schedule takes.
constexpr int kDepth = 32;

struct Node {
  uint64_t id;
  double weight;  // of the node's normal number in W(t)
};

struct Path {
  std::array<Node, kDepth + 1> nodes;
  size_t count = 0;
  void add(uint64_t id, double weight) { nodes[count++] = {id, weight}; }
};

Path path_to(double t, double length) {
  Path path;
  path.add(0, t / std::sqrt(length));
  uint64_t id = 1;
  for (int level = 0; level < kDepth && t > 0 && t < length; ++level) {
    // The hat over an interval of this length is sqrt(length)/2 high in the middle and 0 at both ends.
    path.add(id, std::min(t, length - t) / std::sqrt(length));
    length /= 2;
    const bool upper = t >= length;
    if (upper) t -= length;
    id = 2 * id + upper;
  }
  return path;
}

double weighted_sum(const Path& path, const PhiloxKey& key) {
  double sum = 0;
  for (const Node& node : std::span(path.nodes).first(path.count)) {
    const PhiloxCounter counter{static_cast<uint32_t>(node.id), static_cast<uint32_t>(node.id >> 32), 0, 0};
    sum += node.weight * philox_normal(counter, key);
  }
  return sum;
}

}  // namespace

BrownianTree::BrownianTree(double sigma_max, std::span<const float> first, std::span<const float> second)
    : sigma_max_(sigma_max), first_(first.begin(), first.end()), second_(second.begin(), second.end()) {
  VENEER_CHECK(sigma_max > 0 && first.size() == second.size());
}

void BrownianTree::increment(double from, double to, std::span<float> out) const {
  VENEER_CHECK(0 <= to && to < from && from <= sigma_max_ && out.size() == first_.size());
  const Path upper = path_to(from, sigma_max_);
  const Path lower = path_to(to, sigma_max_);
  const double scale = 1.0 / std::sqrt(from - to);
  for (size_t i = 0; i < out.size(); ++i) {
    const PhiloxKey key{std::bit_cast<uint32_t>(first_[i]), std::bit_cast<uint32_t>(second_[i])};
    out[i] = static_cast<float>(scale * (weighted_sum(upper, key) - weighted_sum(lower, key)));
  }
}

}  // namespace veneer::sample
