// What each allowed class and container stands for. Nothing here runs what a pickle brings.
#include "io/pickle_builder.h"

#include <iterator>
#include <utility>

#include "core/format.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

using Kind = PickleValue::Kind;
using Role = PickleClass::Role;

constexpr size_t kMaxItems = size_t{1} << 22;  // put into containers or looked through, all opcodes together

template <typename... Parts>
Error bad(const Parts&... what) {
  return {ErrorCode::kBadFile, concat(what..., "; the file is damaged"), {}};
}
template <typename... Parts>
Error unsupported(const Parts&... what) {
  return {ErrorCode::kUnsupported, concat(what...), {}};
}

template <typename Item>
PickleValue last_of(Kind kind, const std::vector<Item>& items) {
  return {kind, static_cast<int64_t>(items.size() - 1)};
}

}  // namespace

PickleValue PickleBuilder::sequence(Values items) {
  pickle_.sequences.push_back(std::move(items));
  return last_of(Kind::kSequence, pickle_.sequences);
}

PickleValue PickleBuilder::dict(Values items) {
  pickle_.dicts.push_back(std::move(items));
  return last_of(Kind::kDict, pickle_.dicts);
}

Status PickleBuilder::charge(size_t items) {
  charged_ += items;
  if (charged_ <= kMaxItems) return {};
  return unsupported("the pickle handles more than ", kMaxItems, " items, which is the limit");
}

Status PickleBuilder::add_items(const PickleValue& target, const Values& items) {
  VENEER_TRY_STATUS(charge(items.size()));
  if (target.kind == Kind::kOpaque) return {};
  const bool dict = target.kind == Kind::kDict;
  if (!dict && target.kind != Kind::kSequence) return bad("the pickle adds items to what is no container");
  if (dict && items.size() % 2 != 0) return bad("the pickle adds a key without a value");
  Values& content = dict ? pickle_.dicts[target.index()] : pickle_.sequences[target.index()];
  content.insert(content.end(), items.begin(), items.end());
  return {};
}

// `arguments` stay where they lie, among the sequences: nothing that is called here may make another one.
Result<PickleValue> PickleBuilder::call(const PickleClass& known, const PickleValue& arguments) {
  const Values& items = pickle_.sequences[arguments.index()];
  const Kind first = items.empty() ? Kind::kNone : items[0].kind;
  switch (known.role) {
    case Role::kTensor: return tensor(items);
    case Role::kDict: return dict_of_pairs(items);
    case Role::kOpaque: return PickleValue{Kind::kOpaque};
    case Role::kParameter:
      if (first == Kind::kTensor) return items[0];
      break;
    case Role::kSize:
      if (first == Kind::kSequence) return items[0];
      break;
    case Role::kStorage: break;
  }
  return bad("the pickle calls ", known.module, ".", known.name, " with other arguments than expected");
}

Result<PickleValue> PickleBuilder::object_of(const PickleClass& known) {
  if (known.role == Role::kDict) return dict({});
  if (known.role == Role::kOpaque) return PickleValue{Kind::kOpaque};
  return bad("the pickle makes an object of ", known.module, ".", known.name);
}

Result<PickleValue> PickleBuilder::tensor(const Values& arguments) {
  constexpr Kind kExpected[] = {Kind::kStorage, Kind::kInteger, Kind::kSequence, Kind::kSequence};
  bool fits = arguments.size() >= std::size(kExpected);
  for (size_t i = 0; fits && i < std::size(kExpected); ++i) fits = arguments[i].kind == kExpected[i];
  if (!fits) return bad("the pickle describes a tensor with other arguments than expected");
  pickle_.tensors.push_back({pickle_.storages[arguments[0].index()], arguments[1].number, arguments[2], arguments[3]});
  return last_of(Kind::kTensor, pickle_.tensors);
}

Result<PickleValue> PickleBuilder::dict_of_pairs(const Values& arguments) {
  Values items;
  if (arguments.empty()) return dict(std::move(items));
  const Error no_pairs = bad("the pickle makes a dictionary of what is no list of pairs");
  if (arguments[0].kind != Kind::kSequence) return no_pairs;
  const Values& pairs = pickle_.sequences[arguments[0].index()];
  VENEER_TRY_STATUS(charge(pairs.size()));
  for (const PickleValue& pair : pairs) {
    if (pair.kind != Kind::kSequence || pickle_.sequences[pair.index()].size() != 2) return no_pairs;
    const Values& key_and_value = pickle_.sequences[pair.index()];
    items.insert(items.end(), key_and_value.begin(), key_and_value.end());
  }
  return dict(std::move(items));
}

// A dictionary's own attributes are of no interest ("_metadata" of a state dict), except that a ParameterDict keeps its
// items there.
Status PickleBuilder::set_state(const PickleValue& object, const PickleValue& state) {
  if (object.kind == Kind::kOpaque) return {};
  if (object.kind != Kind::kDict) return bad("the pickle gives attributes to what has none");
  if (state.kind == Kind::kDict) VENEER_TRY_STATUS(charge(pickle_.dicts[state.index()].size()));
  const PickleValue* parameters = pickle_.find(state, "_parameters");
  if (!parameters || parameters->kind != Kind::kDict) return {};
  return add_items(object, Values(pickle_.dicts[parameters->index()]));  // a copy: it may be this very dictionary
}

Result<PickleValue> PickleBuilder::storage(const PickleValue& id) {
  const Values& items = pickle_.sequences[id.index()];
  const bool fits = (items.size() == 5 || items.size() == 6) && items[0].text == "storage" &&
                    items[1].kind == Kind::kClass && items[1].known->role == Role::kStorage &&
                    items[2].kind == Kind::kText && items[4].kind == Kind::kInteger;
  if (!fits) return bad("the pickle describes a storage in another way than expected");
  if (items.size() == 6 && items[5].kind != Kind::kNone)
    return unsupported("the storage ", printable(items[2].text),
                       " is a part of another one, which is not supported; save the file again with a newer PyTorch");
  pickle_.storages.push_back({items[1].known, items[2].text, items[4].number});
  return last_of(Kind::kStorage, pickle_.storages);
}

Pickle PickleBuilder::take(const PickleValue& result, size_t bytes) {
  pickle_.result = result;
  pickle_.bytes = bytes;
  return std::move(pickle_);
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != Kind::kDict) return nullptr;
  const std::vector<PickleValue>& items = dicts[dict.index()];
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::kText && items[i].text == key) return &items[i + 1];
  return nullptr;
}

}  // namespace veneer::io
