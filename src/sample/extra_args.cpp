// One table of keys: how each is written, its range, and where its value goes.
#include "sample/extra_args.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/format.h"

namespace veneer::sample {
namespace {

constexpr double kAny = std::numeric_limits<double>::max();
constexpr double kAboveZero = std::numeric_limits<double>::min();
constexpr double kBelowOne = 1.0 - 1e-9;

struct Key {
  enum class Kind { kNumber, kInteger, kFlag };
  std::string_view name;
  Kind kind;
  double least, most;
  void (*set)(ExtraArgs& args, double value);
};
constexpr Key::Kind kNumber = Key::Kind::kNumber;
constexpr Key::Kind kInteger = Key::Kind::kInteger;
constexpr Key::Kind kFlag = Key::Kind::kFlag;

constexpr Key kKeys[] = {
    {"gamma", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.sampler.gamma = v; }},
    {"noise_scale_start", kNumber, 0, kAny, [](ExtraArgs& a, double v) { a.sampler.noise_scale_start = v; }},
    {"noise_scale_end", kNumber, 0, kAny, [](ExtraArgs& a, double v) { a.sampler.noise_scale_end = v; }},
    {"noise_clip_std", kNumber, 0, kAny, [](ExtraArgs& a, double v) { a.sampler.noise_clip_std = v; }},
    {"lms_max_order", kInteger, 1, 4, [](ExtraArgs& a, double v) { a.sampler.lms_max_order = static_cast<int>(v); }},
    {"alpha", kNumber, kAboveZero, kAny, [](ExtraArgs& a, double v) { a.schedule.alpha = v; }},
    {"beta", kNumber, kAboveZero, kAny, [](ExtraArgs& a, double v) { a.schedule.beta = v; }},
    {"base_shift", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.schedule.base_shift = v; }},
    {"max_shift", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.schedule.max_shift = v; }},
    {"stretch", kFlag, 0, 1, [](ExtraArgs& a, double v) { a.schedule.stretch = v != 0; }},
    {"terminal", kNumber, kAboveZero, kBelowOne, [](ExtraArgs& a, double v) { a.schedule.terminal = v; }},
    {"mu", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.schedule.mu = v; }},
    {"std", kNumber, kAboveZero, kAny, [](ExtraArgs& a, double v) { a.schedule.std = v; }},
    {"logsnr_min", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.schedule.logsnr_min = v; }},
    {"logsnr_max", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.schedule.logsnr_max = v; }},
    {"resolution_aware", kFlag, 0, 1, [](ExtraArgs& a, double v) { a.schedule.resolution_aware = v != 0; }},
    {"apg_eta", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.apg.eta = v; }},
    {"apg_momentum", kNumber, -kAny, kAny, [](ExtraArgs& a, double v) { a.apg.momentum = v; }},
    {"apg_norm_threshold", kNumber, 0, kAny, [](ExtraArgs& a, double v) { a.apg.norm_threshold = v; }},
    {"apg_norm_threshold_smoothing", kNumber, 0, kAny,
     [](ExtraArgs& a, double v) { a.apg.norm_threshold_smoothing = v; }},
    {"slg_uncond", kFlag, 0, 1, [](ExtraArgs& a, double v) { a.slg_uncond = v != 0; }},
    {"strength_as_noise_level", kFlag, 0, 1, [](ExtraArgs& a, double v) { a.strength_as_noise_level = v != 0; }},
    {"force_first_sigma", kFlag, 0, 1, [](ExtraArgs& a, double v) { a.force_first_sigma = v != 0; }},
};

Error usage(const std::string& message) {
  return {ErrorCode::kUsage, concat("extra-sample-args: ", message), "extra_sample_args"};
}

bool read_value(const Key& key, std::string_view text, double& value) {
  if (key.kind == kFlag && (text == "true" || text == "false")) {
    value = text == "true";
    return true;
  }
  return parse_number(text, value) && (key.kind == kNumber || value == std::floor(value));
}

std::string expectation(const Key& key) {
  if (key.kind == kFlag) return "true, false, 1 or 0";
  std::string text = key.kind == kInteger ? "a whole number" : "a number";
  if (key.least == kAboveZero)
    text += " above 0";
  else if (key.least != -kAny)
    text += concat(" of at least ", key.least);
  if (key.most == kBelowOne)
    text += " and below 1";
  else if (key.most != kAny)
    text += concat(" and at most ", key.most);
  return text;
}

Status set_key(ExtraArgs& args, std::string_view name, std::string_view text) {
  if (name == "guidance_schedule") {
    VENEER_TRY(scales, parse_guidance_schedule(text));
    args.guidance_schedule = std::move(scales);
    return {};
  }
  const Key* key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& row) { return row.name == name; });
  if (key == std::end(kKeys)) {
    args.unknown.emplace_back(name);
    return {};
  }
  double value = 0;
  if (!read_value(*key, text, value) || value < key->least || value > key->most)
    return usage(concat(name, " expects ", expectation(*key), ", found \"", text, "\""));
  key->set(args, value);
  return {};
}

}  // namespace

Result<ExtraArgs> parse_extra_args(std::string_view text) {
  ExtraArgs args;
  std::set<std::string, std::less<>> seen;
  if (trim(text).empty()) return args;
  for (const std::string& pair : split(text, ',')) {
    const size_t equals = pair.find('=');
    const std::string_view name = trim(std::string_view(pair).substr(0, equals));
    if (equals == std::string::npos || name.empty())
      return usage(concat("expects key=value pairs joined by commas, found \"", pair, "\""));
    if (!seen.emplace(name).second) return usage(concat(name, " is given twice; keep one of them"));
    VENEER_TRY_STATUS(set_key(args, name, trim(std::string_view(pair).substr(equals + 1))));
  }
  return args;
}

}  // namespace veneer::sample
