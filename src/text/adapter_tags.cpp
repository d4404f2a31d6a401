// Reading of adapter tags.
#include "text/adapter_tags.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/format.h"

namespace veneer::text {
namespace {

constexpr std::string_view kArguments[] = {"te", "unet", "dyn", "in", "mid", "out", "lbw"};
constexpr size_t kPositional = 3;  // the first so many also go without their names
constexpr std::string_view kUnsupported[] = {"module", "start", "stop", "step"};
constexpr std::string_view kHighNoise = "|high_noise|";

// The arguments behind the name, before they are read as numbers; indexed like kArguments.
using RawArguments = std::array<std::optional<std::string_view>, std::size(kArguments)>;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Reads the arguments of one tag or option; `place` is how that was written, for messages.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::string_view place) : place_(place) {}

  Result<AdapterRequest> read(std::string_view name, std::span<const std::string> arguments) const {
    if (name.starts_with(kHighNoise))
      return unsupported(concat("the argument ", kHighNoise, " (a second expert model)"));
    if (name.empty()) return usage("has no name; write <lora:NAME:0.8> or FILE:0.8");
    VENEER_TRY(raw, sort_out(arguments));
    AdapterRequest request;
    request.name = name;
    const auto& [te, unet, dyn, in, mid, out, lbw] = raw;
    VENEER_TRY_STATUS(read_number("te", te, request.text_encoder_scale));
    request.denoiser_scale = request.text_encoder_scale;
    VENEER_TRY_STATUS(read_number("unet", unet, request.denoiser_scale));
    VENEER_TRY_STATUS(read_number("in", in, request.in_scale));
    VENEER_TRY_STATUS(read_number("mid", mid, request.mid_scale));
    VENEER_TRY_STATUS(read_number("out", out, request.out_scale));
    if (lbw) request.block_weights = *lbw;
    if (dyn) {
      int64_t rank = 0;
      if (!parse_number(*dyn, rank) || rank < 1)
        return usage(concat("dyn must be a whole number from 1 up, found \"", *dyn, "\""));
      request.dyn_rank = rank;
    }
    return request;
  }

 private:
  Error usage(const std::string& problem) const {
    return {ErrorCode::kUsage, concat("adapter ", place_, ": ", problem), std::string(place_)};
  }
  Error unsupported(const std::string& what) const {
    return {ErrorCode::kUnsupported, concat("adapter ", place_, ": ", what, " is not supported; leave it out"),
            std::string(place_)};
  }

  // Puts each argument at its place. Named ones win, whatever the order.
  Result<RawArguments> sort_out(std::span<const std::string> arguments) const {
    RawArguments positional, named;
    size_t next = 0;
    for (const std::string& argument : arguments) {
      const size_t equals = argument.find('=');
      if (equals == std::string::npos) {
        if (next == kPositional) return usage(concat("has an argument too many: \"", argument, "\""));
        positional[next++] = trim(argument);
        continue;
      }
      VENEER_TRY(index, index_of(trim(std::string_view(argument).substr(0, equals))));
      if (named[index]) return usage(concat("gives ", kArguments[index], " twice"));
      named[index] = trim(std::string_view(argument).substr(equals + 1));
    }
    for (size_t i = 0; i < named.size(); ++i)
      if (!named[i]) named[i] = positional[i];
    return named;
  }

  Result<size_t> index_of(std::string_view key) const {
    const auto found = std::ranges::find(kArguments, key);
    if (found != std::end(kArguments)) return static_cast<size_t>(found - std::begin(kArguments));
    if (std::ranges::find(kUnsupported, key) != std::end(kUnsupported))
      return unsupported(concat("the argument ", key, "="));
    return usage(concat("has an unknown argument ", key, "=; known are te=, unet=, dyn=, in=, mid=, out= and lbw="));
  }

  // Leaves `value` as it is when the argument is not given.
  Status read_number(std::string_view key, std::optional<std::string_view> text, double& value) const {
    if (!text) return {};
    if (contains(*text, "@")) return unsupported(concat("the value by step ", key, "=", *text));
    if (!parse_number(*text, value)) return usage(concat(key, " must be a number, found \"", *text, "\""));
    return {};
  }

  std::string_view place_;
};

struct Tag {
  std::string_view before;  // text between the tag before and this one
  std::string_view tag;     // with its brackets; empty at the end of the prompt
  std::string_view word;
  std::string_view arguments;
};

// The next tag of a text; `rest` moves behind it.
Tag next_tag(std::string_view& rest) {
  for (size_t open = rest.find('<'); open != std::string_view::npos; open = rest.find('<', open + 1)) {
    size_t colon = open + 1;
    while (colon < rest.size() && is_word_character(rest[colon])) ++colon;
    if (colon == open + 1 || colon == rest.size() || rest[colon] != ':') continue;
    const size_t close = rest.find('>', colon);
    if (close == std::string_view::npos) break;
    const Tag tag{rest.substr(0, open), rest.substr(open, close + 1 - open), rest.substr(open + 1, colon - open - 1),
                  rest.substr(colon + 1, close - colon - 1)};
    rest.remove_prefix(close + 1);
    return tag;
  }
  return {std::exchange(rest, {}), {}, {}, {}};
}

// The name is the first argument without "=", wherever it stands.
Result<AdapterRequest> read_tag(const Tag& tag) {
  std::vector<std::string> parts = split(tag.arguments, ':');
  const auto name = std::ranges::find_if(parts, [](const std::string& part) { return !contains(part, "="); });
  const std::string text = name == parts.end() ? "" : *name;
  if (name != parts.end()) parts.erase(name);
  return ArgumentReader(tag.tag).read(text, parts);
}

}  // namespace

Result<TaggedPrompt> take_adapter_tags(std::string_view prompt) {
  TaggedPrompt result;
  for (std::string_view rest = prompt; !rest.empty();) {
    const Tag tag = next_tag(rest);
    result.text += tag.before;
    if (tag.tag.empty()) continue;
    if (tag.word == "lora" || tag.word == "lyco") {
      VENEER_TRY(request, read_tag(tag));
      result.adapters.push_back(std::move(request));
    } else {
      result.warnings.push_back(
          concat("prompt: ", tag.tag, " was removed without effect: ", tag.word, " is not lora or lyco"));
    }
  }
  return result;
}

TaggedPrompt drop_adapter_tags(std::string_view negative_prompt) {
  TaggedPrompt result;
  for (std::string_view rest = negative_prompt; !rest.empty();) {
    const Tag tag = next_tag(rest);
    result.text += tag.before;
    if (tag.tag.empty()) continue;
    result.warnings.push_back(concat("negative prompt: ", tag.tag,
                                     " was removed without effect: adapters are read from the positive prompt only"));
  }
  return result;
}

Result<AdapterRequest> parse_adapter_option(std::string_view value) {
  const size_t slash = value.rfind('/');
  const size_t colon = value.find(':', slash == std::string_view::npos ? 0 : slash);
  std::vector<std::string> arguments;
  if (colon != std::string_view::npos) arguments = split(value.substr(colon + 1), ':');
  return ArgumentReader(value).read(value.substr(0, colon), arguments);
}

}  // namespace veneer::text
