// Working in tiles: overlapping pieces of a map, blended where they meet. Knows nothing of what is done with a piece.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// Where the pieces of one axis begin. All are `tile` long; neighbours overlap by at least what was asked.
struct TileAxis {
  int64_t length = 0, tile = 0;
  std::vector<int64_t> starts;
};

// Tiles never longer than the axis; the overlap is a share of the tile, 0..0.5.
TileAxis plan_axis(int64_t length, int64_t tile, double overlap);

struct TilePlan {
  TileAxis y, x;  // latent pixels
  bool is_whole() const { return y.starts.size() == 1 && x.starts.size() == 1; }
  size_t count() const { return y.starts.size() * x.starts.size(); }
};

// From the options, for a latent of height x width; a plan of one tile when tiling is off. `encode` takes tiles twice
// as large.
TilePlan plan_tiles(const TilingOptions& options, int64_t height, int64_t width, bool encode);

// Calls `work(y, x)` for each tile (latent pixels of its upper left corner) and blends the results, [1, tile height *
// scale, tile width * scale, channels], to [1, height * scale, width * scale, channels]. The weight of a tile rises
// linearly over the overlap with its neighbour. With a `reach` (latent pixels that a result depends on around its own)
// the outermost `reach` pixels weigh nothing, so that an overlap of at least twice the reach gives what the whole would
// give. Errors: those of `work`.
Result<Tensor> run_tiles(const TilePlan& plan, int64_t scale, int64_t channels, std::optional<int64_t> reach,
                         const std::function<Result<Tensor>(int64_t y, int64_t x)>& work);

}  // namespace veneer::pipeline
