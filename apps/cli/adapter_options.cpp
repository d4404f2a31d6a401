// The rows that several tables have.
#include "adapter_options.h"

namespace veneer::cli {

std::vector<Option> adapter_options(pipeline::AdapterOrder& order, std::filesystem::path& directory) {
  return {{"--adapter,--lora", "FILE[:ARG...]",
           "LoRA or relative; ARG: a strength (1), te=X, unet=X, in=X, mid=X, out=X, lbw=PRESET|LIST, dyn=RANK; may be "
           "repeated",
           [&order](const std::string& value) -> Status {
             VENEER_TRY(request, text::parse_adapter_option(value));
             order.adapters.push_back(std::move(request));
             return {};
           }},
          {"--lora-model-dir,--adapter-dir", "DIR", "Where names of adapters are looked for (.)", path(directory)},
          {"--adapter-policy", "WORD", "What counts as an error: report, strict or lenient",
           word_of(order.policy, adapt::policy_from, "report, strict or lenient")},
          {"--dora", "WORD", "DoRA at strengths other than 1: interp, peft or lycoris (interp)",
           word_of(order.dora, adapt::dora_from, "interp, peft or lycoris")}};
}

}  // namespace veneer::cli
