// XMP packets, the RDF/XML that WebP carries as metadata (ISO 16684-1). Private to the picture files of this folder.
#pragma once

#include <string>
#include <string_view>

#include "io/image.h"

namespace veneer::io {

// A packet with the members that are not empty, as elements `parameters` and `json` of this program's namespace.
std::string xmp_packet(const ImageText& text);

// "parameters" and "veneer" from elements with the local names `parameters` and `json`, whatever their namespace; if
// there is neither, the packet itself as "XMP".
TextFields xmp_fields(std::string_view packet);

}  // namespace veneer::io
