// Pixels and tensors.
#include "pipeline/pixels.h"

#include <algorithm>
#include <cmath>

namespace veneer::pipeline {

Tensor tensor_from_image(const io::Image& image) {
  VENEER_CHECK(image.channels == 3);
  Tensor tensor = Tensor::zeros({1, image.height, image.width, 3});
  std::transform(image.pixels.begin(), image.pixels.end(), tensor.f32(),
                 [](uint8_t v) { return static_cast<float>(v) / 255.0f; });
  return tensor;
}

io::Image image_from_tensor(const Tensor& tensor) {
  VENEER_CHECK(tensor.shape.rank() == 4 && tensor.shape[0] == 1 && tensor.shape[3] == 3);
  io::Image image = io::Image::blank(static_cast<int>(tensor.shape[2]), static_cast<int>(tensor.shape[1]), 3);
  std::transform(tensor.values().begin(), tensor.values().end(), image.pixels.begin(),
                 [](float v) { return static_cast<uint8_t>(std::lround(std::clamp(v, 0.0f, 1.0f) * 255.0f)); });
  return image;
}

Tensor mask_from_image(const io::Image& grey) {
  VENEER_CHECK(grey.channels == 1);
  Tensor mask = Tensor::zeros({grey.height, grey.width});
  std::transform(grey.pixels.begin(), grey.pixels.end(), mask.f32(), [](uint8_t v) { return v >= 128 ? 1.0f : 0.0f; });
  return mask;
}

Tensor reduce_mask(const Tensor& mask, int factor) {
  const int64_t height = mask.shape[0] / factor, width = mask.shape[1] / factor;
  Tensor reduced = Tensor::zeros({height, width});
  for (int64_t y = 0; y < height * factor; ++y) {
    for (int64_t x = 0; x < width * factor; ++x) {
      float& cell = reduced.f32()[y / factor * width + x / factor];
      cell = std::max(cell, mask.f32()[y * mask.shape[1] + x]);
    }
  }
  return reduced;
}

io::Image keep_unmasked(const io::Image& picture, const io::Image& original, const Tensor& mask) {
  VENEER_CHECK(picture.pixels.size() == original.pixels.size());
  io::Image out = picture;
  const auto channels = static_cast<size_t>(picture.channels);
  for (size_t pixel = 0; pixel < out.pixels.size() / channels; ++pixel)
    if (mask.f32()[pixel] == 0.0f)
      std::copy_n(&original.pixels[pixel * channels], channels, &out.pixels[pixel * channels]);
  return out;
}

}  // namespace veneer::pipeline
