// The kinds of network that a model is put together from. Each is an immutable assembly of layers; it computes on the
// engine thread with what the context gives it. Activations are [batch, height, width, channels].
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "nn/context.h"

namespace veneer::model {

// A network that has layers: adapters, reports and caches walk them.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  const nn::LayerList& layers() const { return layers_; }
  // Tensors of the source that no layer took, as the file spells them.
  const std::vector<std::string>& unused_tensors() const { return unused_; }

 protected:
  Network() = default;
  nn::LayerList layers_;
  std::vector<std::string> unused_;
};

// Predicts the noise (or velocity) in a latent.
class Denoiser : public Network {
 public:
  struct Input {
    Tensor x;                  // [batch, height, width, input channels], already scaled
    float timestep;            // as sample::Scalings give it: 1000 sigma for SD3, sigma for FLUX
    Tensor context;            // [batch, tokens, context width]
    Tensor context_mask = {};  // [batch, tokens], added to the tokens' scores (0 or -infinity); empty: all take part
    Tensor vector = {};        // [batch, vector_width()]: pooled text and the numbers the family adds; may be empty
    float guidance = 0;        // for networks that were distilled with it
  };
  // [batch, height, width, latent channels].
  virtual Tensor forward(nn::Context& context, const Input& input) const = 0;
  virtual int64_t input_channels() const = 0;
  virtual int64_t latent_channels() const = 0;
  virtual int64_t context_width() const = 0;
  virtual int64_t vector_width() const { return 0; }     // of Input::vector; 0: takes none
  virtual bool takes_guidance() const { return false; }  // reads Input::guidance
  virtual int64_t size_multiple() const { return 1; }    // latent pixels: both sides must be multiples of it
  virtual int64_t largest_side() const { return 0; }     // latent pixels; 0: no limit of its own
};

// Between pictures, values in 0..1, and the latents that the denoiser works on.
class Autoencoder : public Network {
 public:
  struct Encoded {
    Tensor mean;                      // [batch, height / factor, width / factor, latent channels]
    std::optional<Tensor> deviation;  // of the same shape; absent where encoding is not a distribution
  };
  // [batch, h, w, latent channels] -> [batch, h * factor, w * factor, 3], not clamped.
  virtual Tensor decode(nn::Context& context, const Tensor& latents) const = 0;
  virtual Encoded encode(nn::Context& context, const Tensor& image) const = 0;
  virtual int64_t factor() const = 0;  // picture pixels per latent pixel
  virtual int64_t latent_channels() const = 0;
  // How many latent pixels around its own an output pixel of decode() depends on; empty when it depends on all, because
  // something normalises or attends over the whole picture.
  virtual std::optional<int64_t> reach() const = 0;
  virtual bool can_encode() const = 0;
  virtual bool can_decode() const = 0;
};

// Turns the tokens of one chunk into hidden states.
class TextEncoder : public Network {
 public:
  struct Input {
    std::span<const int32_t> ids;
    int64_t skip = 0;        // layers that are left out at the end; never for the pooled vector
    bool final_norm = true;  // of the hidden states
    bool pooled = false;     // asks for the pooled vector
    Tensor extra_rows = {};  // [n, width]: of the token embedding, for ids from vocabulary() on; may be empty
    Tensor key_mask = {};    // [1, ids], added to the scores (0 or -infinity); may be empty
  };
  struct Encoded {
    Tensor states;  // [1, ids, width]
    Tensor pooled;  // [1, pooled_width()], empty when not asked for
  };
  virtual Encoded encode(nn::Context& context, const Input& input) const = 0;
  virtual int64_t pooled_width() const { return 0; }  // 0: gives none
  virtual int64_t width() const = 0;
  virtual int64_t positions() const = 0;  // tokens of a chunk, framing included
  virtual int64_t vocabulary() const = 0;
  virtual int64_t depth() const = 0;  // layers
};

}  // namespace veneer::model
