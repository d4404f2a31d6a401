// Where log lines go. The library never prints: whoever creates a runtime gives it a sink. Safe to call from any thread
// if the sink is.
#pragma once

#include <functional>
#include <string>

namespace veneer {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

class Log {
 public:
  using Sink = std::function<void(LogLevel, const std::string& line)>;  // `line` has no newline
  Log() = default;
  explicit Log(Sink sink) : sink_(std::move(sink)) {}

  void debug(const std::string& line) const { write(LogLevel::kDebug, line); }
  void info(const std::string& line) const { write(LogLevel::kInfo, line); }
  void warn(const std::string& line) const { write(LogLevel::kWarn, line); }
  void error(const std::string& line) const { write(LogLevel::kError, line); }

 private:
  void write(LogLevel level, const std::string& line) const {
    if (sink_) sink_(level, line);
  }
  Sink sink_;
};

}  // namespace veneer
