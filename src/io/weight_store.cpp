// Stores of weights: lookup with helpful errors, views under other names, and the content hash.
#include "io/weight_store.h"

#include <algorithm>

#include "core/format.h"
#include "core/hash.h"
#include "io/printable.h"

namespace veneer::io {

namespace {

// A text with its length, so that no two weights give the same bytes.
void add_text(Sha256& hash, const std::string& text) { hash.add(concat(text.size(), ":", text)); }

void add_content(Sha256& hash, const codec::Weight& weight) {
  add_text(hash, weight.shape.to_string());
  hash.add(weight.bytes);
  if (!weight.side) return;
  for (const auto& [key, value] : weight.side->settings) add_text(hash, concat(key, "=", value));
  for (const auto& [key, part] : weight.side->tensors) {
    add_text(hash, key);
    add_content(hash, part);
  }
}

}  // namespace

WeightStore::WeightStore(Entries entries, Metadata metadata, std::vector<std::shared_ptr<const MappedFile>> files)
    : entries_(std::move(entries)), metadata_(std::move(metadata)), files_(std::move(files)) {}

const Entry* WeightStore::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

Result<codec::Weight> WeightStore::weight(std::string_view name) const {
  const Entry* entry = find(name);
  if (!entry) {
    std::vector<std::string> names;
    for (const auto& [candidate, ignored] : entries_) names.push_back(candidate);
    std::vector<std::string> nearest = nearest_names(name, names, 3);
    for (std::string& near : nearest) near = printable(near);
    return Error{ErrorCode::kBadFile,
                 concat(source(), ": has no tensor ", name,
                        nearest.empty() ? " (it has none at all)" : concat(" (nearest: ", join(nearest, ", "), ")")),
                 std::string(name)};
  }
  if (!entry->weight.codec) {
    std::vector<std::string> readable;
    for (const codec::Codec* codec : codec::codecs()) readable.emplace_back(codec->name);
    return Error{ErrorCode::kUnsupported,
                 concat(source(), ": tensor ", printable(entry->weight.name), ": the type ", entry->type_name,
                        " cannot be used as a weight, expected one of ", join(readable, ", ")),
                 std::string(name)};
  }
  if (!entry->weight.shape_is_open()) VENEER_TRY_STATUS(entry->weight.codec->check(entry->weight));
  return entry->weight;
}

WeightStore WeightStore::under(std::string_view prefix) const {
  Entries kept;
  for (auto it = entries_.lower_bound(prefix); it != entries_.end() && it->first.starts_with(prefix); ++it)
    if (it->first.size() > prefix.size()) kept.emplace(it->first.substr(prefix.size()), it->second);
  return {std::move(kept), metadata_, files_};
}

WeightStore WeightStore::renamed(const std::function<std::string(std::string_view)>& rename) const {
  Entries kept;
  for (const auto& [name, entry] : entries_)
    if (std::string other = rename(name); !other.empty()) kept.emplace(std::move(other), entry);
  return {std::move(kept), metadata_, files_};
}

WeightStore WeightStore::layered(const WeightStore& upper) const {
  WeightStore both = upper;
  both.entries_.insert(entries_.begin(), entries_.end());
  both.metadata_.insert(metadata_.begin(), metadata_.end());
  for (const auto& file : files_)
    if (std::find(both.files_.begin(), both.files_.end(), file) == both.files_.end()) both.files_.push_back(file);
  return both;
}

int64_t WeightStore::parameters() const {
  int64_t values = 0;
  for (const auto& [name, entry] : entries_) values += entry.weight.elements();
  return values;
}

uint64_t WeightStore::bytes() const {
  uint64_t total = 0;
  for (const auto& [name, entry] : entries_) total += entry.weight.stored_bytes();
  return total;
}

std::string WeightStore::content_hash() const {
  Sha256 hash;
  for (const auto& [name, entry] : entries_) {
    add_text(hash, name);
    add_text(hash, entry.type_name);
    add_content(hash, entry.weight);
  }
  return hash.hex();
}

std::string WeightStore::source() const { return files_.empty() ? "(no file)" : files_.front()->path().string(); }

void WeightStore::release() const {
  for (const auto& [name, entry] : entries_)
    for (const auto& file : files_) file->release(entry.weight.bytes);
}

Status WeightStore::still_whole() const {
  for (const auto& file : files_) VENEER_TRY_STATUS(file->still_whole());
  return {};
}

}  // namespace veneer::io
