// Reading and looking up weights by block.
#include "adapt/block_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "core/format.h"
#include "io/printable.h"

namespace veneer::adapt {
namespace {

constexpr std::string_view kOrders[] = {
    "BASE IN04-IN05 IN07-IN08 MID OUT00-OUT05", "BASE IN01-IN02 IN04-IN05 IN07-IN08 MID OUT03-OUT11",
    "BASE IN00-IN08 MID OUT00-OUT08",           "BASE IN00-IN11 MID OUT00-OUT11",
    "CLIP T5 IN D00-D18 S00-S37 OUT",
};

struct Preset {
  std::string_view name;
  std::string_view weights;  // one digit a label
};
constexpr Preset kPresets[] = {
    {"NONE", "00000000000000000"}, {"ALL", "11111111111111111"},   {"INS", "11110000000000000"},
    {"IND", "10001110000000000"},  {"INALL", "11111110000000000"}, {"MIDD", "10001111111100000"},
    {"OUTD", "10000000111100000"}, {"OUTS", "10000000000011111"},  {"OUTALL", "10000000111111111"},
};

std::string label(std::string_view side, int64_t number) {
  std::ostringstream out;
  out << side << std::setw(2) << std::setfill('0') << number;
  return out.str();
}

// "IN04-IN05" -> IN04, IN05.
std::vector<std::string> expand(std::string_view order) {
  std::vector<std::string> labels;
  for (const std::string& word : split(order, ' ')) {
    const size_t dash = word.find('-');
    if (dash == std::string::npos) {
      labels.push_back(word);
      continue;
    }
    const std::string_view side = std::string_view(word).substr(0, dash - 2);
    int64_t first = 0, last = 0;
    VENEER_CHECK(parse_number(std::string_view(word).substr(dash - 2, 2), first) &&
                 parse_number(std::string_view(word).substr(word.size() - 2), last));
    for (; first <= last; ++first) labels.push_back(label(side, first));
  }
  return labels;
}

Error usage(std::string_view text, std::string_view problem) {
  std::vector<std::string> orders;
  for (const std::string_view order : kOrders) orders.push_back(concat(expand(order).size(), " (", order, ")"));
  std::vector<std::string> presets;
  for (const Preset& preset : kPresets) presets.emplace_back(preset.name);
  return {ErrorCode::kUsage,
          concat("lbw=", io::printable(text), ": ", problem, "; give ", join(orders, ", "), " numbers, or one of ",
                 join(presets, ", ")),
          "lbw"};
}

// The place of a block in the orders: "input_blocks.4" is IN04.
std::string label_of(std::string_view block) {
  constexpr std::pair<std::string_view, std::string_view> kSides[] = {
      {"input_blocks", "IN"}, {"output_blocks", "OUT"}, {"double_blocks", "D"}, {"single_blocks", "S"}};
  const size_t dot = block.find('.');
  if (block.starts_with("middle_block")) return "MID";
  if (block == "final_layer") return "OUT";
  if (dot == std::string_view::npos) return block.empty() ? "BASE" : "IN";
  int64_t number = 0;
  for (const auto& [list, side] : kSides)
    if (block.substr(0, dot) == list && parse_number(block.substr(dot + 1), number)) return label(side, number);
  return "BASE";
}

// As few digits as give the same number back.
std::string number_text(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

}  // namespace

std::string original_block(std::string_view name) {
  constexpr std::string_view kLists[] = {"input_blocks", "middle_block", "output_blocks", "double_blocks",
                                         "single_blocks"};
  constexpr std::string_view kSingles[] = {"img_in", "txt_in", "time_in", "vector_in", "guidance_in", "final_layer"};
  const size_t dot = name.find('.');
  const std::string_view head = name.substr(0, dot);
  if (std::ranges::find(kSingles, head) != std::end(kSingles)) return std::string(head);
  if (dot == std::string_view::npos || std::ranges::find(kLists, head) == std::end(kLists)) return {};
  return std::string(name.substr(0, name.find('.', dot + 1)));
}

Result<BlockWeights> BlockWeights::parse(std::string_view text) {
  BlockWeights out;
  for (const Preset& preset : kPresets)
    if (preset.name == text)
      for (const char digit : preset.weights) out.weights_.push_back(digit - '0');
  if (out.weights_.empty())
    for (const std::string& word : split(text, ',')) {
      double weight = 0;
      if (!parse_number(trim(word), weight) || !std::isfinite(weight))
        return usage(text, concat("\"", io::printable(word), "\" is neither a number nor a preset"));
      out.weights_.push_back(weight);
    }
  for (const std::string_view order : kOrders)
    if (auto labels = expand(order); labels.size() == out.weights_.size()) out.labels_ = std::move(labels);
  if (out.labels_.empty()) return usage(text, concat("no order has ", out.weights_.size(), " numbers"));
  return out;
}

void BlockWeights::scale_sides(double in, double mid, double out) {
  in_ *= in;
  mid_ *= mid;
  out_ *= out;
}

double BlockWeights::factor(io::Part part, std::string_view block) const {
  const double weight = labels_.empty() ? 1 : listed(part, block);
  if (part != io::Part::kDenoiser) return weight;
  if (block.starts_with("input_blocks")) return weight * in_;
  if (block.starts_with("middle_block")) return weight * mid_;
  return block.starts_with("output_blocks") ? weight * out_ : weight;
}

double BlockWeights::listed(io::Part part, std::string_view block) const {
  const bool is_flux = labels_.front() == "CLIP";
  std::string wanted = "BASE";
  switch (part) {
    case io::Part::kDenoiser: wanted = label_of(block); break;
    case io::Part::kTextEncoder:
    case io::Part::kTextEncoder2: wanted = is_flux ? "CLIP" : "BASE"; break;
    case io::Part::kTextEncoder3: wanted = is_flux ? "T5" : "BASE"; break;
    case io::Part::kVae:
    case io::Part::kTinyVae: return 1;
  }
  const auto found = std::ranges::find(labels_, wanted);
  return found == labels_.end() ? 0 : weights_[static_cast<size_t>(found - labels_.begin())];
}

std::string BlockWeights::to_string() const {
  std::vector<std::string> numbers, arguments;
  for (const double weight : weights_) numbers.push_back(number_text(weight));
  if (!numbers.empty()) arguments.push_back("lbw=" + join(numbers, ","));
  for (const auto& [key, scale] : {std::pair("in=", in_), {"mid=", mid_}, {"out=", out_}})
    if (scale != 1) arguments.push_back(key + number_text(scale));
  return join(arguments, ":");
}

}  // namespace veneer::adapt
