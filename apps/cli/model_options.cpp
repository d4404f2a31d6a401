// Shared rows of option tables.
#include "model_options.h"

#include "core/format.h"

namespace veneer::cli {

OptionGroup model_file_options(io::ModelPaths& paths) {
  return {"Model",
          {{"-m,--model", "PATH", "Model file or folder; emoji-v1 is the one that ships with the program",
            path(paths.model)},
           {"--diffusion-model", "FILE", "Denoiser, over that of --model", path(paths.denoiser)},
           {"--clip_l", "FILE", "CLIP-L text encoder", path(paths.clip_l)},
           {"--clip_g", "FILE", "OpenCLIP-bigG text encoder", path(paths.clip_g)},
           {"--t5xxl", "FILE", "T5 text encoder", path(paths.t5xxl)},
           {"--vae", "FILE", "Autoencoder", path(paths.vae)}}};
}

Option no_mapping_option(io::ModelPaths& paths) {
  return {"--no-mmap", "", "Read files into memory instead of mapping them",
          [&mode = paths.mode](const std::string&) -> Status {
            mode = MappedFile::Mode::kRead;
            return {};
          }};
}

OptionGroup type_options(TypeOptions& options) {
  return {"Number formats",
          {{"--type", "TYPE", "Format that weights are brought into: f16, q8_0, f8_e4m3, ... (as stored)",
            text(options.type)},
           {"--tensor-type-rules", "LIST", "The same by name, first match wins: \"REGEX=TYPE,REGEX=TYPE\"",
            [&rules = options.rules](const std::string& value) -> Status {
              rules += concat(rules.empty() ? "" : ",", value);
              return {};
            }}}};
}

}  // namespace veneer::cli
