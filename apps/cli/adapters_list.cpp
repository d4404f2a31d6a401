// veneer adapters list: the adapter files below a folder. Reads each whole, for its hashes.
#include <algorithm>
#include <array>

#include "adapt/adapter_report.h"
#include "adapt/library.h"
#include "adapters.h"
#include "core/format.h"
#include "io/printable.h"
#include "results.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

using TableRow = std::array<std::string, 7>;

TableRow row_of(const Json& adapter) {
  const auto text = [&](const char* key) { return io::printable(adapter[key].get<std::string>()); };
  return {text("name"),
          text("family"),
          text("rank"),
          std::to_string(adapter["keys"].get<int64_t>()),
          bytes_text(adapter["bytes"].get<uint64_t>()),
          text("base"),
          text("auto_v2")};
}

// Columns as wide as their widest text.
std::string as_table(const Json& adapters) {
  std::vector<TableRow> rows = {{"name", "family", "rank", "keys", "size", "made for", "hash"}};
  for (const Json& adapter : adapters) rows.push_back(row_of(adapter));
  std::array<size_t, std::tuple_size_v<TableRow>> widths{};
  for (const TableRow& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (TableRow& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) row[i].resize(widths[i] + 2, ' ');
    text += concat(join(row, ""), "\n");
  }
  return text;
}

}  // namespace

Status run_adapters_list(std::span<const std::string> args, Console& console) {
  fs::path folder = ".";
  const OptionTable table{
      "veneer adapters list",
      "Shows the adapter files in a folder and below it: family, rank, keys, model, hash.",
      {{"Input", {{"DIR", "DIR", "The folder (.)", path(folder)}}}, general_options(console.options())}};
  VENEER_TRY(help, parse_options(table, args));
  if (!help.empty()) return write_stdout(help);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Error{ErrorCode::kNotFound, concat(folder.string(), ": is no folder"), folder.string()};

  Json adapters = Json::array();
  for (const fs::path& file : adapt::Library(folder, adapt::Library::Reach::kAnywhere).files()) {
    const auto adapter = adapt::open_adapter(file);
    if (adapter) {
      adapters.push_back(adapt::summarize(**adapter));
    } else {  // models lie in such folders too
      const LogLevel level = adapter.error().code == ErrorCode::kMismatch ? LogLevel::kDebug : LogLevel::kWarn;
      console.write(level, adapter.error().message);
    }
  }
  return console.options().json ? write_json({{"adapters", std::move(adapters)}}) : write_stdout(as_table(adapters));
}

}  // namespace veneer::cli
