// The options of `veneer image`: which model, what picture, where it goes. Nothing is read or checked here beyond the
// form of each value; prepare.h does that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model_options.h"
#include "options.h"
#include "pipeline/session.h"

namespace veneer::cli {

struct ImageOptions {
  pipeline::SessionOptions session;
  pipeline::Request request;
  TypeOptions types;  // becomes a member of the session's options

  // Files that become members of the request.
  std::filesystem::path prompt_file, negative_prompt_file;
  std::filesystem::path init_image, mask, init_latents;

  // Files that are written.
  std::string output = "./output.png";  // "-": stdout
  int first_index = 0;                  // of a numbered output
  std::filesystem::path preview = "./preview.png";
  bool prove = false;                  // that adapters leave no trace
  std::filesystem::path receipt;       // of the adapters, whole; empty: not written
  std::filesystem::path save_latents;  // empty: not saved
  bool image_metadata = true;

  bool list_devices = false;           // answer with the devices instead
  std::vector<std::string> no_effect;  // one warning per option that was given and changes nothing here
};

// The table that sets both. It holds references: they must outlive it.
OptionTable image_option_table(ImageOptions& options, ConsoleOptions& console);

}  // namespace veneer::cli
