// Inverse distribution functions that schedules need, by bisection: a handful of calls per run, exact to the last bits.
#pragma once

namespace veneer::sample {

// x with P(X <= x) = p for the standard normal distribution; 0 < p < 1.
double normal_quantile(double p);

// The same for the beta distribution with shapes a, b > 0; 0 <= p <= 1, result in [0, 1].
double beta_quantile(double p, double a, double b);

}  // namespace veneer::sample
