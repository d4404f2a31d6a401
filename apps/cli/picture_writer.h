// Writes the pictures of a run as they are completed, and keeps account of them.
#pragma once

#include "image_options.h"
#include "output_names.h"

namespace veneer::cli {

class PictureWriter {
 public:
  // Errors: those of OutputNames. `options` and `console` are borrowed.
  static Result<PictureWriter> make(const ImageOptions& options, Console& console);

  // A finished picture goes to its file, or to stdout; its path is a result line unless --json asks for one object.
  // Errors: io, unsupported (larger than the format allows).
  Status write(const pipeline::Picture& picture);
  // A picture on the way replaces the one before; what goes wrong with it is a warning.
  void write_preview(const io::Image& image);

  // [{"path", "seed", "width", "height"}, ...]
  const Json& account() const { return account_; }

 private:
  PictureWriter(const ImageOptions& options, Console& console, OutputNames names)
      : options_(&options), console_(&console), names_(std::move(names)) {}
  Status write_to_stdout(const pipeline::Picture& picture);
  Result<std::vector<std::byte>> encoded(const pipeline::Picture& picture, io::ImageFormat format);

  const ImageOptions* options_;
  Console* console_;
  OutputNames names_;
  Json account_ = Json::array();
};

}  // namespace veneer::cli
