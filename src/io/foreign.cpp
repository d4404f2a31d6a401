// The signs of foreign files, most telling first.
#include "io/foreign.h"

#include <algorithm>
#include <string>

#include "core/format.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

bool is_lfs_pointer(std::string_view head) { return head.starts_with("version https://git-lfs.github.com/spec/"); }

bool is_web_page(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const std::string start = lower_ascii(trim(head)).substr(0, 16);
  return start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<?xml");
}

// Eight bytes of text, read as a header's length, are beyond any file.
bool is_text(std::string_view head) {
  return head.size() >= 8 && std::all_of(head.begin(), head.begin() + 8, [](char c) {
           return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
         });
}

struct Foreign {
  bool (*recognise)(std::string_view head);
  std::string_view sentence;
};

constexpr Foreign kForeign[] = {
    {is_lfs_pointer, "is a Git LFS pointer, not the file it stands for; fetch the file itself (git lfs pull)"},
    {is_web_page, "is a web page, not a model; the download failed or needs a login, download it again"},
};

}  // namespace

std::optional<Error> recognise_foreign(std::span<const std::byte> file, std::string_view name) {
  const auto error = [&](std::string_view sentence) {
    return Error{ErrorCode::kBadFile, concat(name, ": ", sentence), std::string(name)};
  };
  if (file.empty()) return error("is empty (0 bytes); download it again");
  const std::string_view head(reinterpret_cast<const char*>(file.data()), std::min<size_t>(file.size(), 1024));
  for (const Foreign& foreign : kForeign)
    if (foreign.recognise(head)) return error(foreign.sentence);
  if (is_text(head)) return error(concat("is a text, not a model; it begins with \"", printable(head, 60), "\""));
  return std::nullopt;
}

}  // namespace veneer::io
