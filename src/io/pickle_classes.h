// The fixed list of Python names that a pickle may call upon. None of them is ever run: each stands for something that
// the machine builds itself, or for a thing of no interest.
#pragma once

#include <span>
#include <string_view>

namespace veneer::io {

struct PickleClass {
  enum class Role {
    kStorage,    // the type of a run of numbers
    kTensor,     // called with a storage, an offset, sizes and strides
    kParameter,  // called with a tensor, which it returns
    kDict,       // called with nothing or a list of pairs
    kSize,       // called with a tuple, which it returns
    kOpaque,     // may be named and called; what comes of it is not looked at
  };
  std::string_view module;
  std::string_view name;
  Role role;
  std::string_view type = {};  // of a storage: the type as a safetensors header spells it
};

// Null for a name that is not on the list.
const PickleClass* find_pickle_class(std::string_view module, std::string_view name);

}  // namespace veneer::io
