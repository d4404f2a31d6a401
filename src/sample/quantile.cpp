// Quantiles of the normal and beta distributions.
#include "sample/quantile.h"

#include <cmath>
#include <initializer_list>
#include <numbers>

namespace veneer::sample {
namespace {

constexpr int kHalvings = 100;  // more than a double can tell apart

template <typename Distribution>
double bisect(double p, double low, double high, Distribution distribution) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (distribution(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double away_from_zero(double value) { return value == 0.0 ? 1e-300 : value; }

// Regularised incomplete beta function I_x(a, b): the continued fraction of NIST DLMF 8.17.22, evaluated from the front
// (modified Lentz). It converges fast for x below the mean; above it the reflected function is taken.
double incomplete_beta(double x, double a, double b) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - incomplete_beta(1.0 - x, b, a);
  constexpr int kMaxTerms = 400;
  constexpr double kPrecision = 1e-15;
  double upper = 1.0;
  double lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = lower;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1.0;
    for (const double term : {even, odd}) {
      lower = 1.0 / away_from_zero(1.0 + term * lower);
      upper = away_from_zero(1.0 + term / upper);
      change = lower * upper;
      fraction *= change;
    }
    if (std::abs(change - 1.0) < kPrecision) break;
  }
  return std::pow(x, a) * std::pow(1.0 - x, b) / (a * std::beta(a, b)) * fraction;
}

}  // namespace

double normal_quantile(double p) {
  constexpr double kFar = 40.0;  // the tail beyond is 0 in double precision
  return bisect(p, -kFar, kFar, [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); });
}

double beta_quantile(double p, double a, double b) {
  if (p <= 0.0) return 0.0;
  if (p >= 1.0) return 1.0;
  return bisect(p, 0.0, 1.0, [a, b](double x) { return incomplete_beta(x, a, b); });
}

}  // namespace veneer::sample
