// Option tables handed to CLI11, and its complaints turned into ours.
#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "core/format.h"

namespace veneer::cli {
namespace {

Error usage(std::string message, std::string where) {
  return {ErrorCode::kUsage, std::move(message), std::move(where)};
}

Error expected(std::string_view what, std::string_view found) {
  return usage(concat("expected ", what, ", found \"", found, "\""), {});
}

Result<int> parse_int(std::string_view value) {
  int64_t wide = 0;
  if (!parse_number(value, wide)) return expected("a whole number", value);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    return expected("a whole number of at most 31 bits", value);
  return static_cast<int>(wide);
}

Error named_error(const std::string& option, Error error) {
  return {error.code, concat(option, ": ", error.message), option};
}

CLI::Option* add(CLI::App& app, const OptionGroup& group, const Option& row) {
  CLI::Option* added = row.argument.empty() ? app.add_flag(row.names) : app.add_option(row.names, CLI::callback_t());
  if (!row.argument.empty()) added->type_name(row.argument);
  return added->description(row.help)
      ->group(row.help.empty() ? "" : group.title)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// The first long name, or what there is.
std::string shown_name(const Option& row) {
  const std::vector<std::string> names = split(row.names, ',');
  const auto found = std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("--"); });
  return found == names.end() ? names.front() : *found;
}

// The long names of the listed options, with their dashes.
std::vector<std::string> long_names(const OptionTable& table) {
  std::vector<std::string> names;
  for (const OptionGroup& group : table.groups)
    for (const Option& row : group.options)
      for (std::string& name : split(row.names, ','))
        if (name.starts_with("--")) names.push_back(std::move(name));
  return names;
}

Error unknown_argument(const OptionTable& table, const std::string& argument) {
  if (!argument.starts_with("-"))
    return usage(
        concat("argument \"", argument, "\": is not expected here; texts and files follow the option they belong to"),
        argument);
  const std::vector<std::string> nearest = nearest_names(argument, long_names(table), 1);
  return usage(concat(argument, ": is not known; did you mean ", join(nearest, ""), "?"), argument);
}

}  // namespace

Result<std::string> parse_options(const OptionTable& table, std::span<const std::string> args) {
  CLI::App app(table.about, table.usage);
  app.set_help_flag("-h,--help", "Show this page")->group("General");
  app.allow_extras();
  app.get_formatter()->column_width(40);
  std::vector<std::pair<const Option*, const CLI::Option*>> rows;
  for (const OptionGroup& group : table.groups)
    for (const Option& row : group.options) rows.emplace_back(&row, add(app, group, row));
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ArgumentMismatch&) {  // only the last argument can lack the one that follows it
    return usage(concat(args.back(), ": expected a value after it, found none"), args.back());
  } catch (const CLI::ParseError& error) {
    return usage(concat("command line: ", error.what()), {});
  }
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty())
    return unknown_argument(table, unknown.front());
  for (const auto& [row, given] : rows)
    for (const std::string& value : given->results())
      if (Status status = row->set(value); !status) return named_error(shown_name(*row), std::move(status).error());
  return std::string();
}

OptionGroup general_options(ConsoleOptions& options) {
  return {"General",
          {{"--json", "", "Print one JSON object on stdout, success or failure", flag(options.json)},
           {"-v,--verbose", "", "Log debug lines too", flag(options.verbose)},
           {"-q,--quiet", "", "Log warnings and errors only", flag(options.quiet)},
           {"--color", "", "Colour the tags of log lines (not when NO_COLOR is set)", flag(options.color)}}};
}

Setter flag(bool& target, bool value) {
  return [&target, value](const std::string& given) -> Status {
    if (given != "true") return usage("takes no value", {});
    target = value;
    return {};
  };
}

Setter text(std::string& target) {
  return [&target](const std::string& value) -> Status {
    target = value;
    return {};
  };
}

Setter path(std::filesystem::path& target) {
  return [&target](const std::string& value) -> Status {
    if (value.empty()) return expected("a file or folder", value);
    target = value;
    return {};
  };
}

Setter whole(int64_t& target) {
  return [&target](const std::string& value) -> Status {
    return parse_number(value, target) ? Status() : expected("a whole number", value);
  };
}

Setter whole(int& target) {
  return [&target](const std::string& value) -> Status {
    VENEER_TRY(parsed, parse_int(value));
    target = parsed;
    return {};
  };
}

Setter whole(std::optional<int>& target) {
  return [&target](const std::string& value) -> Status {
    VENEER_TRY(parsed, parse_int(value));
    target = parsed;
    return {};
  };
}

Setter number(double& target) {
  return [&target](const std::string& value) -> Status {
    return parse_number(value, target) ? Status() : expected("a number", value);
  };
}

Setter number(std::optional<double>& target) {
  return [&target](const std::string& value) -> Status {
    double parsed = 0;
    VENEER_TRY_STATUS(number(parsed)(value));
    target = parsed;
    return {};
  };
}

Error not_one_of(std::string_view value, std::span<const std::string> words) {
  return expected(concat("one of ", join(words, ", ")), value);
}

}  // namespace veneer::cli
