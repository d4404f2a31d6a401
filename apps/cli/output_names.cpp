// Output names. Each name is expanded once per picture; a name without a pattern first becomes one where it needs to.
#include "output_names.h"

#include <unistd.h>

#include <cstdio>

#include "core/format.h"

namespace veneer::cli {
namespace {

constexpr int kMaxIndexDigits = 9;

Error bad_output(std::string_view name, std::string_view fault) {
  return {ErrorCode::kUsage, concat("--output: \"", name, "\": ", fault), "--output"};
}

OutputFile with_format(std::filesystem::path path) {
  if (const auto format = io::image_format_of(path)) return {std::move(path), *format};
  path += ".png";
  return {std::move(path), io::ImageFormat::kPng};
}

std::filesystem::path numbered(const std::filesystem::path& path, int64_t index) {
  return path.parent_path() / concat(path.stem().string(), "_", index, path.extension().string());
}

}  // namespace

Result<std::vector<OutputNames::Piece>> OutputNames::pieces_of(std::string_view name) {
  std::vector<Piece> pieces(1);
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      pieces.back().text += name[i];
      continue;
    }
    const size_t end = name.find_first_not_of("0123456789", i + 1);
    const std::string_view digits = name.substr(i + 1, end == std::string_view::npos ? end : end - i - 1);
    const char kind = end == std::string_view::npos ? '\0' : name[end];
    int64_t width = 0;
    if (kind == '%' && digits.empty()) {
      pieces.back().text += '%';
    } else if (kind == 'd' && (digits.empty() || (parse_number(digits, width) && width <= kMaxIndexDigits))) {
      pieces.push_back({{}, static_cast<int>(width)});
      pieces.emplace_back();
    } else {
      return bad_output(name, "knows %d and %03d for the index and %% for a percent sign, nothing else after a %");
    }
    i = end;
  }
  return pieces;
}

Result<OutputNames> OutputNames::parse(std::string_view name, int first_index, int count) {
  if (name.empty()) return bad_output(name, "is empty; name a file");
  if (name.ends_with('/')) return bad_output(name, "is a folder; name a file in it");
  OutputNames names;
  VENEER_TRY(pieces, pieces_of(name));
  names.append_index_ = pieces.size() == 1 && count > 1;
  names.pieces_ = std::move(pieces);
  names.first_index_ = first_index;
  return names;
}

OutputFile OutputNames::file(int picture) const {
  const int64_t index = first_index_ + picture;
  std::string name;
  for (const Piece& piece : pieces_) {
    if (piece.digits < 0) {
      name += piece.text;
      continue;
    }
    char number[32];
    std::snprintf(number, sizeof number, "%0*lld", piece.digits, static_cast<long long>(index));
    name += number;
  }
  OutputFile file = with_format(std::move(name));
  if (append_index_) file.path = numbered(file.path, index);
  return file;
}

Status check_writable(const std::filesystem::path& path) {
  const auto refuse = [&path](std::string_view fault) {
    return Error{ErrorCode::kIo, concat(path.string(), ": ", fault), path.string()};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return refuse("cannot be written: it is a folder");
  std::filesystem::path folder = path.parent_path();
  while (!folder.empty() && !std::filesystem::exists(folder, ignored)) folder = folder.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored))
    return refuse(concat("cannot be written: ", folder.string(), " is not a folder"));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return refuse(concat("cannot be written: the folder ", folder.string(), " takes no new files"));
  return {};
}

}  // namespace veneer::cli
