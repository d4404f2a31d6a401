// veneer adapters verify: the erasure report.
#include <cstdio>

#include "adapters.h"
#include "core/format.h"
#include "io/printable.h"
#include "pipeline/verify_adapters.h"
#include "results.h"

namespace veneer::cli {
namespace {

std::string pair_text(const Json& figures) {
  return figures.is_null() ? std::string("-")
                           : concat(figure_text(figures, "survival"), " / ", figure_text(figures, "error"));
}

std::string row_text(const std::string& name, const std::string& type, const Json& row) {
  char rho[32] = "-", text[512];
  if (!row["rho"].is_null()) std::snprintf(rho, sizeof rho, "%.3g%%", 100 * row["rho"].get<double>());
  std::snprintf(text, sizeof text, "%-72s %-20s %7s  %-17s %-17s %s\n", name.c_str(), type.c_str(), rho,
                pair_text(row["merged"]).c_str(), pair_text(row["predicted"]).c_str(),
                pair_text(row["overlay"]).c_str());
  return text;
}

std::string as_table(const Json& report) {
  char head[512];
  std::snprintf(head, sizeof head, "%-72s %-20s %7s  %-17s %-17s %s\n", "survival / error", "type", "change", "merged",
                "predicted", "overlay");
  std::string text = head;
  for (const Json& row : report["layers"])
    text += row_text(
        io::printable(row["layer"].get<std::string>()),
        row["type"].is_null() ? concat(row["held"].get<std::string>(), " (read only)") : row["type"].get<std::string>(),
        row);
  const Json& total = report["total"];
  return text + row_text(concat("all ", total["layers"].get<size_t>(), " layers"), "", total);
}

}  // namespace

Status run_adapters_verify(std::span<const std::string> args, Console& console) {
  AdapterOptions options;
  std::string type_name;
  const OptionTable table{
      "veneer adapters verify FILE...",
      "Measures what merging adapters into a number format would keep, and what they deliver as overlays.",
      {adapter_files_options(options),
       {"Number format", {{"--type", "TYPE", "Merge into this format (that of each layer)", text(type_name)}}},
       adapter_model_options(options),
       general_options(console.options())}};
  VENEER_TRY(help, parse_adapter_options(table, args));
  if (!help.empty()) return write_stdout(help);
  std::optional<io::TargetType> type;
  if (!type_name.empty()) {
    VENEER_TRY(named, io::target_named(type_name));
    type = std::move(named);
  }
  VENEER_TRY(model, open_adapted(options, "verify", console));
  VENEER_TRY(candidates, model->fit(options.order));
  VENEER_TRY(entries, model->accepted(std::move(candidates)));
  VENEER_TRY(report, pipeline::verify_adapters(*model, entries, type, options.model.threads));
  return console.options().json ? write_json(report) : write_stdout(as_table(report));
}

}  // namespace veneer::cli
