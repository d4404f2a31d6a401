// Sizes and names of terms.
#include "nn/terms.h"

#include "core/format.h"

namespace veneer::nn {
namespace {

int64_t bytes_of(const Tensor& tensor) { return tensor.empty() ? 0 : static_cast<int64_t>(tensor.bytes()); }
const char* suffix(Side side) { return side == Side::kInput ? " on the input" : ""; }

struct HeldBytes {
  int64_t operator()(const Pair& t) const { return bytes_of(t.down) + bytes_of(t.up); }
  int64_t operator()(const Kron& t) const { return bytes_of(t.left) + bytes_of(t.right_down) + bytes_of(t.right_up); }
  int64_t operator()(const Dense& t) const { return t.held_bytes; }
  int64_t operator()(const Vector& t) const { return bytes_of(t.delta); }
  int64_t operator()(const Gain& t) const { return bytes_of(t.factors); }
  int64_t operator()(const Rotate& t) const {
    return bytes_of(t.blocks) + static_cast<int64_t>(t.order.size() * sizeof(int32_t));
  }
  int64_t operator()(const Replace& t) const { return static_cast<int64_t>(t.weight.stored_bytes()); }
};

struct Describe {
  std::string operator()(const Pair& t) const { return concat("pair r=", t.up.shape[1], suffix(t.side)); }
  std::string operator()(const Kron& t) const { return concat("kron ", t.left.shape[0], "x", t.left.shape[1]); }
  std::string operator()(const Dense& t) const { return concat("dense ", t.what); }
  std::string operator()(const Vector& t) const { return t.of == Vector::Of::kBias ? "bias" : "norm weight"; }
  std::string operator()(const Gain& t) const { return concat("gain", suffix(t.side)); }
  std::string operator()(const Rotate& t) const {
    return concat("rotate ", t.blocks.shape[0], " x ", t.blocks.shape[1], suffix(t.side));
  }
  std::string operator()(const Replace&) const { return "replace"; }
};

}  // namespace

bool acts_on_input(const Term& term) {
  return std::visit(
      [](const auto& t) {
        if constexpr (requires { t.side; }) return t.side == Side::kInput;
        return false;
      },
      term);
}

bool needs_base(const Term& term) {
  const Dense* dense = std::get_if<Dense>(&term);
  return dense && dense->needs_base;
}

int64_t held_bytes(const Term& term) { return std::visit(HeldBytes(), term); }
std::string describe(const Term& term) { return std::visit(Describe(), term); }

}  // namespace veneer::nn
