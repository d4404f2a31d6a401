// Reading embeddings.
#include "adapt/embedding.h"

#include <algorithm>

#include "adapt/library.h"
#include "core/format.h"
#include "io/container.h"

namespace veneer::adapt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrainedList = "string_to_param.";
constexpr std::string_view kByEncoder[] = {"emb_params", "clip_l", "clip_g"};

Result<std::vector<KeyPart>> vector_parts(const io::WeightStore& store, const std::string& place) {
  std::vector<KeyPart> listed, named;
  for (const auto& [key, entry] : store.entries()) {
    const KeyPart part{key, entry.weight, entry.type_name};
    if (key.starts_with(kTrainedList)) listed.push_back(part);
    if (std::ranges::find(kByEncoder, key) != std::end(kByEncoder) || store.entries().size() == 1)
      named.push_back(part);
  }
  if (listed.size() > 1)
    return Error{ErrorCode::kMismatch,
                 concat(place, ": holds ", listed.size(), " embeddings (", listed[0].key, ", ", listed[1].key,
                        "), expected one; save each to a file of its own"),
                 place};
  if (listed.empty()) listed = std::move(named);
  if (listed.empty())
    return Error{
        ErrorCode::kMismatch,
        concat(place, ": is not a token embedding: none of its ", store.entries().size(), " tensors is ", kTrainedList,
               "*, ", join(std::vector<std::string>(std::begin(kByEncoder), std::end(kByEncoder)), " or ")),
        place};
  return listed;
}

}  // namespace

const Tensor* Embedding::of_width(int64_t width) const {
  const auto found = std::ranges::find_if(vectors, [&](const Tensor& one) { return one.shape.back() == width; });
  return found == vectors.end() ? nullptr : &*found;
}

Result<Tensor> vectors_of(const KeyPart& part) {
  const Shape& shape = part.weight.shape;
  if (shape.rank() < 1 || shape.rank() > 2)
    return Error{ErrorCode::kMismatch,
                 concat("key ", part.key, ": shape ", shape.to_string(), " is no list of vectors, expected [n, width]"),
                 part.key};
  VENEER_TRY(tensor, as_tensor(part));
  return tensor.reshaped({shape.rank() == 1 ? 1 : shape[0], shape.back()});
}

Result<Embedding> open_embedding(const fs::path& path, MappedFile::Mode mode) {
  VENEER_TRY(store, io::open_weights(path, mode));
  VENEER_TRY(parts, vector_parts(store, path.string()));
  Embedding embedding{path.stem().string(), path.string(), {}};
  for (const KeyPart& part : parts) {
    auto vectors = vectors_of(part);
    if (!vectors) {
      vectors.error().message.insert(0, path.string() + ": ");
      return vectors.error();
    }
    embedding.vectors.push_back(*std::move(vectors));
  }
  return embedding;
}

Result<std::vector<fs::path>> embedding_files(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator it(directory, error), end;
  if (error)
    return Error{ErrorCode::kNotFound, concat(directory.string(), ": is no folder that can be read"),
                 directory.string()};
  for (; !error && it != end; it.increment(error))
    if (is_weight_file(it->path())) files.push_back(it->path());
  std::ranges::sort(files);
  return files;
}

}  // namespace veneer::adapt
