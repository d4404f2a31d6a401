// The files of a tiny autoencoder: a component folder, one file, or the published pair of an encoder and a decoder.
#pragma once

#include <filesystem>

#include "io/diffusers_folder.h"

namespace veneer::io {

// `path` is a folder with config.json and weights; a folder with a pair of files whose names end in "encoder" and
// "decoder"; a file with both halves; or one of a pair, whose sibling beside it is opened as well when it exists.
// Halves of a pair have bare numbers as names; here they become "encoder.N..." and "decoder.N...". Which half a file
// is, is decided by its first convolution, not by its name. Errors: bad_file for a pair of two equal halves; not_found
// for a folder without any of these; those of open_weights.
Result<Component> open_tiny_vae(const std::filesystem::path& path, MappedFile::Mode mode);

}  // namespace veneer::io
