// First fit over a sorted list of free ranges, neighbours joined on release: small, deterministic, no heap traffic in
// between.
#include "device/arena.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace veneer::device {
namespace {
constexpr size_t kAlignment = 64;
// Measured tensors are never read or written, but they need addresses that are not null.
constexpr uintptr_t kUnbacked = kAlignment;
}  // namespace

struct Arena::State {
  struct Range {
    size_t begin, end;
  };
  std::byte* base = nullptr;
  size_t capacity = 0;
  size_t peak = 0;
  std::vector<Range> free_ranges;  // sorted, never touching

  ~State() { std::free(base); }
  size_t take(size_t bytes);
  void give_back(size_t begin, size_t bytes);
};

size_t Arena::State::take(size_t bytes) {
  const auto fits = [bytes](const Range& range) { return range.end - range.begin >= bytes; };
  const auto found = std::find_if(free_ranges.begin(), free_ranges.end(), fits);
  if (found == free_ranges.end()) throw std::bad_alloc();
  const size_t begin = found->begin;
  found->begin += bytes;
  if (found->begin == found->end) free_ranges.erase(found);
  peak = std::max(peak, begin + bytes);
  return begin;
}

void Arena::State::give_back(size_t begin, size_t bytes) {
  auto next =
      std::find_if(free_ranges.begin(), free_ranges.end(), [begin](const Range& range) { return range.begin > begin; });
  next = free_ranges.insert(next, {begin, begin + bytes});
  if (const auto after = next + 1; after != free_ranges.end() && after->begin == next->end) {
    next->end = after->end;
    free_ranges.erase(after);
  }
  if (next != free_ranges.begin() && (next - 1)->end == next->begin) {
    (next - 1)->end = next->end;
    free_ranges.erase(next);
  }
}

Arena::Arena(std::shared_ptr<State> state) : state_(std::move(state)) {}
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;
Arena::~Arena() = default;

Arena Arena::measuring() {
  auto state = std::make_shared<State>();
  state->free_ranges.push_back({0, std::numeric_limits<size_t>::max() / 2});
  return Arena(std::move(state));
}

Arena::Arena(size_t bytes) : state_(std::make_shared<State>()) {
  state_->capacity = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  state_->base = static_cast<std::byte*>(std::aligned_alloc(kAlignment, state_->capacity));
  if (!state_->base) throw std::bad_alloc();
  state_->free_ranges.push_back({0, state_->capacity});
}

Tensor Arena::allocate(const Shape& shape) {
  const size_t wanted = static_cast<size_t>(std::max<int64_t>(shape.elements(), 1)) * sizeof(float);
  const size_t bytes = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  const size_t begin = state_->take(bytes);
  std::byte* data = state_->base ? state_->base + begin : reinterpret_cast<std::byte*>(kUnbacked + begin);
  // The tensor keeps the bookkeeping alive, so a late release is harmless.
  std::shared_ptr<void> owner(data, [state = state_, begin, bytes](void*) { state->give_back(begin, bytes); });
  return {shape, DType::kF32, data, std::move(owner)};
}

size_t Arena::peak() const { return state_->peak; }
size_t Arena::capacity() const { return state_->capacity; }
bool Arena::is_measuring() const { return state_->base == nullptr; }

}  // namespace veneer::device
