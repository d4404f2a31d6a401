// veneer metadata: the text that a picture carries, for people or as JSON. Pixels are not decoded.
#include "commands.h"
#include "core/format.h"
#include "io/image.h"
#include "options.h"
#include "pipeline/parameters.h"
#include "results.h"

namespace veneer::cli {
namespace {

enum class Format { kText, kJson };

constexpr size_t kBriefBytes = 100;

struct MetadataOptions {
  std::filesystem::path image;
  Format format = Format::kText;
  bool brief = false;
};

OptionTable option_table(MetadataOptions& options, ConsoleOptions& console) {
  const Setter later = [](const std::string&) -> Status {
    return Error{ErrorCode::kUnsupported, "this version does not have it yet; leave it out", {}};
  };
  return {"veneer metadata",
          "Shows the text that a picture carries.",
          {{"Input", {{"--image", "FILE", "PNG, JPEG or WebP", path(options.image)}}},
           {"Output",
            {{"--metadata-format", "FORMAT", "text or json (text)",
              choice(options.format, {{"text", Format::kText}, {"json", Format::kJson}})},
             {"--metadata-brief", "", "Cut long texts", flag(options.brief)},
             {"--metadata-raw", "", "", later},
             {"--metadata-all", "", "", later}}},
           general_options(console)}};
}

// This program's JSON, or that of stable-diffusion.cpp; null when there is none or it is damaged, which is a warning:
// the text around it is still worth showing.
Json parameters_of(const io::TextFields& fields, const std::string& name, Console& console) {
  const io::ImageText text = io::generation_text(fields);
  const std::string_view json = text.json.empty() ? pipeline::embedded_json(text.parameters) : text.json;
  if (json.empty()) return {};
  auto parsed = parse_json(json, concat(name, ": generation parameters"));
  if (parsed) return *std::move(parsed);
  console.write(LogLevel::kWarn, parsed.error().message);
  return {};
}

std::string cut(const std::string& text, bool brief) {
  return brief && text.size() > kBriefBytes ? text.substr(0, kBriefBytes) + "..." : text;
}

Status write_as_json(const io::TextFields& fields, const MetadataOptions& options, Console& console) {
  Json json = {{"image", options.image.string()}, {"text", Json::array()}};
  for (const auto& [key, text] : fields) json["text"].push_back({{"key", key}, {"text", cut(text, options.brief)}});
  json["parameters"] = parameters_of(fields, options.image.string(), console);
  return write_json(json);
}

// One blank line between fields; a single one needs no heading.
Status write_as_text(const io::TextFields& fields, const MetadataOptions& options) {
  std::string out;
  for (const auto& [key, text] : fields) {
    if (!out.empty()) out += "\n";
    if (fields.size() > 1) out += concat("[", harmless(key), "]\n");
    out += harmless(cut(text, options.brief)) + "\n";
  }
  return write_stdout(out);
}

}  // namespace

Status run_metadata(std::span<const std::string> args, Console& console) {
  MetadataOptions options;
  VENEER_TRY(help, parse_options(option_table(options, console.options()), args));
  if (!help.empty()) return write_stdout(help);
  if (options.image.empty()) return Error{ErrorCode::kUsage, "metadata: expected --image FILE, found none", "--image"};
  VENEER_TRY(file, MappedFile::open(options.image, MappedFile::Mode::kRead));
  VENEER_TRY(fields, io::read_image_text(file->bytes(), options.image.string()));
  if (fields.empty()) console.write(LogLevel::kWarn, concat(options.image.string(), ": carries no text"));
  const bool json = console.options().json || options.format == Format::kJson;
  return json ? write_as_json(fields, options, console) : write_as_text(fields, options);
}

}  // namespace veneer::cli
