// The work of assemble.h in progress, as the schemes see it: entries that can be taken out and put back joined.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "io/weight_store.h"

namespace veneer::io {

class Assembly {
 public:
  Assembly(const WeightStore& store, const Json& config, std::string_view source)
      : store_(store), config_(config), source_(source), entries_(store.entries()) {}

  const Json& config() const { return config_; }
  const std::string& source() const { return source_; }
  const WeightStore::Metadata& metadata() const { return store_.metadata(); }
  const WeightStore::Entries& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;
  // The names in front of `suffix` (".weight_scale") of all entries that end in it.
  std::vector<std::string> names_before(std::string_view suffix) const;

  // Takes an entry out. Errors: bad_file when it is missing.
  Result<Entry> take(const std::string& name);
  // The same for a side tensor of F32, F16 or BF16. Errors: bad_file also for another type.
  Result<codec::Weight> take_numbers(const std::string& name);
  void drop(const std::string& name) { entries_.erase(name); }

  // Puts `stored` back under `name` as a weight of `codec` with its side parts. A weight whose shape is certain is
  // checked. Errors: those of the codec's check.
  Status put(const std::string& name, Entry stored, std::string_view codec, const Shape& shape, codec::SideParts side);

  void warn(const std::string& text) { warnings_.push_back(source_ + ": " + text); }
  Error bad(const std::string& name, const std::string& what) const;
  Error unsupported(const std::string& name, const std::string& what) const;

  WeightStore store() && { return {std::move(entries_), store_.metadata(), store_.files()}; }
  std::vector<std::string> warnings() && { return std::move(warnings_); }

 private:
  const WeightStore& store_;
  const Json& config_;
  std::string source_;
  WeightStore::Entries entries_;
  std::vector<std::string> warnings_;
};

// One way to store quantized weights. `assemble` joins the weights that are of its kind and leaves the others.
struct QuantScheme {
  std::string_view name;
  Status (*assemble)(Assembly& assembly);
};

// Joins L.weight of F8 or INT8 with its scale, one value or one a row; `rotation` is the group of the inputs, or 0.
Status join_scaled(Assembly& assembly, const std::string& layer, int64_t rotation);
// Joins L.weight of packed 4-bit floats with its two levels of scales. `tiled` as in codec/mx.cpp.
Status join_nvfp4(Assembly& assembly, const std::string& layer, bool tiled);

}  // namespace veneer::io
