// F(W) by the definition of a program: input-side terms multiply from the right, the last one first; output-side terms
// from the left; an additive term sees the input as the terms before it have turned it.
#include "nn/adapted_rows.h"

#include <algorithm>

#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

// Rows of a matrix over the inputs of a layer: [count, channels, kernel].
struct Matrix {
  std::vector<double> values;
  int64_t count, channels, kernel;
  double* row(int64_t i) { return values.data() + i * channels * kernel; }
};

int32_t place(const Rotate& rotate, int64_t position) {
  return rotate.order.empty() ? static_cast<int32_t>(position) : rotate.order[static_cast<size_t>(position)];
}

// One row, [channels, kernel], times a matrix over channels; the same for each pixel of the kernel. The channels of a
// grouped convolution's row are those of its group, from `first_channel` on.
void multiply_row(const Gain& gain, int64_t first_channel, const Matrix& m, double* row) {
  for (int64_t i = 0; i < m.channels * m.kernel; ++i) row[i] *= gain.factors.f32()[first_channel + i / m.kernel];
}

void multiply_row(const Pair& pair, int64_t, const Matrix& m, double* row) {
  const int64_t rank = pair.up.shape[1];
  for (int64_t pixel = 0; pixel < m.kernel; ++pixel) {
    std::vector<double> inner(static_cast<size_t>(rank));
    for (int64_t q = 0; q < rank; ++q)
      for (int64_t i = 0; i < m.channels; ++i)
        inner[static_cast<size_t>(q)] += row[i * m.kernel + pixel] * pair.up.f32()[i * rank + q];
    for (int64_t q = 0; q < rank; ++q)
      for (int64_t i = 0; i < m.channels; ++i)
        row[i * m.kernel + pixel] += pair.scale * inner[static_cast<size_t>(q)] * pair.down.f32()[q * m.channels + i];
  }
}

void multiply_row(const Rotate& rotate, int64_t, const Matrix& m, double* row) {
  const int64_t n = rotate.blocks.shape[1];
  const std::vector<double> old(row, row + m.channels * m.kernel);
  for (int64_t position = 0; position < m.channels; ++position) {
    const int64_t block = position / n, j = position % n;
    for (int64_t pixel = 0; pixel < m.kernel; ++pixel) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += old[static_cast<size_t>(place(rotate, block * n + i) * m.kernel + pixel)] *
               rotate.blocks.f32()[(block * n + i) * n + j];
      row[place(rotate, position) * m.kernel + pixel] = sum;
    }
  }
}

bool turns_rows(const Program& program) {
  return std::any_of(program.terms.begin(), program.terms.end(),
                     [](const Term& t) { return std::holds_alternative<Rotate>(t) && !acts_on_input(t); });
}

// rows [first, first + count) of one program: its definition, term by term.
class Evaluation {
 public:
  Evaluation(const Layer& layer, const codec::Weight& weight, const Program& program, int64_t first, int64_t count)
      : layer_(layer), program_(program), first_(first), count_(count), width_(layer.weight.row_values()) {
    base_.resize(static_cast<size_t>(count * width_));
    weight.decode_rows(program.first_row + first, count, base_.data());
    for (const Term& term : program.terms)
      if (acts_on_input(term)) inputs_.push_back(&term);
    z_.assign(base_.begin(), base_.end());
    turn_inputs(z_, inputs_.size());
  }

  std::vector<double> run() {
    size_t turned = 0;
    for (const Term& term : program_.terms) {
      if (acts_on_input(term)) ++turned;
      if (is_additive(term)) add(term, turned);
      if (const auto* gain = std::get_if<Gain>(&term); gain && !acts_on_input(term)) scale_rows(*gain);
      if (const auto* rotate = std::get_if<Rotate>(&term); rotate && !acts_on_input(term)) rotate_rows(*rotate);
    }
    return std::move(z_);
  }

 private:
  // Multiplies by the first `turned` input-side terms, which x passes in order: the last stands next to the matrix.
  void turn_inputs(std::vector<double>& values, size_t turned) {
    const int64_t groups = layer_.geometry.groups, kernel = layer_.kernel_size();
    Matrix m{std::move(values), count_, width_ / kernel, kernel};
    for (size_t t = turned; t-- > 0;)
      for (int64_t row = 0; row < count_; ++row) {
        const int64_t group = (program_.first_row + first_ + row) / (layer_.out() / groups);
        const int64_t first_channel = group * m.channels;
        if (const auto* gain = std::get_if<Gain>(inputs_[t])) multiply_row(*gain, first_channel, m, m.row(row));
        if (const auto* pair = std::get_if<Pair>(inputs_[t])) multiply_row(*pair, first_channel, m, m.row(row));
        if (const auto* rotate = std::get_if<Rotate>(inputs_[t])) multiply_row(*rotate, first_channel, m, m.row(row));
      }
    values = std::move(m.values);
  }

  void add(const Term& term, size_t turned) {
    std::vector<double> delta(z_.size());
    add_term_rows(term, layer_.weight.row_values(), first_, count_, 1.0, base_.data(), delta.data());
    turn_inputs(delta, turned);
    for (size_t i = 0; i < z_.size(); ++i) z_[i] += delta[i];
  }

  void scale_rows(const Gain& gain) {
    for (int64_t i = 0; i < count_ * width_; ++i) z_[static_cast<size_t>(i)] *= gain.factors.f32()[first_ + i / width_];
  }

  void rotate_rows(const Rotate& rotate) {
    const int64_t n = rotate.blocks.shape[1];
    const std::vector<double> old = z_;
    for (int64_t position = 0; position < count_; ++position) {
      const int64_t block = position / n, i = position % n;
      for (int64_t column = 0; column < width_; ++column) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += static_cast<double>(rotate.blocks.f32()[(block * n + i) * n + j]) *
                 old[static_cast<size_t>(place(rotate, block * n + j) * width_ + column)];
        z_[static_cast<size_t>(place(rotate, position) * width_ + column)] = sum;
      }
    }
  }

  const Layer& layer_;
  const Program& program_;
  int64_t first_, count_, width_;
  std::vector<float> base_;
  std::vector<const Term*> inputs_;
  std::vector<double> z_;
};

const codec::Weight& weight_of(const Layer& layer, std::span<const Program> programs) {
  const codec::Weight* weight = &layer.weight;
  for (const Program& program : programs) {
    if (program.is_neutral()) continue;
    for (const Term& term : program.terms)
      if (const auto* replace = std::get_if<Replace>(&term)) weight = &replace->weight;
  }
  return *weight;
}

int64_t rows_of(const Layer& layer, const Program& program) { return program.rows > 0 ? program.rows : layer.out(); }

}  // namespace

std::vector<double> adapted_rows(const Layer& layer, std::span<const Program> programs, int64_t first, int64_t count) {
  const codec::Weight& weight = weight_of(layer, programs);
  const int64_t width = layer.weight.row_values();
  std::vector<float> base(static_cast<size_t>(count * width));
  weight.decode_rows(first, count, base.data());
  std::vector<double> result(base.begin(), base.end());
  for (const Program& program : programs) {
    const int64_t begin = std::max(first, program.first_row);
    const int64_t end = std::min(first + count, program.first_row + rows_of(layer, program));
    if (program.is_neutral() || begin >= end) continue;
    const bool whole = turns_rows(program);
    const int64_t from = whole ? 0 : begin - program.first_row;
    auto rows = Evaluation(layer, weight, program, from, whole ? rows_of(layer, program) : end - begin).run();
    const double* z = rows.data() + (begin - program.first_row - from) * width;
    for (int64_t i = (begin - first) * width; i < (end - first) * width; ++i, ++z)
      result[static_cast<size_t>(i)] += program.amount * (*z - base[static_cast<size_t>(i)]);
  }
  return result;
}

std::vector<double> adapted_vector(const Layer& layer, std::span<const Program> programs, Vector::Of of) {
  std::vector<double> result(static_cast<size_t>(layer.out()));
  if (of == Vector::Of::kBias) std::copy(layer.bias.begin(), layer.bias.end(), result.begin());
  if (of == Vector::Of::kWeight) {
    const std::vector<float> norm = weight_of(layer, programs).decode_all();
    std::copy(norm.begin(), norm.end(), result.begin());
  }
  for (const Program& program : programs)
    for (const Term& term : program.terms)
      if (const auto* vector = std::get_if<Vector>(&term); vector && vector->of == of)
        for (int64_t i = 0; i < vector->delta.elements(); ++i)
          result[static_cast<size_t>(program.first_row + i)] +=
              static_cast<double>(program.amount) * vector->delta.f32()[i];
  return result;
}

}  // namespace veneer::nn
