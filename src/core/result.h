// Results and errors: the only way failure travels inside the library. A function that can fail returns Result<T>;
// VENEER_TRY passes an error up. The member names are those of std::expected, so that Result can become an alias of it.
// VENEER_CHECK guards our own invariants and never sees user input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace veneer {

// The kinds of failure (docs/design.md, section 10). The command line exits with 2 for kUsage, 130 for kCancelled, 1
// otherwise.
enum class ErrorCode {
  kUsage,         // a flag, field or value is wrong
  kNotFound,      // a model, adapter or file is missing
  kBadFile,       // a damaged, truncated, hostile or inconsistent file
  kMismatch,      // an adapter or part does not fit this model
  kUnsupported,   // understood, but not available here
  kNoMemory,      // the plan does not fit, or an allocation failed
  kIo,            // reading or writing failed
  kVerifyFailed,  // a check the caller asked for did not hold
  kBusy,          // this context is generating, or the queue is full
  kCancelled,     // the caller stopped it
  kBug,           // an invariant of ours broke
};

// The name that --json and HTTP answers use, for example "bad_file".
std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kBug;
  std::string message;  // one sentence: place first, in lower case, with the numbers; ends with what to do
  std::string where;    // the file, tensor, option or field concerned; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// Stops the process with the place and the condition; used by VENEER_CHECK only.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace veneer

// Evaluates `expression` (a Result<T>); returns its error from the calling function or declares `name` with its value.
#define VENEER_TRY(name, expression)                               \
  auto name##_or_error = (expression);                             \
  if (!name##_or_error) return std::move(name##_or_error).error(); \
  auto name = *std::move(name##_or_error)

// The same for a Status, or for a value that is not needed.
#define VENEER_TRY_STATUS(expression)                                                               \
  do {                                                                                              \
    if (auto veneer_status = (expression); !veneer_status) return std::move(veneer_status).error(); \
  } while (false)

#define VENEER_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::veneer::check_failed(__FILE__, __LINE__, #condition))
