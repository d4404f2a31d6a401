// Options that several commands have: the files of a model, and the number formats that its weights are brought into.
#pragma once

#include <string>

#include "io/model_files.h"
#include "io/type_rules.h"
#include "options.h"

namespace veneer::cli {

// -m and the parts that a model can be put together from.
OptionGroup model_file_options(io::ModelPaths& paths);

// --no-mmap.
Option no_mapping_option(io::ModelPaths& paths);

// What --type and --tensor-type-rules say, before it is judged.
struct TypeOptions {
  std::string type, rules;
  Result<io::TypeRules> parse() const { return io::TypeRules::parse(type, rules); }
};
OptionGroup type_options(TypeOptions& options);

}  // namespace veneer::cli
