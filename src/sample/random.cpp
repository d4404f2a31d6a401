// The list of generators.
#include "sample/random.h"

#include "core/format.h"
#include "sample/mt19937.h"
#include "sample/names.h"
#include "sample/philox.h"

namespace veneer::sample {
namespace {

struct Row {
  std::string_view name;
  GeneratorKind kind;
};
constexpr Row kGenerators[] = {{"cuda", GeneratorKind::kCuda}, {"cpu", GeneratorKind::kCpu}};

}  // namespace

std::string_view name_of(GeneratorKind kind) {
  for (const Row& row : kGenerators)
    if (row.kind == kind) return row.name;
  return "?";
}

Result<GeneratorKind> generator_named(std::string_view name) {
  if (name == "std_default")
    return Error{ErrorCode::kUnsupported, "generator \"std_default\": is not available; use cuda or cpu", "generator"};
  VENEER_TRY(row, row_named<Row>(kGenerators, "generator", name));
  return row->kind;
}

std::unique_ptr<Generator> make_generator(GeneratorKind kind, uint64_t seed) {
  if (kind == GeneratorKind::kCpu) return std::make_unique<Mt19937Generator>(seed);
  return std::make_unique<PhiloxGenerator>(seed);
}

}  // namespace veneer::sample
