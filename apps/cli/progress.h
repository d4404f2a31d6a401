// How far a run is, on stderr: a bar on a terminal, else plain lines that a script can read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "console.h"

namespace veneer::cli {

// "1.25 it/s", or "2.40 s/it" where a step takes longer than a second; empty when the time is not known.
std::string rate_text(double seconds_per_step);
// "sampling 3/20 - 1.25 it/s"
std::string progress_line(std::string_view phase, int step, int steps, double seconds);
// "sampling |=====>          | 3/20 - 1.25 it/s"; needs 0 <= step <= steps, steps > 0.
std::string progress_bar(std::string_view phase, int step, int steps, double seconds);

// "convert 42% of 2.1 GB"
std::string bytes_line(std::string_view phase, uint64_t done, uint64_t total);
// "convert |=====>          | 42% of 2.1 GB"; needs done <= total, total > 0.
std::string bytes_bar(std::string_view phase, uint64_t done, uint64_t total);

// One run's progress. One call at a time.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}
  ~Progress() { console_.end_status(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `every_step`: each step deserves a plain line; otherwise each tenth of the phase does.
  void update(std::string_view phase, int step, int steps, double seconds, bool every_step);
  // A phase that is counted in bytes: a line at each tenth of it.
  void update_bytes(std::string_view phase, uint64_t done, uint64_t total);

 private:
  void enter(std::string_view phase);

  Console& console_;
  std::string phase_;
  int printed_tenths_ = 0;
};

}  // namespace veneer::cli
