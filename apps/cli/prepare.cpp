// The checks before any model is opened.
#include "prepare.h"

#include "core/format.h"
#include "data_dir.h"
#include "latents.h"
#include "output_names.h"
#include "text/adapter_tags.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxPromptBytes = 1 << 20;

Error usage(std::string_view option, std::string_view fault) {
  return {ErrorCode::kUsage, concat(option, ": ", fault), std::string(option)};
}

// What a file's reader answers, with the option in front.
template <typename T>
Result<T> for_option(std::string_view option, Result<T> result) {
  if (!result) result.error().message = concat(option, ": ", result.error().message);
  return result;
}

// Exchanges the text for that of the file, without the line ends that editors leave behind it.
Status read_prompt(std::string_view option, const fs::path& file, std::string& prompt) {
  if (file.empty()) return {};
  const std::string file_option = concat(option, "-file");
  if (!prompt.empty()) return usage(file_option, concat("excludes ", option, "; give one of them"));
  VENEER_TRY(text, for_option(file_option, read_text_file(file, kMaxPromptBytes)));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  prompt = std::move(text);
  return {};
}

Status take_tags(pipeline::Request& request, const Log& log) {
  VENEER_TRY(positive, text::take_adapter_tags(request.prompt));
  text::TaggedPrompt negative = text::drop_adapter_tags(request.negative_prompt);
  request.written_prompt = request.prompt;
  std::vector<text::AdapterRequest>& adapters = request.adapters.adapters;
  adapters.insert(adapters.end(), positive.adapters.begin(), positive.adapters.end());
  for (const std::string& warning : positive.warnings) log.warn(warning);
  for (const std::string& warning : negative.warnings) log.warn(warning);
  request.prompt = std::move(positive.text);
  request.negative_prompt = std::move(negative.text);
  return {};
}

Status read_pictures(ImageOptions& options) {
  pipeline::Request& request = options.request;
  if (!options.init_image.empty()) {
    VENEER_TRY(image, for_option("--init-img", io::read_image(options.init_image, 3)));
    request.init_image = std::move(image);
  }
  if (!options.mask.empty()) {
    VENEER_TRY(mask, for_option("--mask", io::read_image(options.mask, 1)));
    request.mask = std::move(mask);
  }
  if (!options.init_latents.empty()) {
    VENEER_TRY(latents, for_option("--init-latents", read_latents(options.init_latents)));
    request.init_latents = std::move(latents);
  }
  return {};
}

Status check_outputs(const ImageOptions& options, const ConsoleOptions& console) {
  if (options.output == "-") {
    if (options.request.batch_count > 1) return usage("--output", "stdout takes one picture, not a batch; name a file");
    if (console.json) return usage("--output", "stdout cannot hold both the picture and the object of --json");
  } else {
    VENEER_TRY(names, OutputNames::parse(options.output, options.first_index, options.request.batch_count));
    VENEER_TRY_STATUS(for_option("--output", check_writable(names.file(0).path)));
  }
  if (!options.receipt.empty()) VENEER_TRY_STATUS(for_option("--receipt", check_writable(options.receipt)));
  if (!options.save_latents.empty())
    VENEER_TRY_STATUS(for_option("--save-latents", check_writable(options.save_latents)));
  if (options.request.preview != pipeline::PreviewMode::kNone)
    VENEER_TRY_STATUS(for_option("--preview-path", check_writable(options.preview)));
  return {};
}

void choose_model(pipeline::SessionOptions& session, const Log& log) {
  const fs::path data = data_dir();
  session.data_dir = data.string();
  fs::path& model = session.paths.model;
  if (!model.empty()) {
    model = model_named(model, data);
  } else if (session.paths.denoiser.empty()) {
    model = embedded_model(data);
    log.info(concat("no model was named: ", kEmbeddedModel, " draws, which ships with the program; give another with ",
                    "-m FILE or -m FOLDER"));
  }
}

}  // namespace

Status prepare(ImageOptions& options, const ConsoleOptions& console, const Log& log) {
  for (const std::string& warning : options.no_effect) log.warn(warning);
  pipeline::Request& request = options.request;
  VENEER_TRY_STATUS(read_prompt("--prompt", options.prompt_file, request.prompt));
  VENEER_TRY_STATUS(read_prompt("--negative-prompt", options.negative_prompt_file, request.negative_prompt));
  VENEER_TRY_STATUS(take_tags(request, log));
  VENEER_TRY_STATUS(read_pictures(options));
  VENEER_TRY_STATUS(pipeline::validate(request));
  VENEER_TRY_STATUS(check_outputs(options, console));
  VENEER_TRY(types, options.types.parse());
  options.session.types = std::move(types);
  choose_model(options.session, log);
  return {};
}

}  // namespace veneer::cli
