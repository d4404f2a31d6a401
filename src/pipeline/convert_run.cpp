// Encoding in slices, on several threads, within a budget of memory.
#include "pipeline/convert_run.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "codec/encode.h"
#include "codec/side_factors.h"
#include "pipeline/workers.h"

namespace veneer::pipeline {
namespace {

constexpr int64_t kSliceValues = int64_t{4} << 20;    // of a plain form, decoded at a time
constexpr size_t kCopyBytes = size_t{16} << 20;       // copied at a time
constexpr uint64_t kBudgetBytes = uint64_t{1} << 30;  // in work on all threads together

// Memory shared out among the threads. A weight that takes more than there is waits until it is alone.
class MemoryBudget {
 public:
  void take(uint64_t bytes) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return used_ == 0 || used_ + bytes <= kBudgetBytes; });
    used_ += bytes;
  }
  void give_back(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    freed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  uint64_t used_ = 0;
};

class BudgetShare {
 public:
  BudgetShare(MemoryBudget& budget, uint64_t bytes) : budget_(budget), bytes_(bytes) { budget_.take(bytes_); }
  ~BudgetShare() { budget_.give_back(bytes_); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

 private:
  MemoryBudget& budget_;
  uint64_t bytes_;
};

struct JobResult {
  EncodedCount count;
  int64_t non_finite = 0;
};

class Conversion {
 public:
  Conversion(const ConvertFile& file, io::TensorFileWriter& writer, ConvertWork& work, ConvertCounts& counts)
      : file_(file), writer_(writer), work_(work), counts_(counts), results_(file.jobs.size()) {}

  Status run();

 private:
  Status carry_out(size_t index);
  Status copy(const ConvertJob& job);
  Status encode_slices(const ConvertJob& job, const codec::Codec& codec, JobResult& result);
  Status encode_whole(const ConvertJob& job, JobResult& result);
  Status advance(uint64_t bytes);
  void add_up();

  const ConvertFile& file_;
  io::TensorFileWriter& writer_;
  ConvertWork& work_;
  ConvertCounts& counts_;
  MemoryBudget budget_;
  std::vector<JobResult> results_;  // each written by the thread that has the job
  std::mutex mutex_;                // of work_.done and the progress
};

Status Conversion::advance(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (work_.cancel.get() != CancelMode::kNone) return Error{ErrorCode::kCancelled, "cancelled", {}};
  work_.done += bytes;
  if (work_.progress) work_.progress(work_.done, work_.total);
  return {};
}

Status Conversion::copy(const ConvertJob& job) {
  const auto bytes = job.entry->weight.bytes;
  for (size_t at = 0; at < bytes.size(); at += kCopyBytes) {
    const auto part = bytes.subspan(at, std::min(kCopyBytes, bytes.size() - at));
    VENEER_TRY_STATUS(writer_.write(job.first, at, part));
    VENEER_TRY_STATUS(advance(part.size()));
  }
  return {};
}

// What was really stored against what should be.
void measure(std::span<const float> values, const codec::Weight& encoded, EncodedCount& count) {
  const std::vector<float> stored = encoded.decode_all();
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], error = static_cast<double>(stored[i]) - value;
    if (!std::isfinite(value) || !std::isfinite(error)) continue;
    count.value_squares += value * value;
    count.error_squares += error * error;
  }
}

// New values where the job has such, else the weight's own.
void read_rows(const ConvertJob& job, int64_t first, int64_t count, float* out) {
  if (job.change)
    job.change->rows(first, count, out);
  else
    job.entry->weight.decode_rows(first, count, out);
}

// Replaces the low-rank factors among the tensors of an encoded SDNQ weight, which are the last ones, or adds them.
void join_factors(const codec::Weight& encoded, const LowRankChange& change,
                  std::vector<std::vector<std::byte>>& tensors) {
  const auto joined = codec::with_side_factors(encoded, change.up, change.down, change.rank);
  VENEER_CHECK(joined.has_value());
  if (encoded.side->find("svd_up")) tensors.resize(tensors.size() - 2);
  for (const char* part : {"svd_up", "svd_down"}) {
    const auto bytes = joined->side->find(part)->bytes;
    tensors.emplace_back(bytes.begin(), bytes.end());
  }
}

int64_t count_non_finite(std::span<const float> values) {
  return std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
}

// A plain form goes by whole rows, so that memory does not follow the size of a weight.
Status Conversion::encode_slices(const ConvertJob& job, const codec::Codec& codec, JobResult& result) {
  const codec::Weight& weight = job.entry->weight;
  if (weight.elements() == 0) return {};
  const int64_t row_values = weight.row_values();
  const int64_t step = std::clamp<int64_t>(kSliceValues / row_values, 1, weight.rows());
  const BudgetShare share(budget_, static_cast<uint64_t>(step * row_values) * 3 * sizeof(float));
  std::vector<float> values(static_cast<size_t>(step * row_values));
  uint64_t read = 0;
  for (int64_t first = 0; first < weight.rows(); first += step) {
    const int64_t rows = std::min(step, weight.rows() - first);
    const std::span<float> slice(values.data(), static_cast<size_t>(rows * row_values));
    read_rows(job, first, rows, slice.data());
    result.non_finite += count_non_finite(slice);
    std::vector<std::byte> bytes(static_cast<size_t>(codec::encoded_bytes(codec, rows * row_values)));
    VENEER_TRY_STATUS(codec::encode_values(codec, slice, weight.name, bytes));
    measure(slice, {weight.name, &codec, {rows, row_values}, bytes, nullptr, nullptr}, result.count);
    VENEER_TRY_STATUS(writer_.write(job.first, result.count.bytes_after, bytes));
    result.count.bytes_after += bytes.size();
    const uint64_t read_now =
        weight.stored_bytes() * static_cast<uint64_t>(first + rows) / static_cast<uint64_t>(weight.rows());
    VENEER_TRY_STATUS(advance(read_now - read));
    read = read_now;
  }
  return {};
}

Status Conversion::encode_whole(const ConvertJob& job, JobResult& result) {
  const codec::Weight& weight = job.entry->weight;
  const BudgetShare share(budget_, static_cast<uint64_t>(weight.elements()) * 4 * sizeof(float));
  const bool joins = job.change && job.change->low_rank && job.type->is_sdnq();
  std::vector<float> values(static_cast<size_t>(weight.elements()));
  if (joins)
    weight.decode_rows(0, weight.rows(), values.data());
  else
    read_rows(job, 0, weight.rows(), values.data());
  VENEER_TRY(encoded, codec::encode(job.type->form, values, weight.shape, weight.name));
  const codec::Weight stored = codec::decodable(job.type->form, encoded, weight.shape, weight.name);
  measure(values, stored, result.count);
  if (joins) join_factors(stored, *job.change->low_rank, encoded);
  for (size_t i = 0; i < encoded.size(); ++i) {
    VENEER_TRY_STATUS(writer_.write(job.first + i, 0, encoded[i]));
    result.count.bytes_after += encoded[i].size();
  }
  return advance(weight.stored_bytes());
}

Status Conversion::carry_out(size_t index) {
  const ConvertJob& job = file_.jobs[index];
  if (!job.type) return copy(job);
  JobResult& result = results_[index];
  result.count.tensors = 1;
  result.count.bytes_before = job.entry->weight.stored_bytes();
  const auto* plain = std::get_if<codec::PlainForm>(&job.type->form);
  return plain ? encode_slices(job, *plain->codec, result) : encode_whole(job, result);
}

// In the order of the jobs, whichever thread had them.
void Conversion::add_up() {
  for (size_t i = 0; i < results_.size(); ++i) {
    const ConvertJob& job = file_.jobs[i];
    if (!job.type) {
      CopiedCount& copied = counts_.copied[job.entry->type_name];
      ++copied.tensors;
      copied.bytes += job.entry->weight.bytes.size();
      continue;
    }
    counts_.encoded[job.type->name].add(results_[i].count);
    if (results_[i].non_finite > 0) counts_.non_finite.push_back({job.entry->weight.name, results_[i].non_finite});
  }
}

Status Conversion::run() {
  VENEER_TRY_STATUS(on_threads(work_.threads, results_.size(), [this](size_t index) { return carry_out(index); }));
  add_up();
  return {};
}

}  // namespace

void EncodedCount::add(const EncodedCount& other) {
  tensors += other.tensors;
  bytes_before += other.bytes_before;
  bytes_after += other.bytes_after;
  value_squares += other.value_squares;
  error_squares += other.error_squares;
}

double EncodedCount::relative_error() const {
  return value_squares > 0 ? std::sqrt(error_squares / value_squares) : 0.0;
}

uint64_t source_bytes(const ConvertFile& file) {
  uint64_t total = 0;
  for (const ConvertJob& job : file.jobs)
    total += job.type ? job.entry->weight.stored_bytes() : job.entry->weight.bytes.size();
  return total;
}

Status write_converted(const ConvertFile& file, const std::filesystem::path& path, ConvertWork& work,
                       ConvertCounts& counts) {
  VENEER_TRY(writer, io::TensorFileWriter::create(path, file.layout));
  VENEER_TRY_STATUS(Conversion(file, *writer, work, counts).run());
  return writer->commit();
}

}  // namespace veneer::pipeline
