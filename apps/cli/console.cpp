// Log lines and the status line on stderr. Each line is one write, so that programs sharing a terminal do not mix
// theirs in.
#include "console.h"

#include <array>

#include "core/format.h"

namespace veneer::cli {
namespace {

struct Tag {
  std::string_view text;
  std::string_view color;  // ANSI SGR parameters
};

constexpr std::array<Tag, 4> kTags = {{{"[DEBUG]", "2"}, {"[INFO ]", "32"}, {"[WARN ]", "33"}, {"[ERROR]", "31"}}};
constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

std::string harmless(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\t' || c == '\n') {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Log Console::log() {
  return Log([this](LogLevel level, const std::string& line) { write(level, line); });
}

void Console::write(LogLevel level, std::string_view text) {
  if (level == LogLevel::kDebug && !options_.verbose) return;
  if (level <= LogLevel::kInfo && options_.quiet) return;
  const Tag& tag = kTags[static_cast<size_t>(level)];
  const bool colored = options_.color && may_color_;
  put_line(colored ? concat("\x1b[", tag.color, "m", tag.text, "\x1b[0m ", harmless(text))
                   : concat(tag.text, " ", harmless(text)));
}

void Console::write_plain(std::string_view text) { put_line(harmless(text)); }

void Console::put_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string out;
  if (!status_.empty()) out += kEraseLine;
  out += concat(text, "\n", status_);
  std::fwrite(out.data(), 1, out.size(), stream_);
  std::fflush(stream_);
}

void Console::show_status(std::string_view text) {
  if (!terminal_ || options_.quiet) return;
  const std::lock_guard lock(mutex_);
  status_ = harmless(text);
  const std::string out = concat(kEraseLine, status_);
  std::fwrite(out.data(), 1, out.size(), stream_);
  std::fflush(stream_);
}

void Console::end_status() {
  const std::lock_guard lock(mutex_);
  if (status_.empty()) return;
  status_.clear();
  std::fputc('\n', stream_);
  std::fflush(stream_);
}

}  // namespace veneer::cli
