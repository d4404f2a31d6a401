// How far a run is, on stderr: a bar on a terminal, else plain lines that a script can read.
#pragma once

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

// One run's progress. Its calls come from one thread.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}
  ~Progress() { console_.end_status(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `every_step`: each step deserves a plain line; otherwise each tenth of the phase does.
  void update(std::string_view phase, int step, int steps, double seconds, bool every_step);

 private:
  Console& console_;
  std::string phase_;
  int printed_tenths_ = 0;
};

}  // namespace veneer::cli
