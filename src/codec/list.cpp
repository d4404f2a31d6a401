// The formats, in the order in which reports list them.
#include <algorithm>

#include "codec/codec.h"

namespace veneer::codec {

extern const Codec kF32, kF16, kBf16;

namespace {
constexpr const Codec* kCodecs[] = {&kF32, &kF16, &kBf16};
}

std::span<const Codec* const> codecs() { return kCodecs; }

const Codec* find_codec(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kCodecs), std::end(kCodecs), [&](const Codec* c) { return c->name == name; });
  return found == std::end(kCodecs) ? nullptr : *found;
}

}  // namespace veneer::codec
