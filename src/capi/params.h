// What callers in C hand over, checked and turned into what sessions take. Errors: usage naming the field.
#pragma once

#include <algorithm>
#include <cstring>

#include "pipeline/session.h"
#include "veneer/veneer.h"

namespace veneer::capi {

// A structure of an older or newer caller: what it does not have keeps its default, what is not known here is left.
template <typename Params>
Result<Params> sized_copy(const Params* params, void (*init)(Params*)) {
  Params copy;
  init(&copy);
  const uint32_t size = params ? params->struct_size : 0;
  if (size < sizeof(uint32_t))
    return Error{ErrorCode::kUsage, "the parameter structure was not prepared by its _init function", "struct_size"};
  std::memcpy(&copy, params, std::min<size_t>(size, sizeof(Params)));
  return copy;
}

// How a context lays adapters over its model; its list is empty.
using AdapterSettings = pipeline::AdapterOrder;

Result<pipeline::SessionOptions> options_of(const veneer_ctx_params& params);
Result<AdapterSettings> settings_of(const veneer_ctx_params& params);
Result<pipeline::AdapterOrder> adapters_of(const veneer_adapter* adapters, size_t count,
                                           const AdapterSettings& settings);
Result<pipeline::Request> request_of(const veneer_img_params& params, const AdapterSettings& settings);

}  // namespace veneer::capi
