// A model put together: its family and its networks, each built from one part of the files. Immutable.
#pragma once

#include <memory>

#include "model/family.h"

namespace veneer::model {

struct Model {
  const Family* family = nullptr;
  std::unique_ptr<Denoiser> denoiser;
  TextEncoders text_encoders;             // those of the family's text plan that are there
  std::unique_ptr<Autoencoder> vae;       // null when only a tiny one is there
  std::unique_ptr<Autoencoder> tiny_vae;  // null when none is given

  const TextPlan& text_plan() const { return *family->text; }
  // Null when there is none.
  const TextEncoder* text_encoder(io::Part part) const;

  // In the order of reports; parts that are absent are left out.
  struct NamedNetwork {
    io::Part part;
    const Network* network;
  };
  std::vector<NamedNetwork> networks() const;
};

// Checks that all parts are there and fit each other. Errors: bad_file (a part is missing: says which option names it),
// mismatch (a part of another family), unsupported.
Result<Model> build_model(const io::ModelFiles& files);

}  // namespace veneer::model
