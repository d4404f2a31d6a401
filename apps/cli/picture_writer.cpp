// Encoding and writing; every file appears whole or not at all.
#include "picture_writer.h"

#include "core/files.h"
#include "core/format.h"
#include "results.h"

namespace veneer::cli {

Result<PictureWriter> PictureWriter::make(const ImageOptions& options, Console& console) {
  VENEER_TRY(names, OutputNames::parse(options.output, options.first_index, options.request.batch_count));
  return PictureWriter(options, console, std::move(names));
}

Result<std::vector<std::byte>> PictureWriter::encoded(const pipeline::Picture& picture, io::ImageFormat format) {
  io::EncodeOptions how;
  if (options_->image_metadata) how.text = picture.text;
  VENEER_TRY(image, io::encode_image(picture.image, format, how));
  if (!image.text_note.empty()) console_->write(LogLevel::kWarn, image.text_note);
  return std::move(image.bytes);
}

Status PictureWriter::write_to_stdout(const pipeline::Picture& picture) {
  VENEER_TRY(bytes, encoded(picture, io::ImageFormat::kPng));
  return write_stdout({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status PictureWriter::write(const pipeline::Picture& picture) {
  if (options_->output == "-") return write_to_stdout(picture);
  const OutputFile file = names_.file(picture.index);
  VENEER_TRY(bytes, encoded(picture, file.format));
  VENEER_TRY_STATUS(write_file_atomically(file.path, bytes));
  const std::string path = file.path.string();
  console_->write(LogLevel::kInfo, concat("save result image ", picture.index, " to '", path, "'"));
  account_.push_back(
      {{"path", path}, {"seed", picture.seed}, {"width", picture.image.width}, {"height", picture.image.height}});
  return console_->options().json ? Status() : write_stdout(path + "\n");
}

void PictureWriter::write_preview(const io::Image& image) {
  const auto format = io::image_format_of(options_->preview).value_or(io::ImageFormat::kPng);
  auto picture = io::encode_image(image, format, {});
  const Status status = picture ? write_file_atomically(options_->preview, picture->bytes) : picture.error();
  if (!status) console_->write(LogLevel::kWarn, concat("preview: ", status.error().message));
}

}  // namespace veneer::cli
