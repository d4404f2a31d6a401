// A codec whose side parts are the pieces, numbered in order.
#include "codec/joined_rows.h"

#include <algorithm>

#include "core/format.h"

namespace veneer::codec {
namespace {

std::string piece_key(size_t i) { return concat("piece ", i); }

Status check(const Weight&) { return {}; }  // made of weights that were checked

void decode(const Weight& weight, int64_t first, int64_t count, float* out) {
  const int64_t width = weight.row_values();
  int64_t top = 0;  // where the piece begins
  for (size_t i = 0; count > 0; ++i) {
    const Weight& piece = *weight.side->find(piece_key(i));
    const int64_t run = std::min(count, top + piece.rows() - first);
    if (run > 0) {
      piece.decode_rows(first - top, run, out);
      first += run;
      count -= run;
      out += run * width;
    }
    top += piece.rows();
  }
}

constexpr Codec kJoinedRows{"joined rows", 1, 4, check, decode, nullptr};

}  // namespace

Weight joined_rows(std::span<const Weight> pieces) {
  VENEER_CHECK(!pieces.empty());
  auto side = std::make_shared<SideParts>();
  Weight joined;
  joined.codec = &kJoinedRows;
  joined.shape = pieces.front().shape;
  joined.shape[0] = 0;
  std::vector<std::string> names;
  for (size_t i = 0; i < pieces.size(); ++i) {
    side->tensors.emplace(piece_key(i), pieces[i]);
    joined.shape[0] += pieces[i].rows();
    names.push_back(pieces[i].name);
  }
  joined.name = join(names, " + ");
  joined.side = std::move(side);
  return joined;
}

}  // namespace veneer::codec
