// Respelling on disk.
#include "pipeline/respell_file.h"

#include "core/format.h"
#include "io/safetensors_header.h"
#include "io/safetensors_write.h"
#include "model/spellings.h"
#include "pipeline/waiting_output.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPeftConfig = "adapter_config.json";

Status check_output(const fs::path& output, const adapt::Fitted& fitted) {
  std::error_code ignored;
  if (lower_ascii(output.extension().string()) != ".safetensors")
    return Error{ErrorCode::kUsage, concat("--output ", output.string(), ": expected a name with .safetensors"),
                 "--output"};
  if (fs::equivalent(output, fitted.adapter->path, ignored))
    return Error{ErrorCode::kUsage, concat("--output ", output.string(), ": is what is being read; name another file"),
                 "--output"};
  return {};
}

Result<std::vector<io::TensorToWrite>> tensors_of(const adapt::Respelled& respelled) {
  std::vector<io::TensorToWrite> tensors;
  for (const auto& [key, part] : respelled.keys) {
    if (!io::find_safetensors_type(part.type))
      return Error{ErrorCode::kUnsupported,
                   concat("key ", part.key, ": safetensors has no type ", part.type, " to store it as it is"),
                   part.key};
    tensors.push_back({key, part.type, part.weight.shape, part.weight.bytes});
  }
  return tensors;
}

Status prove_same(AdaptedModel& model, const adapt::Fitted& before, const fs::path& written) {
  VENEER_TRY(after, model.fit(written.string(), before.options));
  const auto difference = adapt::first_difference(before, *after);
  if (!difference) return {};
  return Error{ErrorCode::kVerifyFailed,
               concat("adapter ", before.adapter->name,
                      ": under these names it would mean something else (first difference: ", *difference,
                      "); nothing was written"),
               *difference};
}

}  // namespace

Result<Json> respell_file(AdaptedModel& model, const std::string& name, const fs::path& output, adapt::KeyStyle style) {
  VENEER_TRY(before, model.fit(name, {}));
  VENEER_TRY_STATUS(check_output(output, *before));
  if (!before->broken.empty()) return before->broken.front();
  VENEER_TRY(respelled, adapt::respell(*before->adapter, model.resolver(), model::name_table(model.model()), style));
  const fs::path config = respelled.peft_config.is_null() ? fs::path() : output.parent_path() / kPeftConfig;
  std::error_code ignored;
  if (!config.empty() && fs::exists(config, ignored))
    return Error{ErrorCode::kIo, concat(config.string(), ": is there already; write into a folder of its own"),
                 config.string()};
  VENEER_TRY(tensors, tensors_of(respelled));
  const WaitingOutput waiting(output);
  VENEER_TRY_STATUS(io::write_safetensors(waiting.path(), tensors, respelled.metadata));
  VENEER_TRY_STATUS(prove_same(model, *before, fs::absolute(waiting.path())));
  if (!config.empty()) VENEER_TRY_STATUS(write_file_atomically(config, respelled.peft_config.dump(2) + "\n"));
  VENEER_TRY_STATUS(waiting.put_in_place());
  return Json{{"output", output.string()},
              {"keys", respelled.keys.size()},
              {"layers", before->sites.size()},
              {"config", config.empty() ? Json() : Json(config.string())}};
}

}  // namespace veneer::pipeline
