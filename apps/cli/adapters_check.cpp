// veneer adapters check: the receipt of adapters on a model, without drawing.
#include "adapters.h"
#include "core/format.h"
#include "device/devices.h"
#include "io/printable.h"
#include "results.h"

namespace veneer::cli {
namespace {

constexpr size_t kKeysShown = 5;  // of each kind; the JSON has all

void add_keys(std::string& text, const char* title, size_t count, const std::function<std::string(size_t)>& line) {
  for (size_t i = 0; i < std::min(count, kKeysShown); ++i)
    text += concat("  ", title, ": ", io::printable(line(i), 1024), "\n");
  if (count > kKeysShown) text += concat("  ", title, ": ", count - kKeysShown, " more\n");
}

std::string account_text(const adapt::AdapterAccount& account) {
  const adapt::KeyCounts& keys = account.keys;
  std::string text = concat(io::printable(account.name), ": ", keys.total, " keys: ", keys.applied, " applied, ",
                            keys.refused, " refused, ", keys.unmatched, " unmatched, ", keys.ignored, " ignored\n");
  if (!account.family.empty()) text += concat("  family: ", account.family, "\n");
  for (const auto& [part, counts] : account.components)
    text += concat("  ", io::name_of(part), ": ", counts.applied, " of ", counts.sites, " layers\n");
  add_keys(text, "refused", account.refused.size(),
           [&](size_t i) { return concat(account.refused[i].key, ": ", account.refused[i].reason); });
  add_keys(text, "unmatched", account.unmatched.size(), [&](size_t i) {
    const adapt::UnmatchedKey& key = account.unmatched[i];
    return key.nearest.empty() ? key.key : concat(key.key, " (nearest known: ", key.nearest, ")");
  });
  add_keys(text, "ignored", account.ignored.size(),
           [&](size_t i) { return concat(account.ignored[i].key, ": ", account.ignored[i].rule); });
  for (const std::string& notice : account.notices) text += concat("  notice: ", io::printable(notice), "\n");
  if (!account.looks_like.empty()) text += concat("  ", account.looks_like, "\n");
  return text;
}

std::string routes_text(const adapt::Receipt& receipt) {
  const auto routes = receipt.routes();
  return concat("layers: ", routes.at("beside"), " beside, ", routes.at("folded"), " folded; ",
                bytes_text(static_cast<uint64_t>(receipt.held_bytes)), " held\n");
}

Result<std::shared_ptr<const adapt::Stack>> plan(pipeline::AdaptedModel& model,
                                                 std::span<const adapt::StackEntry> entries,
                                                 const pipeline::AdapterOrder& order) {
  VENEER_TRY(device, device::open_device("", model.engine().threads(), false));
  const std::vector<adapt::StackPart> parts = pipeline::stack_parts(model.model(), *device);
  std::optional<Result<std::shared_ptr<const adapt::Stack>>> stack;
  model.engine().run([&] {
    stack = adapt::build_stack(entries, parts, {order.combine, order.mode, order.policy, nn::OverlayOptions()});
  });
  return *std::move(stack);
}

}  // namespace

Status run_adapters_check(std::span<const std::string> args, Console& console) {
  AdapterOptions options;
  const OptionTable table{
      "veneer adapters check FILE...",
      "Shows what becomes of every key of adapters on a model, without drawing.",
      {adapter_files_options(options), adapter_model_options(options), general_options(console.options())}};
  VENEER_TRY(help, parse_adapter_options(table, args));
  if (!help.empty()) return write_stdout(help);
  VENEER_TRY(model, open_adapted(options, "check", console));
  VENEER_TRY(candidates, model->fit(options.order));
  std::string text;
  for (const pipeline::Candidate& candidate : candidates.all) text += account_text(candidate.entry.fitted->account);
  const auto entries = model->accepted(std::move(candidates));
  if (!entries) {
    if (!console.options().json) VENEER_TRY_STATUS(write_stdout(text));
    return entries.error();
  }
  VENEER_TRY(stack, plan(*model, *entries, options.order));
  return console.options().json ? write_json(stack->receipt.to_json(true))
                                : write_stdout(text + routes_text(stack->receipt));
}

}  // namespace veneer::cli
