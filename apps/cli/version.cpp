// veneer --version: which program this is, and what it finds in the processor.
#include "pipeline/version.h"
#include "commands.h"
#include "core/format.h"
#include "core/threads.h"
#include "options.h"
#include "results.h"

namespace veneer::cli {
namespace {

// Those of the features that arithmetic here can make use of, by their names in the compiler.
std::vector<std::string> cpu_features() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  const auto add = [&found](const char* name, bool present) {
    if (present) found.emplace_back(name);
  };
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
  add("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  add("avx512bf16", __builtin_cpu_supports("avx512bf16"));
#endif
  return found;
}

}  // namespace

Status run_version(std::span<const std::string> args, Console& console) {
  const OptionTable table{
      "veneer version", "Shows version, commit and what the processor can do.", {general_options(console.options())}};
  VENEER_TRY(help, parse_options(table, args));
  if (!help.empty()) return write_stdout(help);
  const std::vector<std::string> features = cpu_features();
  const std::string_view commit = pipeline::commit();
  if (console.options().json)
    return write_json({{"name", "veneer"},
                       {"version", pipeline::version()},
                       {"commit", commit},
                       {"cpu", {{"cores", physical_cores()}, {"features", features}}}});
  return write_stdout(concat("veneer ", pipeline::version(), commit.empty() ? "" : " (commit ", commit,
                             commit.empty() ? "" : ")", "\nprocessor: ", physical_cores(), " cores; ",
                             features.empty() ? "no vector features known to this build" : join(features, " "), "\n"));
}

}  // namespace veneer::cli
