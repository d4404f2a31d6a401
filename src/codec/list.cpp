// The formats, in the order in which reports list them.
#include <algorithm>

#include "codec/codec.h"
#include "core/format.h"

namespace veneer::codec {

extern const Codec kF32, kF16, kBf16, kF64, kF8E4m3, kF8E5m2;
extern const Codec kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0;
extern const Codec kQ2K, kQ3K, kQ4K, kQ5K, kQ6K;
extern const Codec kIq4Nl, kIq4Xs, kTq1_0, kTq2_0, kMxfp4, kNvfp4;
extern const Codec kScaledF8E4m3, kScaledF8E5m2, kScaledInt8, kMxfp8, kScaledNvfp4, kBnbNf4, kBnbFp4, kSdnq;

namespace {
constexpr const Codec* kCodecs[] = {
    &kF32,        &kF16,   &kBf16,        &kF64,    &kF8E4m3, &kF8E5m2, &kQ4_0,         &kQ4_1,
    &kQ5_0,       &kQ5_1,  &kQ8_0,        &kQ2K,    &kQ3K,    &kQ4K,    &kQ5K,          &kQ6K,
    &kIq4Nl,      &kIq4Xs, &kTq1_0,       &kTq2_0,  &kMxfp4,  &kNvfp4,  &kScaledF8E4m3, &kScaledF8E5m2,
    &kScaledInt8, &kMxfp8, &kScaledNvfp4, &kBnbNf4, &kBnbFp4, &kSdnq,
};
}

std::span<const Codec* const> codecs() { return kCodecs; }

const Codec* find_codec(std::string_view name) {
  const std::string wanted = lower_ascii(name);
  const auto found = std::find_if(std::begin(kCodecs), std::end(kCodecs),
                                  [&](const Codec* c) { return lower_ascii(c->name) == wanted; });
  return found == std::end(kCodecs) ? nullptr : *found;
}

}  // namespace veneer::codec
