// The opcodes, one member function each (some for several widths), in a table by their byte.
#include "io/pickle_machine.h"

#include <array>
#include <iomanip>
#include <unordered_map>

#include "io/byte_reader.h"
#include "io/pickle_builder.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

using Kind = PickleValue::Kind;
using Values = PickleBuilder::Values;

constexpr size_t kMaxOpcodes = size_t{1} << 21;  // a model of 10,000 tensors takes about 500,000
constexpr uint8_t kStop = '.';

class Machine {
 public:
  using Operation = Status (Machine::*)();

  explicit Machine(std::span<const std::byte> bytes) : in_(bytes, "the pickle") {}
  Result<Pickle> run(std::string_view place);

  Status stop();
  Status protocol();
  Status frame() { return skip<8>(); }
  Status mark();
  Status none() { return push(PickleValue{}); }
  template <bool value>
  Status boolean() {
    return push(PickleValue{Kind::kBool, value});
  }
  template <typename T>
  Status integer();
  Status long_integer();
  Status fraction();
  template <typename Length>
  Status text();
  template <typename Length>
  Status opaque_bytes();
  Status empty_sequence() { return push(builder_.sequence({})); }
  Status tuple();
  template <size_t count>
  Status tuple_of();
  Status append();
  Status appends();
  Status empty_dict() { return push(builder_.dict({})); }
  Status set_item();
  Status set_items();
  Status global();
  Status stack_global();
  Status reduce();
  Status new_object();
  Status build();
  Status persistent_id();
  template <typename Index>
  Status put();
  Status memoize() { return remember(static_cast<uint32_t>(memo_.size())); }
  template <typename Index>
  Status get();

 private:
  template <typename... Parts>
  Error bad(const Parts&... what) const {
    return {ErrorCode::kBadFile, concat(what..., "; the file is damaged"), {}};
  }
  template <typename... Parts>
  Error unsupported(const Parts&... what) const {
    return {ErrorCode::kUnsupported, concat(what...), {}};
  }

  template <uint64_t count>
  Status skip() {
    VENEER_TRY_STATUS(in_.run(count));
    return {};
  }
  Status push(Result<PickleValue> value);
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Result<PickleValue> pop();
  Result<PickleValue> pop(Kind kind, std::string_view what);
  Result<PickleValue> top();
  Result<Values> pop_to_mark();
  Status add_to_top(const Values& items);
  Status find_class(std::string_view module, std::string_view name);
  Status remember(uint32_t index);
  Status step(uint8_t opcode);

  ByteReader in_;
  PickleBuilder builder_;
  Values stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint32_t, PickleValue> memo_;
};

constexpr std::array<Machine::Operation, 256> make_operations() {
  std::array<Machine::Operation, 256> table{};
  table[kStop] = &Machine::stop;
  table[0x80] = &Machine::protocol;
  table[0x95] = &Machine::frame;
  table['('] = &Machine::mark;
  table['N'] = &Machine::none;
  table[0x88] = &Machine::boolean<true>;
  table[0x89] = &Machine::boolean<false>;
  table['J'] = &Machine::integer<int32_t>;
  table['K'] = &Machine::integer<uint8_t>;
  table['M'] = &Machine::integer<uint16_t>;
  table[0x8A] = &Machine::long_integer;
  table['G'] = &Machine::fraction;
  table['X'] = table['T'] = &Machine::text<uint32_t>;  // T and U: the texts of Python 2
  table['U'] = table[0x8C] = &Machine::text<uint8_t>;
  table[0x8D] = &Machine::text<uint64_t>;
  table['B'] = &Machine::opaque_bytes<uint32_t>;
  table['C'] = &Machine::opaque_bytes<uint8_t>;
  table[0x8E] = &Machine::opaque_bytes<uint64_t>;
  table[')'] = table[']'] = &Machine::empty_sequence;
  table['t'] = &Machine::tuple;
  table[0x85] = &Machine::tuple_of<1>;
  table[0x86] = &Machine::tuple_of<2>;
  table[0x87] = &Machine::tuple_of<3>;
  table['a'] = &Machine::append;
  table['e'] = &Machine::appends;
  table['}'] = &Machine::empty_dict;
  table['s'] = &Machine::set_item;
  table['u'] = &Machine::set_items;
  table['c'] = &Machine::global;
  table[0x93] = &Machine::stack_global;
  table['R'] = &Machine::reduce;
  table[0x81] = &Machine::new_object;
  table['b'] = &Machine::build;
  table['Q'] = &Machine::persistent_id;
  table['q'] = &Machine::put<uint8_t>;
  table['r'] = &Machine::put<uint32_t>;
  table[0x94] = &Machine::memoize;
  table['h'] = &Machine::get<uint8_t>;
  table['j'] = &Machine::get<uint32_t>;
  return table;
}

constexpr std::array<Machine::Operation, 256> kOperations = make_operations();

Result<Pickle> Machine::run(std::string_view place) {
  for (size_t count = 0; count < kMaxOpcodes; ++count) {
    const size_t at = in_.position();
    const auto placed = [&](const Error& error) {
      return Error{error.code, concat(place, ": at byte ", at, ": ", error.message), std::string(place)};
    };
    const auto opcode = in_.number<uint8_t>();
    if (!opcode) return placed(opcode.error());
    const Status done = step(*opcode);
    if (!done) return placed(done.error());
    if (*opcode == kStop) return builder_.take(stack_.back(), in_.position());
  }
  return Error{ErrorCode::kUnsupported,
               concat(place, ": the pickle goes on after ", kMaxOpcodes, " opcodes, which is the limit"),
               std::string(place)};
}

Status Machine::step(uint8_t opcode) {
  if (const Operation operation = kOperations[opcode]) return (this->*operation)();
  return unsupported("the pickle opcode 0x", std::hex, std::setw(2), std::setfill('0'), int{opcode},
                     " is not allowed: only what builds tensors is; convert the file to safetensors");
}

Status Machine::stop() {
  VENEER_TRY_STATUS(top());
  return {};
}

Status Machine::protocol() {
  VENEER_TRY(version, in_.number<uint8_t>());
  if (version >= 2 && version <= 5) return {};
  return unsupported("the pickle protocol is ", int{version}, ", expected 2 to 5");
}

// Values and the stack.

Status Machine::push(Result<PickleValue> value) {
  if (!value) return std::move(value).error();
  stack_.push_back(*value);
  return {};
}

Result<PickleValue> Machine::top() {
  if (stack_.size() <= floor()) return bad("the pickle takes a value from an empty stack");
  return stack_.back();
}

Result<PickleValue> Machine::pop() {
  VENEER_TRY(value, top());
  stack_.pop_back();
  return value;
}

Result<PickleValue> Machine::pop(Kind kind, std::string_view what) {
  VENEER_TRY(value, pop());
  if (value.kind != kind) return bad("the pickle needs ", what, " here, found another value");
  return value;
}

Status Machine::mark() {
  marks_.push_back(stack_.size());
  return {};
}

Result<Values> Machine::pop_to_mark() {
  if (marks_.empty()) return bad("the pickle goes back to a mark that it never made");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Values items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

template <typename T>
Status Machine::integer() {
  VENEER_TRY(value, in_.number<T>());
  return push(PickleValue{Kind::kInteger, value});
}

Status Machine::long_integer() {
  VENEER_TRY(length, in_.number<uint8_t>());
  VENEER_TRY(bytes, in_.text(length));
  if (bytes.size() > sizeof(uint64_t)) return push(PickleValue{Kind::kBigInteger, 0, bytes});
  const bool negative = !bytes.empty() && static_cast<uint8_t>(bytes.back()) >= 0x80;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return push(PickleValue{Kind::kInteger, static_cast<int64_t>(value)});
}

Status Machine::fraction() {
  VENEER_TRY_STATUS(skip<8>());
  return push(PickleValue{Kind::kOpaque});
}

template <typename Length>
Status Machine::text() {
  VENEER_TRY(length, in_.number<Length>());
  VENEER_TRY(content, in_.text(length));
  return push(PickleValue{Kind::kText, 0, content});
}

template <typename Length>
Status Machine::opaque_bytes() {
  VENEER_TRY(length, in_.number<Length>());
  VENEER_TRY_STATUS(in_.run(length));
  return push(PickleValue{Kind::kOpaque});
}

// Containers.

Status Machine::tuple() {
  VENEER_TRY(items, pop_to_mark());
  return push(builder_.sequence(std::move(items)));
}

template <size_t count>
Status Machine::tuple_of() {
  Values items(count);
  for (size_t i = count; i-- > 0;) {
    VENEER_TRY(item, pop());
    items[i] = item;
  }
  return push(builder_.sequence(std::move(items)));
}

Status Machine::add_to_top(const Values& items) {
  VENEER_TRY(target, top());
  return builder_.add_items(target, items);
}

Status Machine::append() {
  VENEER_TRY(item, pop());
  return add_to_top({item});
}

Status Machine::appends() {
  VENEER_TRY(items, pop_to_mark());
  return add_to_top(items);
}

Status Machine::set_item() {
  VENEER_TRY(value, pop());
  VENEER_TRY(key, pop());
  return add_to_top({key, value});
}

Status Machine::set_items() { return appends(); }

// Memo.

Status Machine::remember(uint32_t index) {
  VENEER_TRY(value, top());
  memo_[index] = value;
  return {};
}

template <typename Index>
Status Machine::put() {
  VENEER_TRY(index, in_.number<Index>());
  return remember(index);
}

template <typename Index>
Status Machine::get() {
  VENEER_TRY(index, in_.number<Index>());
  const auto found = memo_.find(index);
  if (found == memo_.end()) return bad("the pickle asks for a value that it never kept (", uint32_t{index}, ")");
  return push(found->second);
}

// Classes and objects.

Status Machine::find_class(std::string_view module, std::string_view name) {
  const PickleClass* known = find_pickle_class(module, name);
  if (!known)
    return unsupported(
        "the class ", printable(module), ".", printable(name),
        " is not allowed: a file of weights has no need of it, and it is not run; get the model as safetensors");
  return push(PickleValue{Kind::kClass, 0, {}, known});
}

Status Machine::global() {
  VENEER_TRY(module, in_.line());
  VENEER_TRY(name, in_.line());
  return find_class(module, name);
}

Status Machine::stack_global() {
  VENEER_TRY(name, pop(Kind::kText, "a name"));
  VENEER_TRY(module, pop(Kind::kText, "a module's name"));
  return find_class(module.text, name.text);
}

Status Machine::reduce() {
  VENEER_TRY(arguments, pop(Kind::kSequence, "arguments"));
  VENEER_TRY(callee, pop(Kind::kClass, "a class"));
  return push(builder_.call(*callee.known, arguments));
}

Status Machine::new_object() {
  VENEER_TRY_STATUS(pop(Kind::kSequence, "arguments"));
  VENEER_TRY(callee, pop(Kind::kClass, "a class"));
  return push(builder_.object_of(*callee.known));
}

Status Machine::build() {
  VENEER_TRY(state, pop());
  VENEER_TRY(object, top());
  return builder_.set_state(object, state);
}

Status Machine::persistent_id() {
  VENEER_TRY(id, pop(Kind::kSequence, "the description of a storage"));
  return push(builder_.storage(id));
}

}  // namespace

Result<Pickle> run_pickle(std::span<const std::byte> bytes, std::string_view place) {
  return Machine(bytes).run(place);
}

}  // namespace veneer::io
