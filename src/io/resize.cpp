// Resizing in two passes, columns then rows, each driven by a list of taps per output pixel.
// Catmull-Rom: the cubic of Keys (1981), "Cubic convolution interpolation", with a = -1/2.
#include <algorithm>
#include <array>

#include "io/image.h"

namespace veneer::io {
namespace {

// Output i of an axis is the sum over k < count of weights[i * count + k] * input[sources[i * count + k]].
struct Axis {
  size_t outputs = 0;
  size_t count = 0;
  std::vector<size_t> sources;
  std::vector<float> weights;

  Axis(int64_t out, int64_t taps) : outputs(static_cast<size_t>(out)), count(static_cast<size_t>(taps)) {
    sources.resize(outputs * count);
    weights.resize(outputs * count);
  }
  void set(int64_t output, int64_t tap, int64_t source, double weight) {
    const size_t at = static_cast<size_t>(output) * count + static_cast<size_t>(tap);
    sources[at] = static_cast<size_t>(source);
    weights[at] = static_cast<float>(weight);
  }
};

// Measured in 1/out of a source pixel, output i covers [i * in, (i + 1) * in) and source j [j * out, (j + 1) * out).
Axis area_axis(int64_t in, int64_t out) {
  Axis axis(out, (in + out - 1) / out + 1);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in;
    const int64_t end = begin + in;
    int64_t tap = 0;
    for (int64_t j = begin / out; j * out < end; ++j, ++tap) {
      const int64_t covered = std::min((j + 1) * out, end) - std::max(j * out, begin);
      axis.set(i, tap, j, static_cast<double>(covered) / static_cast<double>(in));
    }
  }
  return axis;
}

Axis cubic_axis(int64_t in, int64_t out) {
  Axis axis(out, 4);
  for (int64_t i = 0; i < out; ++i) {
    // The centre of output i lies at ((2i + 1) in - out) / (2 out) source pixels; `base` is its floor, `t` the rest.
    const int64_t position = (2 * i + 1) * in - out;
    const int64_t base = position >= 0 ? position / (2 * out) : -1;  // position > -out, since in < out
    const double t = static_cast<double>(position - base * 2 * out) / static_cast<double>(2 * out);
    const std::array<double, 4> weights = {
        ((-0.5 * t + 1.0) * t - 0.5) * t,
        (1.5 * t - 2.5) * t * t + 1.0,
        ((-1.5 * t + 2.0) * t + 0.5) * t,
        (0.5 * t - 0.5) * t * t,
    };
    for (int64_t tap = 0; tap < 4; ++tap)
      axis.set(i, tap, std::clamp<int64_t>(base - 1 + tap, 0, in - 1), weights[static_cast<size_t>(tap)]);
  }
  return axis;
}

Axis axis_between(int in, int out) { return out <= in ? area_axis(in, out) : cubic_axis(in, out); }

// One row: [in, channels] bytes -> [outputs, channels] floats.
void resize_row(const uint8_t* in, const Axis& axis, size_t channels, float* out) {
  for (size_t x = 0; x < axis.outputs; ++x) {
    for (size_t c = 0; c < channels; ++c) {
      float sum = 0.0f;
      for (size_t k = x * axis.count; k < (x + 1) * axis.count; ++k)
        sum += axis.weights[k] * static_cast<float>(in[axis.sources[k] * channels + c]);
      *out++ = sum;
    }
  }
}

uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f)); }

Image cut(const Image& image, int left, int top, int width, int height) {
  Image out = Image::blank(width, height, image.channels);
  for (int y = 0; y < height; ++y)
    std::copy_n(image.row(top + y) + static_cast<ptrdiff_t>(left) * image.channels, out.row_bytes(), out.row(y));
  return out;
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  VENEER_CHECK(image.width > 0 && image.height > 0 && width > 0 && height > 0);
  if (image.width == width && image.height == height) return image;
  const Axis columns = axis_between(image.width, width);
  const Axis rows = axis_between(image.height, height);
  Image out = Image::blank(width, height, image.channels);
  const size_t row_values = out.row_bytes();

  std::vector<float> stretched(static_cast<size_t>(image.height) * row_values);  // every source row at its new width
  for (int y = 0; y < image.height; ++y)
    resize_row(image.row(y), columns, static_cast<size_t>(image.channels),
               &stretched[static_cast<size_t>(y) * row_values]);

  std::vector<float> sums(row_values);
  for (size_t y = 0; y < rows.outputs; ++y) {
    std::ranges::fill(sums, 0.0f);
    for (size_t k = y * rows.count; k < (y + 1) * rows.count; ++k) {
      const float* source = &stretched[rows.sources[k] * row_values];
      for (size_t i = 0; i < row_values; ++i) sums[i] += rows.weights[k] * source[i];
    }
    std::ranges::transform(sums, out.row(static_cast<int>(y)), to_byte);
  }
  return out;
}

Image crop_and_resize(const Image& image, int width, int height) {
  VENEER_CHECK(image.width > 0 && image.height > 0 && width > 0 && height > 0);
  const int64_t fitting_width = int64_t{image.height} * width / height;
  const int64_t fitting_height = int64_t{image.width} * height / width;
  const int kept_width = static_cast<int>(std::clamp<int64_t>(fitting_width, 1, image.width));
  const int kept_height = static_cast<int>(std::clamp<int64_t>(fitting_height, 1, image.height));
  if (kept_width == image.width && kept_height == image.height) return resize(image, width, height);
  return resize(cut(image, (image.width - kept_width) / 2, (image.height - kept_height) / 2, kept_width, kept_height),
                width, height);
}

}  // namespace veneer::io
