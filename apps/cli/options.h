// Options as tables: one row per option says its names, its words in --help, and where its value goes. CLI11 does the
// parsing and lays out the help page; it is seen nowhere else.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "console.h"
#include "core/result.h"

namespace veneer::cli {

// Takes one mention of an option; its error says what was expected, the option's name is put in front of it.
using Setter = std::function<Status(const std::string& value)>;

struct Option {
  std::string names;     // "-W,--width"; without dashes: the argument that needs no name
  std::string argument;  // what --help calls the value; empty for a flag, whose setter is given "true"
  std::string help;      // empty: not listed
  Setter set;            // an option given more than once is set more than once, in order
};

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

struct OptionTable {
  std::string usage;  // "veneer inspect"
  std::string about;  // first line of the help page
  std::vector<OptionGroup> groups;
};

// Sets what `args` say. When -h or --help is among them nothing is set and the help page is returned, else an empty
// text. Errors: usage (an unknown option, with the nearest known one; a missing value), and those of the setters.
Result<std::string> parse_options(const OptionTable& table, std::span<const std::string> args);

// --json, -v, -q, --color: part of every command's table.
OptionGroup general_options(ConsoleOptions& options);

// Setters. `target` must outlive the parsing.
Setter flag(bool& target, bool value = true);
Setter text(std::string& target);
Setter path(std::filesystem::path& target);
Setter whole(int& target);
Setter whole(int64_t& target);
Setter whole(std::optional<int>& target);
Setter number(double& target);
Setter number(std::optional<double>& target);

// One of a fixed set of words.
Error not_one_of(std::string_view value, std::span<const std::string> words);

template <typename T>
Setter choice(T& target, std::initializer_list<std::pair<const char*, T>> values) {
  return [&target, rows = std::vector(values)](const std::string& word) -> Status {
    std::vector<std::string> words;
    for (const auto& [name, value] : rows) {
      if (name == word) {
        target = value;
        return {};
      }
      words.emplace_back(name);
    }
    return not_one_of(word, words);
  };
}

// A word that the library's `lookup` knows.
template <typename Target, typename Value>
Setter named(Target& target, Result<Value> (*lookup)(std::string_view)) {
  return [&target, lookup](const std::string& word) -> Status {
    VENEER_TRY(value, lookup(word));
    target = value;
    return {};
  };
}

}  // namespace veneer::cli
