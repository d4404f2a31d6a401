// Walking the double-array trie.
#include "text/t5_character_map.h"

#include <cstring>

#include "core/format.h"

namespace veneer::text {
namespace {

// Parts of a unit. A node's children lie at its place exclusive-or offset exclusive-or their byte; its value, if it has
// one, where a child with byte zero would, marked by the highest bit.
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool has_value(uint32_t unit) { return (unit >> 8 & 1u) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffffu; }
bool is_child(uint32_t unit, unsigned char byte) { return (unit & 0x800000ffu) == byte; }

}  // namespace

Result<CharacterMap> CharacterMap::parse(std::string_view table, std::string_view name) {
  CharacterMap map;
  if (table.empty()) return map;
  const auto bad = [name](std::string_view what) {
    return Error{ErrorCode::kBadFile, concat(name, ": the character map ", what, "; download the file again"),
                 std::string(name)};
  };
  uint32_t trie_bytes = 0;
  if (table.size() < sizeof(trie_bytes)) return bad("is cut short");
  std::memcpy(&trie_bytes, table.data(), sizeof(trie_bytes));
  table.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes > table.size())
    return bad(concat("says that its trie has ", trie_bytes, " of ", table.size(), " bytes"));
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(map.units_.data(), table.data(), trie_bytes);
  map.replacements_ = table.substr(trie_bytes);
  if (!map.replacements_.ends_with('\0')) return bad("does not end with a zero byte");
  return map;
}

CharacterMap::Replacement CharacterMap::find(std::string_view text) const {
  Replacement longest{0, {}};
  if (units_.empty()) return longest;
  uint32_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || !is_child(units_[node], byte)) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (node >= units_.size()) break;
    const uint32_t place = value_of(units_[node]);
    if (place >= replacements_.size()) break;
    longest = {i + 1, std::string_view(replacements_.c_str() + place)};
  }
  return longest;
}

}  // namespace veneer::text
