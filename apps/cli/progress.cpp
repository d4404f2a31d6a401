// Progress as text. Knows neither what a phase does nor how long it will take.
#include "progress.h"

#include <cstdint>
#include <cstdio>

#include "core/format.h"

namespace veneer::cli {
namespace {

constexpr int kBarCells = 40;

std::string count_and_rate(int step, int steps, double seconds) {
  const std::string rate = rate_text(seconds);
  return concat(step, "/", steps, rate.empty() ? "" : " - ", rate);
}

// done / total in parts of `whole`, rounded down.
int share(uint64_t done, uint64_t total, int whole) {
  return static_cast<int>(static_cast<double>(done) * whole / static_cast<double>(total));
}

std::string bar(std::string_view phase, int filled, const std::string& text) {
  std::string cells(static_cast<size_t>(filled), '=');
  if (filled < kBarCells) cells += '>';
  cells.resize(kBarCells, ' ');
  return concat(phase, " |", cells, "| ", text);
}

std::string share_text(uint64_t done, uint64_t total) {
  return concat(share(done, total, 100), "% of ", bytes_text(total));
}

}  // namespace

std::string rate_text(double seconds_per_step) {
  if (!(seconds_per_step > 0.0)) return {};
  char text[48];
  const bool slow = seconds_per_step > 1.0;
  std::snprintf(text, sizeof text, slow ? "%.2f s/it" : "%.2f it/s", slow ? seconds_per_step : 1.0 / seconds_per_step);
  return text;
}

std::string progress_line(std::string_view phase, int step, int steps, double seconds) {
  return concat(phase, " ", count_and_rate(step, steps, seconds));
}

std::string progress_bar(std::string_view phase, int step, int steps, double seconds) {
  return bar(phase, share(step, steps, kBarCells), count_and_rate(step, steps, seconds));
}

std::string bytes_line(std::string_view phase, uint64_t done, uint64_t total) {
  return concat(phase, " ", share_text(done, total));
}

std::string bytes_bar(std::string_view phase, uint64_t done, uint64_t total) {
  return bar(phase, share(done, total, kBarCells), share_text(done, total));
}

void Progress::enter(std::string_view phase) {
  if (phase == phase_) return;
  console_.end_status();
  phase_ = phase;
  printed_tenths_ = 0;
}

void Progress::update_bytes(std::string_view phase, uint64_t done, uint64_t total) {
  if (console_.options().quiet || total == 0) return;
  enter(phase);
  if (console_.terminal()) {
    console_.show_status(bytes_bar(phase, done, total));
    if (done == total) console_.end_status();
    return;
  }
  const int tenths = share(done, total, 10);
  if (tenths == printed_tenths_) return;
  printed_tenths_ = tenths;
  console_.write_plain(bytes_line(phase, done, total));
}

void Progress::update(std::string_view phase, int step, int steps, double seconds, bool every_step) {
  if (console_.options().quiet || steps <= 0) return;
  enter(phase);
  if (console_.terminal()) {
    console_.show_status(progress_bar(phase, step, steps, seconds));
    if (step == steps) console_.end_status();
    return;
  }
  const int tenths = share(step, steps, 10);
  if (step == 0 || (!every_step && tenths == printed_tenths_)) return;
  printed_tenths_ = tenths;
  console_.write_plain(progress_line(phase, step, steps, seconds));
}

}  // namespace veneer::cli
