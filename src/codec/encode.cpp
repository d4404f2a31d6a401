// The forms by name, and one call for all of them.
#include "codec/encode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "codec/scaled_encode.h"
#include "codec/sdnq_encode.h"
#include "core/format.h"

namespace veneer::codec {
namespace {

constexpr int64_t kUsualRank = 32;  // of the reference's low-rank parts

using NamedForm = std::pair<std::string, Form>;

std::vector<NamedForm> named_forms() {
  std::vector<NamedForm> forms;
  for (const Codec* codec : codecs())
    if (codec->encode) forms.emplace_back(codec->name, PlainForm{codec});
  for (const std::string name : {"f8_e4m3", "f8_e5m2"})
    for (const bool per_row : {false, true})
      forms.emplace_back(concat(name, "_scaled", per_row ? "_rows" : ""), ScaledForm{find_codec(name), per_row});
  for (const std::string name : {"int8", "uint8", "int4", "uint4"})
    for (const int64_t rank : {int64_t{0}, kUsualRank})
      forms.emplace_back(concat("sdnq_", name, rank > 0 ? "_svd" : ""),
                         SdnqForm{*parse_sdnq_type(name), 0, rank, nullptr, false});
  return forms;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kF16Limit = 65520.0f;  // what rounds to an infinity in F16

// Magnitudes from here on cannot be stored: they, or the F16 scales of blocks, would round to an infinity.
float limit_of(const Codec& codec) {
  if (codec.name == "f32") return kInfinity;
  return codec.name == "bf16" ? 0x1.FFp127f : kF16Limit;
}

bool saturates(const Codec& codec) { return codec.name == "f8_e4m3" || codec.name == "f8_e5m2"; }

Status check_values(std::span<const float> values, float limit, std::string_view name) {
  const auto bad = std::ranges::find_if(values, [&](float value) { return !(std::abs(value) < limit); });
  if (bad == values.end()) return {};
  return Error{ErrorCode::kBadFile,
               concat("tensor ", name, ": value ", bad - values.begin(), " is ", *bad,
                      std::isfinite(*bad) ? ", too large for the type asked for; choose bf16 or f32"
                                          : ", which cannot be encoded; the model is damaged"),
               std::string(name)};
}

Weight owning(const Codec* codec, std::vector<std::byte> bytes, const Shape& shape, std::string name) {
  const auto memory = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {std::move(name), codec, shape, std::span(*memory), memory, nullptr};
}

// The codec that reads what a form writes, and the settings that it needs.
const Codec* reader_of(const Form& form, SideParts& side) {
  if (const auto* plain = std::get_if<PlainForm>(&form)) return plain->codec;
  if (const auto* scaled = std::get_if<ScaledForm>(&form)) return find_codec(concat(scaled->codec->name, "_scaled"));
  side.settings["type"] = to_setting(std::get<SdnqForm>(form).type);
  return find_codec("sdnq");
}

}  // namespace

std::optional<Form> find_form(std::string_view name) {
  const std::vector<NamedForm> forms = named_forms();
  const std::string wanted = lower_ascii(name);
  const auto found =
      std::ranges::find_if(forms, [&](const NamedForm& form) { return lower_ascii(form.first) == wanted; });
  return found == forms.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> form_names() {
  std::vector<std::string> names;
  for (const NamedForm& form : named_forms()) names.push_back(form.first);
  return names;
}

std::string type_name(const Codec& codec) {
  std::string name(codec.name);
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

std::vector<StoredTensor> stored_tensors(const Form& form, const Shape& shape) {
  if (const auto* scaled = std::get_if<ScaledForm>(&form)) return scaled_tensors(*scaled, shape);
  if (const auto* sdnq = std::get_if<SdnqForm>(&form)) return sdnq_tensors(*sdnq, shape);
  const Codec& codec = *std::get<PlainForm>(form).codec;
  const int64_t row = shape.rank() == 0 ? 1 : shape.back();
  if (row % codec.block_values != 0) return {};
  return {{"", type_name(codec), shape}};
}

Result<std::vector<std::vector<std::byte>>> encode(const Form& form, std::span<const float> values, const Shape& shape,
                                                   std::string_view name) {
  VENEER_CHECK(static_cast<int64_t>(values.size()) == shape.elements() && !stored_tensors(form, shape).empty());
  if (const auto* scaled = std::get_if<ScaledForm>(&form)) {
    VENEER_TRY_STATUS(check_values(values, kInfinity, name));
    return encode_scaled(*scaled, values, shape);
  }
  if (const auto* sdnq = std::get_if<SdnqForm>(&form)) {
    VENEER_TRY_STATUS(check_values(values, kF16Limit, name));  // far from where products in float32 overflow
    return encode_sdnq(*sdnq, values, shape);
  }
  const Codec& codec = *std::get<PlainForm>(form).codec;
  std::vector<std::byte> bytes(static_cast<size_t>(encoded_bytes(codec, shape.elements())));
  VENEER_TRY_STATUS(encode_values(codec, values, name, bytes));
  return std::vector<std::vector<std::byte>>{std::move(bytes)};
}

Status encode_values(const Codec& codec, std::span<const float> values, std::string_view name,
                     std::span<std::byte> out) {
  const auto count = static_cast<int64_t>(values.size());
  VENEER_CHECK(count % codec.block_values == 0 && encoded_bytes(codec, count) == static_cast<int64_t>(out.size()));
  if (!saturates(codec)) VENEER_TRY_STATUS(check_values(values, limit_of(codec), name));
  codec.encode(values, out.data());
  return {};
}

Weight decodable(const Form& form, std::vector<std::vector<std::byte>> encoded, const Shape& shape, std::string name) {
  const std::vector<StoredTensor> tensors = stored_tensors(form, shape);
  VENEER_CHECK(!tensors.empty() && tensors.size() == encoded.size());
  SideParts side;
  const Codec* codec = reader_of(form, side);
  for (size_t i = 1; i < tensors.size(); ++i) {
    const StoredTensor& tensor = tensors[i];
    const std::string key(tensor.suffix == ".weight_scale" ? "scale" : tensor.suffix.substr(1));
    side.tensors.emplace(
        key, owning(find_codec(tensor.type), std::move(encoded[i]), tensor.shape, concat(name, tensor.suffix)));
  }
  Weight weight = owning(codec, std::move(encoded[0]), shape, std::move(name));
  if (!side.tensors.empty()) weight.side = std::make_shared<const SideParts>(std::move(side));
  return weight;
}

}  // namespace veneer::codec
