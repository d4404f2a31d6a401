// Memory for the activations of a run. A network allocates tensors here and lets go of them; the arena hands the same
// bytes out again. First a measuring arena (no memory behind it) goes through the network with a dry device, then one
// of exactly that size is made: the sequence of requests is the same, so it fits. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/tensor.h"

namespace veneer::device {

class Arena {
 public:
  static Arena measuring();
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;

  // A float32 tensor with undefined content, aligned to 64 bytes; its bytes return when the last copy is gone, which
  // must be before the arena goes. Throws std::bad_alloc when a request was not in the measured sequence and does not
  // fit.
  Tensor allocate(const Shape& shape);

  size_t peak() const;      // most bytes that were in use at once, alignment and gaps included
  size_t capacity() const;  // 0 for a measuring arena
  bool is_measuring() const;

 private:
  struct State;
  explicit Arena(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace veneer::device
