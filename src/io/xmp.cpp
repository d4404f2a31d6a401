// Writes one fixed layout and looks for two elements when reading; no general XML reader is needed or wanted here.
#include "io/xmp.h"

#include <array>
#include <charconv>
#include <optional>

#include "io/image_text.h"

namespace veneer::io {
namespace {

struct Entity {
  char character;
  std::string_view reference;
};
// A carriage return is escaped because XML readers turn a bare one into a line feed.
constexpr std::array<Entity, 6> kEntities = {
    {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}, {'\r', "&#xD;"}}};

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    std::string_view piece(&c, 1);
    for (const Entity& entity : kEntities) {
      if (entity.character == c) piece = entity.reference;
    }
    out += piece;
  }
  return out;
}

// "&#65;" or "&#x41;" as a code point; empty when it is neither, or no character.
std::optional<char32_t> numeric_reference(std::string_view reference) {
  if (!reference.starts_with("&#")) return std::nullopt;
  std::string_view digits = reference.substr(2, reference.size() - 3);
  const int base = digits.starts_with('x') ? 16 : 10;
  if (base == 16) digits.remove_prefix(1);
  uint32_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  const bool whole = fault == std::errc() && end == digits.data() + digits.size();
  if (!whole || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return std::nullopt;
  return value;
}

void append_reference(std::string& out, std::string_view reference) {
  for (const Entity& entity : kEntities) {
    if (entity.reference == reference) {
      out += entity.character;
      return;
    }
  }
  if (const auto code_point = numeric_reference(reference)) {
    append_utf8(out, *code_point);
  } else {
    out += reference;  // unknown: kept as it stands
  }
}

std::string unescaped(std::string_view text) {
  constexpr size_t kLongest = 10;  // "&#x10FFFF;"
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? text.substr(at, kLongest).find(';') : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at++];
    } else {
      append_reference(out, text.substr(at, end + 1));
      at += end + 1;
    }
  }
  return out;
}

// The text of the first element <prefix:local_name ...>; empty when there is none.
std::optional<std::string> element(std::string_view packet, std::string_view local_name) {
  const std::string end_of_name = ":" + std::string(local_name);
  for (size_t at = packet.find(end_of_name); at != std::string_view::npos; at = packet.find(end_of_name, at + 1)) {
    const size_t open = packet.find_last_of("<>\"", at);
    const size_t name_end = at + end_of_name.size();
    if (open == std::string_view::npos || packet[open] != '<') continue;
    const std::string_view tag = packet.substr(open + 1, name_end - open - 1);  // prefix:local_name
    if (tag.find_first_of(" \t\r\n/") != std::string_view::npos) continue;
    const size_t start = packet.find('>', name_end);
    if (start == std::string_view::npos || (start != name_end && packet[name_end] != ' ')) continue;
    const size_t close = packet.find("</" + std::string(tag) + ">", start);
    if (close == std::string_view::npos) return std::nullopt;
    return unescaped(packet.substr(start + 1, close - start - 1));
  }
  return std::nullopt;
}

void append_element(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out.append("<veneer:").append(name).append(">").append(escaped(text)).append("</veneer:").append(name).append(">\n");
}

}  // namespace

std::string xmp_packet(const ImageText& text) {
  std::string out =
      "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n"
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
      "<rdf:Description rdf:about=\"\" xmlns:veneer=\"urn:veneer:image:1/\">\n";
  append_element(out, "parameters", text.parameters);
  append_element(out, "json", text.json);
  out +=
      "</rdf:Description>\n"
      "</rdf:RDF>\n"
      "</x:xmpmeta>\n"
      "<?xpacket end=\"r\"?>";
  return out;
}

TextFields xmp_fields(std::string_view packet) {
  TextFields fields;
  if (auto parameters = element(packet, "parameters")) fields.emplace_back("parameters", *std::move(parameters));
  if (auto json = element(packet, "json")) fields.emplace_back("veneer", *std::move(json));
  if (fields.empty()) fields.emplace_back("XMP", text_from_bytes(packet));
  return fields;
}

}  // namespace veneer::io
