// The sub-commands of `veneer adapters`, and the options that they share. A new one is a file with its `run` and a row
// in adapters.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "console.h"
#include "model_options.h"
#include "options.h"
#include "pipeline/adapted_model.h"

namespace veneer::cli {

struct AdapterOptions {
  pipeline::AdaptedModel::Options model;
  pipeline::AdapterOrder order;
};

// The files (--adapter, or words of their own), policy, DoRA's convention and the adapter directory.
OptionGroup adapter_files_options(AdapterOptions& options);
// As parse_options; words that are no option and no option's value are files, any number of them in any place.
Result<std::string> parse_adapter_options(const OptionTable& table, std::span<const std::string> args);
// -m and the parts of a model.
OptionGroup adapter_model_options(AdapterOptions& options);

// Opens the model (the one that ships with the program when none is named). Errors: usage when no adapter is named, and
// those of opening.
Result<std::unique_ptr<pipeline::AdaptedModel>> open_adapted(AdapterOptions& options, std::string_view command,
                                                             Console& console);

// "1.000", "0.031", or "-" for null.
std::string figure_text(const Json& figures, const char* name);

Status run_adapters_list(std::span<const std::string> args, Console& console);
Status run_adapters_inspect(std::span<const std::string> args, Console& console);
Status run_adapters_check(std::span<const std::string> args, Console& console);
Status run_adapters_verify(std::span<const std::string> args, Console& console);
Status run_adapters_merge(std::span<const std::string> args, Console& console);
Status run_adapters_convert(std::span<const std::string> args, Console& console);

}  // namespace veneer::cli
