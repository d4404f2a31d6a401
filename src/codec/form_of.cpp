// Telling a form from a codec and its side parts.
#include "codec/form_of.h"

#include "codec/row_view.h"
#include "codec/sdnq_layout.h"
#include "core/format.h"

namespace veneer::codec {
namespace {

std::optional<Form> sdnq_form(const Weight& weight) {
  const auto layout = sdnq_layout(weight);
  if (!layout || layout->rank > 0 || layout->rotation > 1 || layout->is_codebook()) return std::nullopt;
  const bool encodable = layout->type.is_integer() && (layout->type.bits == 4 || layout->type.bits == 8);
  const bool plain_scales = !weight.side->find("scale")->side && layout->scale_row > 0;
  if (!encodable || layout->transposed || !plain_scales) return std::nullopt;
  return SdnqForm{layout->type, layout->group, 0, nullptr, false};
}

}  // namespace

std::optional<Form> form_of(const Weight& held) {
  const Weight weight = whole_of(held);
  if (!weight.side && weight.codec->encode) return PlainForm{weight.codec};
  if (weight.codec->name == "sdnq") return sdnq_form(weight);
  for (const char* name : {"f8_e4m3", "f8_e5m2"})
    if (weight.codec->name == concat(name, "_scaled") && weight.side->setting("rotation", 0) <= 1)
      return ScaledForm{find_codec(name), weight.side->find("scale")->elements() > 1};
  return std::nullopt;
}

std::string form_name(const Weight& held) {
  const Weight weight = whole_of(held);
  if (weight.side && weight.codec->name == "sdnq") {
    const SdnqType type = sdnq_type_from(weight.side->setting("type", 0));
    if (type.is_integer())
      return concat("sdnq_", type.is_unsigned ? "uint" : "int", type.bits, weight.side->find("svd_up") ? "_svd" : "");
  }
  const auto form = form_of(weight);
  const auto* scaled = form ? std::get_if<ScaledForm>(&*form) : nullptr;
  return concat(weight.codec->name, scaled && scaled->per_row ? "_rows" : "");
}

}  // namespace veneer::codec
