// The two EXIF fields that matter here: how a camera held the picture, and the comment that holds generation text.
// Layout: TIFF 6.0 section 2; EXIF 2.32 sections 4.6.4 (Orientation) and 4.6.5 (UserComment). Private to the picture
// files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/image.h"

namespace veneer::io {

// `exif` is a block as JPEG or WebP holds it, with or without the leading "Exif" and two zero bytes. Damaged blocks
// read as if they held nothing: a picture must not be lost to its metadata.
int exif_orientation(std::string_view exif);                          // 1..8; 1 (upright) when absent
std::optional<std::string> exif_user_comment(std::string_view exif);  // UTF-8

// A block, with the leading "Exif" and two zero bytes, that holds just this UserComment in UTF-16 as A1111 writes it.
std::string exif_with_user_comment(std::string_view text);

// The picture turned and mirrored into the upright position.
Image upright(Image image, int orientation);

}  // namespace veneer::io
