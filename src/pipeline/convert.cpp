// A conversion from opening to renaming.
#include "pipeline/convert.h"

#include "core/format.h"
#include "pipeline/convert_folder.h"
#include "pipeline/convert_run.h"
#include "pipeline/waiting_output.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);  // by device and inode, links followed
}

// Whether `path`, which need not exist, lies in `folder` or is it.
bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = fs::weakly_canonical(path, ignored); !at.empty(); at = at.parent_path()) {
    if (is_same(at, folder)) return true;
    if (at == at.parent_path()) break;
  }
  return false;
}

Error over_input(const fs::path& output) {
  return {ErrorCode::kUsage,
          concat("--output ", output.string(), ": is what is being read; name another file or folder"), "--output"};
}

Status check_output(const ConvertInput& input, const fs::path& output, ConvertTarget target) {
  for (const auto& file : input.files())
    if (is_same(output, file->path())) return over_input(output);
  if (input.folder.empty() || !lies_in(output, input.folder)) return {};
  std::error_code ignored;
  const bool overwrites = target != ConvertTarget::kFolder && fs::exists(output, ignored);
  return target == ConvertTarget::kFolder || overwrites ? Status(over_input(output)) : Status();
}

Json types_json(const ConvertCounts& counts) {
  Json rows = Json::array();
  for (const auto& [type, count] : counts.encoded)
    rows.push_back({{"type", type},
                    {"tensors", count.tensors},
                    {"bytes_before", count.bytes_before},
                    {"bytes_after", count.bytes_after},
                    {"relative_error", count.relative_error()}});
  return rows;
}

Json copied_json(const ConvertCounts& counts) {
  Json rows = Json::array();
  for (const auto& [type, count] : counts.copied)
    rows.push_back({{"type", type}, {"tensors", count.tensors}, {"bytes", count.bytes}});
  return rows;
}

Json report(const ConvertOptions& options, const ConvertPlan& plan, const ConvertCounts& counts,
            std::vector<std::string> warnings) {
  size_t tensors = 0;
  uint64_t before = 0, after = 0;
  for (const ConvertFile& file : plan.files) {
    tensors += file.tensors.size();
    before += source_bytes(file);
    for (const auto& place : file.layout.places) after += place.bytes;
  }
  Json non_finite = Json::array();
  for (const NonFinite& found : counts.non_finite)
    non_finite.push_back({{"tensor", found.tensor}, {"values", found.values}});
  return {{"output", options.output.string()},
          {"tensors", tensors},
          {"bytes_before", before},
          {"bytes_after", after},
          {"types", types_json(counts)},
          {"copied", copied_json(counts)},
          {"rules", plan.use.to_json()},
          {"non_finite", std::move(non_finite)},
          {"warnings", std::move(warnings)}};
}

std::vector<std::string> warnings_of(const ConvertInput& input, const ConvertPlan& plan, const ConvertCounts& counts) {
  std::vector<std::string> warnings = input.warnings;
  const std::vector<std::string> unused = plan.use.warnings();
  warnings.insert(warnings.end(), unused.begin(), unused.end());
  for (const NonFinite& found : counts.non_finite)
    warnings.push_back(concat("tensor ", found.tensor, ": ", found.values,
                              found.values == 1 ? " value is not finite" : " values are not finite"));
  return warnings;
}

// A folder's files lie in it, a file is the output.
Status write(const ConvertInput& input, const ConvertPlan& plan, const fs::path& output, ConvertWork& work,
             ConvertCounts& counts) {
  return plan.target == ConvertTarget::kFolder ? write_converted_folder(input, plan, output, work, counts)
                                               : write_converted(plan.files.front(), output, work, counts);
}

Status write_approved(const ConvertInput& input, const ConvertPlan& plan, const ConvertOptions& options,
                      ConvertWork& work, ConvertCounts& counts, const ConvertChanges& changes) {
  const WaitingOutput waiting(options.output);
  VENEER_TRY_STATUS(write(input, plan, waiting.path(), work, counts));
  VENEER_TRY_STATUS(changes.approve(waiting.path()));
  return waiting.put_in_place();
}

}  // namespace

Result<Json> convert(const ConvertOptions& options, const Log& log, const ConvertProgress& progress,
                     const CancelFlag& cancel, const ConvertChanges* changes) {
  if (options.output.empty())
    return Error{ErrorCode::kUsage, "convert: expected a name after -o, found none", "--output"};
  VENEER_TRY(target, convert_target(options.output));
  VENEER_TRY_STATUS(check_target_types(options.rules, target));
  VENEER_TRY(input, open_convert_input(options.paths));
  VENEER_TRY_STATUS(check_output(input, options.output, target));
  for (const auto& file : input.files()) VENEER_TRY_STATUS(file->still_whole());
  if (target == ConvertTarget::kFolder) VENEER_TRY_STATUS(check_is_new(options.output));
  VENEER_TRY(plan, plan_conversion(input, options, target, changes));
  ConvertWork work{options.threads, progress, cancel};
  for (const ConvertFile& file : plan.files) work.total += source_bytes(file);
  ConvertCounts counts;
  VENEER_TRY_STATUS(changes ? write_approved(input, plan, options, work, counts, *changes)
                            : write(input, plan, options.output, work, counts));
  const std::vector<std::string> warnings = warnings_of(input, plan, counts);
  for (const std::string& warning : warnings) log.warn(warning);
  return report(options, plan, counts, warnings);
}

}  // namespace veneer::pipeline
