// Between pictures of eight-bit pixels and tensors.
#pragma once

#include "core/tensor.h"
#include "io/image.h"

namespace veneer::pipeline {

// [1, height, width, 3], 0..1. The picture has 3 channels.
Tensor tensor_from_image(const io::Image& image);
// The same backwards: values are clamped to 0..1 and rounded to the nearest of 256 levels.
io::Image image_from_tensor(const Tensor& tensor);

// A mask as numbers: 1 = repaint where the grey value is at least half. [height, width].
Tensor mask_from_image(const io::Image& grey);
// 1 where any pixel of the cell is 1: [height / factor, width / factor].
Tensor reduce_mask(const Tensor& mask, int factor);
// `picture` where the mask is 1, `original` elsewhere; all of one size.
io::Image keep_unmasked(const io::Image& picture, const io::Image& original, const Tensor& mask);

}  // namespace veneer::pipeline
