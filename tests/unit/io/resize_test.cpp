// Resizing: constants, known values, and the exactness that the header promises.
#include "test_images.h"

namespace veneer::io {
namespace {

using Pixels = std::vector<uint8_t>;

Image image_of(int width, int height, int channels, Pixels pixels) {
  return {width, height, channels, std::move(pixels)};
}

TEST(Resize, ConstantPicturesStayConstant) {
  for (const int value : {0, 1, 127, 254, 255}) {
    for (const auto& [from, to] :
         {std::pair(1, 9), std::pair(13, 8), std::pair(8, 13), std::pair(100, 3), std::pair(7, 1)}) {
      Image image = Image::blank(from, to, 3);
      std::fill(image.pixels.begin(), image.pixels.end(), static_cast<uint8_t>(value));
      const Image out = resize(image, to, from);
      EXPECT_EQ(out.width, to);
      EXPECT_EQ(out.height, from);
      EXPECT_EQ(out.pixels, Pixels(image.pixels.size(), static_cast<uint8_t>(value))) << from << " to " << to;
    }
  }
}

TEST(Resize, TheSameSizeIsTheIdentity) { EXPECT_EQ(resize(noise(9, 7, 4), 9, 7).pixels, noise(9, 7, 4).pixels); }

TEST(Resize, HalvingAveragesFourPixels) {
  const Image image = image_of(4, 2, 1,
                               {10, 20, 0, 1,  //
                                30, 40, 0, 1});
  EXPECT_EQ(resize(image, 2, 1).pixels, (Pixels{25, 1}));  // 0.5 rounds up
}

TEST(Resize, ShrinkingCountsCoveredParts) {
  // Three pixels to two: the middle one is shared. (90 + 0.5 * 30) / 1.5 = 70 and (0.5 * 30 + 0) / 1.5 = 10.
  EXPECT_EQ(resize(image_of(3, 1, 1, {90, 30, 0}), 2, 1).pixels, (Pixels{70, 10}));
  EXPECT_EQ(resize(image_of(1, 3, 1, {90, 30, 0}), 1, 2).pixels, (Pixels{70, 10}));
}

TEST(Resize, ShrinkingKeepsTheMean) {
  const Image image = noise(101, 67, 1);
  const auto mean = [](const Image& of) {
    double sum = 0.0;
    for (const uint8_t value : of.pixels) sum += value;
    return sum / static_cast<double>(of.pixels.size());
  };
  // Every source pixel counts equally; what is left is rounding, whose mean over 1000 values is far below 0.1.
  EXPECT_NEAR(mean(resize(image, 40, 25)), mean(image), 0.1);
}

TEST(Resize, EnlargingReproducesSourcePixelsAtTheirCentres) {
  const Image image = noise(6, 5, 3);
  const Image out = resize(image, 18, 25);  // by 3 and 5: the centre of source x is that of output 3x + 1
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 6; ++x) {
      for (int c = 0; c < 3; ++c) ASSERT_EQ(out.row(5 * y + 2)[3 * (3 * x + 1) + c], image.row(y)[3 * x + c]);
    }
  }
}

TEST(Resize, EnlargingIsCatmullRom) {
  // Doubling puts centres at -1/4, 1/4, 3/4, ...: weights (-9, 111, 29, -3)/128 at a quarter behind a pixel, mirrored
  // at three quarters. Around the step from 0 to 128: overshoot -3 and -9 are cut at 0, 131 and 137 stay.
  EXPECT_EQ(resize(image_of(6, 1, 1, {0, 0, 0, 128, 128, 128}), 12, 1).pixels,
            (Pixels{0, 0, 0, 0, 0, 26, 102, 137, 131, 128, 128, 128}));
}

TEST(Resize, EnlargingClampsInsteadOfWrapping) {
  const Image out = resize(image_of(4, 1, 1, {0, 0, 255, 255}), 16, 1);
  EXPECT_TRUE(std::is_sorted(out.pixels.begin(), out.pixels.begin() + 9));
  EXPECT_EQ(out.pixels.front(), 0);
  EXPECT_EQ(out.pixels.back(), 255);
  for (size_t i = 9; i < 16; ++i) EXPECT_GE(out.pixels[i], 230);
}

TEST(Resize, ChannelsAreIndependent) {
  const Image image = noise(12, 10, 4);
  for (const auto& [width, height] : {std::pair(5, 7), std::pair(20, 17), std::pair(5, 17)}) {
    const Image together = resize(image, width, height);
    for (size_t c = 0; c < 4; ++c) {
      Image alone = Image::blank(12, 10, 1);
      for (size_t i = 0; i < alone.pixels.size(); ++i) alone.pixels[i] = image.pixels[4 * i + c];
      const Image resized = resize(alone, width, height);
      for (size_t i = 0; i < resized.pixels.size(); ++i) ASSERT_EQ(together.pixels[4 * i + c], resized.pixels[i]);
    }
  }
}

TEST(CropAndResize, CutsTheCentre) {
  const Image wide = image_of(5, 1, 1, {1, 2, 3, 4, 5});
  EXPECT_EQ(crop_and_resize(wide, 3, 1).pixels, (Pixels{2, 3, 4}));
  EXPECT_EQ(crop_and_resize(wide, 2, 1).pixels, (Pixels{2, 3}));  // the odd pixel falls off at the right
  const Image tall = image_of(1, 5, 1, {1, 2, 3, 4, 5});
  EXPECT_EQ(crop_and_resize(tall, 1, 3).pixels, (Pixels{2, 3, 4}));
}

TEST(CropAndResize, KeepsEverythingOfTheSameShape) {
  EXPECT_EQ(crop_and_resize(noise(12, 8, 3), 6, 4).pixels, resize(noise(12, 8, 3), 6, 4).pixels);
  EXPECT_EQ(crop_and_resize(noise(12, 8, 3), 12, 8).pixels, noise(12, 8, 3).pixels);
}

TEST(CropAndResize, ExtremeShapesGiveTheSizeAskedFor) {
  for (const auto& [width, height] : {std::pair(1, 500), std::pair(500, 1), std::pair(8, 8)}) {
    for (const Image& image : {noise(300, 1, 3), noise(1, 300, 3), noise(1, 1, 3)}) {
      const Image out = crop_and_resize(image, width, height);
      EXPECT_EQ(out.width, width);
      EXPECT_EQ(out.height, height);
      EXPECT_EQ(out.pixels.size(), static_cast<size_t>(3 * width * height));
    }
  }
}

}  // namespace
}  // namespace veneer::io
