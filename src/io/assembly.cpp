// Taking entries out of a store and putting them back joined.
#include "io/assembly.h"

#include "core/format.h"
#include "io/printable.h"

namespace veneer::io {

const Entry* Assembly::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> Assembly::names_before(std::string_view suffix) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_)
    if (name.ends_with(suffix) && name.size() > suffix.size())
      names.push_back(name.substr(0, name.size() - suffix.size()));
  return names;
}

Result<Entry> Assembly::take(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return bad(name, "is missing beside its layer's other tensors");
  Entry entry = std::move(found->second);
  entries_.erase(found);
  return entry;
}

Result<codec::Weight> Assembly::take_numbers(const std::string& name) {
  VENEER_TRY(entry, take(name));
  for (const std::string_view plain : {"f32", "f16", "bf16"})
    if (entry.weight.codec && entry.weight.codec->name == plain) return std::move(entry.weight);
  return bad(name, concat("expected F32, F16 or BF16, found ", entry.type_name));
}

Status Assembly::put(const std::string& name, Entry stored, std::string_view codec, const Shape& shape,
                     codec::SideParts side) {
  stored.weight.codec = codec::find_codec(codec);
  VENEER_CHECK(stored.weight.codec != nullptr);
  stored.weight.shape = shape;
  const bool open = side.setting("open_shape", 0) != 0;
  stored.weight.side = std::make_shared<codec::SideParts>(std::move(side));
  if (Status checked = stored.weight.codec->check(stored.weight); !open && !checked) {
    Error error = std::move(checked).error();
    error.message = concat(source_, ": ", error.message);
    return error;
  }
  entries_[name] = std::move(stored);
  return {};
}

Error Assembly::bad(const std::string& name, const std::string& what) const {
  return {ErrorCode::kBadFile, concat(source_, ": tensor ", printable(name), ": ", what), name};
}

Error Assembly::unsupported(const std::string& name, const std::string& what) const {
  return {
      ErrorCode::kUnsupported,
      concat(source_, ": tensor ", printable(name), ": ", what, " is not supported; use another file of this model"),
      name};
}

}  // namespace veneer::io
