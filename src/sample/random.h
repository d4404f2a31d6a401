// Generators of standard normal noise. One call of normal() is one draw: the noise of one whole latent of one image, in
// (C, H, W) order, whatever layout the caller computes in. A generator belongs to one image of one run; no thread
// safety.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/result.h"

namespace veneer::sample {

enum class GeneratorKind {
  kCuda,  // "cuda": Philox-4x32-10, the numbers of torch's CUDA generator for latents below the size of its launch grid
  kCpu,   // "cpu": MT19937, the numbers of torch's CPU generator
};

std::string_view name_of(GeneratorKind kind);
// Errors: usage (unknown name), unsupported ("std_default", a reserved name).
Result<GeneratorKind> generator_named(std::string_view name);

class Generator {
 public:
  virtual ~Generator() = default;
  // Back to the state of a new generator with this seed.
  virtual void reseed(uint64_t seed) = 0;
  // Fills `out` with independent numbers of mean 0 and deviation 1.
  virtual void normal(std::span<float> out) = 0;
};

std::unique_ptr<Generator> make_generator(GeneratorKind kind, uint64_t seed);

}  // namespace veneer::sample
