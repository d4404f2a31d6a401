// What the pickle machine's opcodes make of values: containers, storages and descriptions of tensors, in a Pickle.
// Knows no opcode and no stack. Private to the pickle machine; its errors are sentences without a place.
#pragma once

#include <vector>

#include "io/pickle_machine.h"

namespace veneer::io {

class PickleBuilder {
 public:
  using Values = std::vector<PickleValue>;

  PickleValue sequence(Values items);
  PickleValue dict(Values items);

  // Adds to a list, or keys and values to a dictionary; what is added to an opaque value is dropped.
  Status add_items(const PickleValue& target, const Values& items);
  // What calling a class of the list with a sequence of arguments stands for.
  Result<PickleValue> call(const PickleClass& known, const PickleValue& arguments);
  // An object of a class of the list, without attributes.
  Result<PickleValue> object_of(const PickleClass& known);
  // Gives an object its attributes.
  Status set_state(const PickleValue& object, const PickleValue& state);
  // ("storage", class, key, device, number of values), and in the legacy layout a sixth item: the part of another
  // storage that this one is.
  Result<PickleValue> storage(const PickleValue& id);

  Pickle take(const PickleValue& result, size_t bytes);

 private:
  // A container may be used any number of times for two bytes each: without a count, short pickles take forever.
  Status charge(size_t items);
  Result<PickleValue> tensor(const Values& arguments);
  Result<PickleValue> dict_of_pairs(const Values& arguments);

  Pickle pickle_;
  size_t charged_ = 0;  // items
};

}  // namespace veneer::io
