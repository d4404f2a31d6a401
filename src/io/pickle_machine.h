// The pickle machine, restricted to what builds tensors: a fixed list of opcodes and of class names, no code of anyone.
// It works on bytes in memory and knows neither archives nor tensors' bytes; what it built is data to look through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/pickle_classes.h"

namespace veneer::io {

// A value is small; containers, storages and tensors lie in the Pickle and are known by index.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,        // number: 0 or 1
    kInteger,     // number
    kBigInteger,  // text: its little-endian bytes, more than eight
    kText,        // text
    kClass,       // known
    kSequence,    // number: index into sequences; a tuple or list
    kDict,        // number: index into dicts
    kStorage,     // number: index into storages
    kTensor,      // number: index into tensors
    kOpaque,      // of no interest: fractions, bytes, what opaque classes give
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  std::string_view text = {};  // points into the pickle
  const PickleClass* known = nullptr;

  size_t index() const { return static_cast<size_t>(number); }
};

// Values that lie outside the pickle, in a record of their own.
struct PickleStorage {
  const PickleClass* type = nullptr;  // of role kStorage
  std::string_view key;               // names the record
  int64_t values = 0;                 // as the pickle promises; not checked
};

struct PickleTensor {
  PickleStorage storage;
  int64_t offset = 0;          // in values; not checked
  PickleValue sizes, strides;  // kSequence; what they hold is not checked
};

struct Pickle {
  std::vector<std::vector<PickleValue>> sequences;
  std::vector<std::vector<PickleValue>> dicts;  // key, value, key, value...
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;
  PickleValue result;
  size_t bytes = 0;  // that the pickle took, its last opcode included

  // The value under a key of text; null when `dict` is no dictionary or has no such key.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

// Containers may be shared, and may hold themselves: who walks through them must bound depth and steps.
// `place` stands first in messages. Memory is bounded by the pickle's length and by a limit of opcodes.
// Errors: unsupported for an opcode, class or protocol that is not on the list (named); bad_file for anything else.
Result<Pickle> run_pickle(std::span<const std::byte> bytes, std::string_view place);

}  // namespace veneer::io
