// Finding and joining the halves of a tiny autoencoder.
#include "io/tiny_vae_files.h"

#include <algorithm>

#include "core/format.h"
#include "io/container.h"

namespace veneer::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEncoder = "encoder";
constexpr std::string_view kDecoder = "decoder";

// An encoder begins with the convolution "0.weight" from a picture's three channels; a decoder begins with a clamp, so
// its first convolution is "1.weight". Empty for names of another kind.
std::string_view half_of(const WeightStore& store) {
  const auto is_convolution = [&](std::string_view name) {
    const Entry* entry = store.find(name);
    return entry != nullptr && entry->weight.shape.rank() == 4;
  };
  if (is_convolution("0.weight")) return kEncoder;
  if (is_convolution("1.weight")) return kDecoder;
  return {};
}

WeightStore with_prefix(const WeightStore& half, std::string_view prefix) {
  return half.renamed([&](std::string_view name) { return concat(prefix, ".", name); });
}

// The other file of a pair by its name: "taesd_encoder.safetensors" <-> "taesd_decoder.safetensors"; empty when there
// is none.
fs::path sibling_of(const fs::path& file) {
  const std::string name = base_name(file);
  for (const auto& [mine, other] : {std::pair(kEncoder, kDecoder), std::pair(kDecoder, kEncoder)}) {
    const size_t at = name.rfind(mine);
    if (at == std::string::npos) continue;
    const fs::path sibling = file.parent_path() / std::string(name).replace(at, mine.size(), other);
    std::error_code ignored;
    return fs::is_regular_file(sibling, ignored) ? sibling : fs::path();
  }
  return {};
}

Result<Component> open_file(const fs::path& file, MappedFile::Mode mode) {
  VENEER_TRY(first, open_weights(file, mode));
  const std::string_view half = half_of(first);
  if (half.empty()) return Component{std::move(first), Json()};
  WeightStore joined = with_prefix(first, half);
  if (const fs::path sibling = sibling_of(file); !sibling.empty()) {
    VENEER_TRY(second, open_weights(sibling, mode));
    const std::string_view other = half_of(second);
    if (other.empty() || other == half)
      return Error{
          ErrorCode::kBadFile,
          concat(sibling.string(), ": expected the ", half == kEncoder ? kDecoder : kEncoder, " beside ",
                 base_name(file), ", found ", other.empty() ? "other weights" : "a second one of the same kind"),
          sibling.string()};
    joined = with_prefix(second, other).layered(joined);
  }
  return Component{std::move(joined), Json()};
}

// The first file, by name, that could be a half.
fs::path find_half(const fs::path& folder) {
  std::vector<fs::path> halves;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".safetensors" && (stem.ends_with(kEncoder) || stem.ends_with(kDecoder)))
      halves.push_back(entry.path());
  }
  return halves.empty() ? fs::path() : *std::min_element(halves.begin(), halves.end());
}

}  // namespace

Result<Component> open_tiny_vae(const fs::path& path, MappedFile::Mode mode) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return open_file(path, mode);
  VENEER_TRY(weights, find_component_weights(path));
  const fs::path half = weights.empty() ? find_half(path) : fs::path();
  return half.empty() ? open_component_folder(path, mode) : open_file(half, mode);
}

}  // namespace veneer::io
