// The tensors of one source (a file, a folder, or a prefix of either), by name, mapped read-only. Immutable after it is
// made; copies share everything. A container (safetensors, ...) fills it; a model takes weights out of it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/weight.h"
#include "core/files.h"

namespace veneer::io {

// One tensor as its file describes it. `weight.codec` is null for a type that is no weight (integers, packed kinds that
// only a side part uses); `type_name` is the file's own word for it, `weight.bytes` its bytes in either case.
struct Entry {
  codec::Weight weight;   // weight.name is the full name in the file
  std::string type_name;  // "F16", "I64", ...
};

class WeightStore {
 public:
  using Entries = std::map<std::string, Entry, std::less<>>;
  using Metadata = std::map<std::string, std::string>;

  WeightStore() = default;
  // `entries` by name as a layer asks for it. `files` are the mappings that the bytes lie in.
  WeightStore(Entries entries, Metadata metadata, std::vector<std::shared_ptr<const MappedFile>> files);

  bool empty() const { return entries_.empty(); }
  const Entries& entries() const { return entries_; }
  const Entry* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Metadata& metadata() const { return metadata_; }
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

  // The named tensor as a weight. Errors: bad_file when it is missing (naming the nearest names and the file),
  // unsupported when its type is no weight. A weight whose shape is open is not checked yet.
  Result<codec::Weight> weight(std::string_view name) const;

  // The entries whose name starts with `prefix`, without it.
  WeightStore under(std::string_view prefix) const;
  // The same entries under other names; an entry that is given an empty name is left out, and so is one whose new name
  // an earlier entry has.
  WeightStore renamed(const std::function<std::string(std::string_view)>& rename) const;
  // This store with `upper`'s entries over it: the upper one wins for a name that both have, in metadata as well.
  WeightStore layered(const WeightStore& upper) const;

  int64_t parameters() const;  // values of all entries
  uint64_t bytes() const;      // as stored, side parts included
  // SHA-256 over the names, types, shapes, bytes and side parts of all entries, in the order of names. Reads
  // everything: ask still_whole first.
  std::string content_hash() const;
  std::string source() const;  // the file, or the first of several, for messages
  Status still_whole() const;  // of every file; core/files.h
  // Lets go of the memory that mapped weights stand in; they are read again when somebody asks for them.
  void release() const;

 private:
  Entries entries_;
  Metadata metadata_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace veneer::io
