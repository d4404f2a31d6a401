// Names by way of the canonical spelling.
#include "model/original_names.h"

#include "model/autoencoder_names.h"
#include "model/clip_names.h"
#include "model/unet_names.h"

namespace veneer::model {
namespace {

bool is_unet(const NameSet& names) { return has_prefix(names, "down_blocks.0.resnets.0."); }

NameSet renamed(const NameSet& names, const NameMap& map) {
  NameSet other;
  for (const std::string& name : names) other.insert(map(name));
  return other;
}

}  // namespace

std::string_view original_prefix(io::Part part) {
  switch (part) {
    case io::Part::kDenoiser: return "model.diffusion_model.";
    case io::Part::kTextEncoder: return "cond_stage_model.transformer.";
    case io::Part::kTextEncoder2: return "cond_stage_model.1.transformer.";
    case io::Part::kTextEncoder3: return "text_encoders.t5xxl.transformer.";
    case io::Part::kVae: return "first_stage_model.";
    case io::Part::kTinyVae: return "tae.";
  }
  return "";
}

OriginalNames::OriginalNames(io::Part part, const NameSet& names) : prefix_(original_prefix(part)) {
  switch (part) {
    case io::Part::kDenoiser:  // other denoisers have no numbering of their own
      if (is_unet(names)) original_ = unet_names_as_original(names);
      break;
    case io::Part::kVae:
      canonical_ = autoencoder_names(names);
      original_ = original_autoencoder_names(renamed(names, canonical_));
      break;
    case io::Part::kTextEncoder:
    case io::Part::kTextEncoder2: canonical_ = clip_names(names); break;
    case io::Part::kTextEncoder3:
    case io::Part::kTinyVae: break;
  }
}

std::string OriginalNames::operator()(std::string_view name) const {
  return std::string(prefix_) + original_(canonical_(name));
}

}  // namespace veneer::model
