// The proof: hashes and one picture, before and after.
#include "prove.h"

#include "core/format.h"
#include "core/hash.h"

namespace veneer::cli {
namespace {

Result<Json> state_of(pipeline::Session& session, const pipeline::Request& request,
                      const pipeline::CancelFlag& cancel) {
  pipeline::Request plain = request;
  plain.adapters.adapters.clear();
  plain.batch_count = 1;
  if (plain.seed < 0) plain.seed = 0;  // twice the same
  VENEER_TRY(drawn, session.generate(plain, {}, cancel));
  Sha256 hash;
  hash.add(std::as_bytes(std::span(drawn.pictures.front().image.pixels)));
  VENEER_TRY(weights, session.weight_hashes());
  return Json{{"weights", std::move(weights)}, {"picture", hash.hex()}};
}

}  // namespace

Result<Json> prove(pipeline::Session& session, const pipeline::Request& request, const pipeline::CancelFlag& cancel,
                   const std::function<Status()>& with_adapters) {
  VENEER_TRY(before, state_of(session, request, cancel));
  VENEER_TRY_STATUS(with_adapters());
  VENEER_TRY(after, state_of(session, request, cancel));
  for (const auto& [part, hash] : before["weights"].items())
    if (after["weights"][part] != hash)
      return Error{ErrorCode::kVerifyFailed, concat("--prove: the weights of the ", part, " have changed"), part};
  if (before != after)
    return Error{ErrorCode::kVerifyFailed, "--prove: a picture without adapters is not what it was before them",
                 "--prove"};
  return after;
}

}  // namespace veneer::cli
