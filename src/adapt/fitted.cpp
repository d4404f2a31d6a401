// Fitting: resolve, lower each place, and sort every key into one of the four counts.
#include "adapt/fitted.h"

#include <algorithm>
#include <new>
#include <optional>
#include <set>

#include "adapt/fingerprint.h"
#include "core/format.h"

namespace veneer::adapt {
namespace {

// Names are sought for this many unmatched modules; each search goes through all names of the model.
constexpr size_t kNearestSought = 20;

// One place and what lowering it gave.
struct Attempt {
  SiteKeys* keys = nullptr;
  std::shared_ptr<const Fusion> fusion;
  std::optional<Result<std::vector<Lowered>>> result;  // one for each site
};

Result<std::vector<Lowered>> lower_place(const Attempt& attempt, const LowerOptions& options) {
  const SiteKeys& keys = *attempt.keys;
  if (attempt.fusion) return lower_fused(keys.keys, *attempt.fusion, options);
  VENEER_TRY(lowered, lower(keys.keys, keys.sites.front(), options));
  std::vector<Lowered> out;
  out.push_back(std::move(lowered));
  return out;
}

void lower_all(std::vector<Attempt>& attempts, const LowerOptions& options) {
  const auto count = static_cast<int64_t>(attempts.size());
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < count; ++i) {
    Attempt& attempt = attempts[static_cast<size_t>(i)];
    try {
      attempt.result = lower_place(attempt, options);
    } catch (const std::bad_alloc&) {
      attempt.result = Error{ErrorCode::kNoMemory, concat(attempt.keys->keys.module, ": memory ran out"), "memory"};
    }
  }
}

class Fitter {
 public:
  Fitter(Fitted& fitted, const Resolver& resolver) : fitted_(fitted), resolver_(resolver) {}

  Status take(Attempt& attempt) {
    KeyGroup& keys = attempt.keys->keys;
    const io::Part part = attempt.keys->target->part;
    SiteCounts& counts = account().components[part];
    const auto sites = static_cast<int64_t>(attempt.keys->sites.size());
    counts.sites += sites;
    if (!*attempt.result) {
      const Error& error = attempt.result->error();
      if (error.code == ErrorCode::kNoMemory) return error;
      if (error.code == ErrorCode::kBadFile) fitted_.broken.push_back(error);
      for (const auto& [name, key] : keys.parts) refuse(key.key, error.message);
      return {};
    }
    std::vector<Lowered> lowered = *std::move(*attempt.result);
    const auto& names = lowered.front().used;
    const std::set<std::string, std::less<>> used(names.begin(), names.end());
    for (const auto& [name, key] : keys.parts) {
      if (used.contains(name))
        ++account().keys.applied;
      else
        refuse(key.key, "nothing of this module's family reads it");
    }
    families_.insert(family_name(keys));
    uses_vera_ |= keys.vera_down != nullptr && keys.has("vera_lambda_b");
    for (const std::string& notice : lowered.front().notices) account().notices.push_back(notice);
    counts.applied += sites;
    for (size_t i = 0; i < lowered.size(); ++i) {
      const Site& site = attempt.keys->sites[i];
      count_terms(lowered[i], counts);
      fitted_.sites.push_back({part, site, std::move(lowered[i]), fitted_.groups.size(),
                               resolver_.block_of(*site.layer), attempt.fusion, i});
    }
    fitted_.groups.push_back(std::move(keys));
    return {};
  }

  void take_rest(const Resolution& resolution) {
    for (const Contradiction& contradiction : resolution.contradictions) {
      const std::string reason =
          concat("two spellings of ", contradiction.target->name, " give different values: ", contradiction.keys[0],
                 " and ", contradiction.keys[1]);
      fitted_.broken.push_back(
          {ErrorCode::kBadFile, concat("adapter ", account().name, ": ", reason), contradiction.keys[0]});
      for (const std::string& key : contradiction.keys) refuse(key, reason);
    }
    account().ignored = resolution.ignored;
    size_t sought = 0;
    for (const AdapterModule* unmatched : resolution.unmatched) {
      std::string nearest;
      if (sought++ < kNearestSought) {
        const std::vector<std::string> names = resolver_.nearest(*unmatched, 1);
        if (!names.empty()) nearest = names.front();
      }
      for (const auto& [name, key] : unmatched->keys.parts) account().unmatched.push_back({key.key, nearest});
    }
    for (const auto* shared : {&fitted_.adapter->vera_down, &fitted_.adapter->vera_up}) {
      if (!*shared) continue;
      if (uses_vera_)
        ++account().keys.applied;
      else
        account().ignored.push_back({(*shared)->key, "no module of this file uses it here"});
    }
  }

  void take_embeddings() {
    const std::vector<int64_t> widths = resolver_.token_widths();
    for (const BundledEmbedding& bundled : fitted_.adapter->embeddings) {
      Embedding embedding{bundled.name, fitted_.adapter->path.string(), {}};
      std::vector<const KeyPart*> others;
      for (const KeyPart& part : bundled.parts) {
        const Shape& shape = part.weight.shape;
        if (shape.rank() > 0 && std::ranges::find(widths, shape.back()) == widths.end())
          others.push_back(&part);
        else
          take_vectors(part, embedding);
      }
      for (const KeyPart* part : others) leave_out(*part, embedding, widths);
      if (embedding.vectors.empty()) continue;
      account().words.push_back(embedding.word);
      fitted_.embeddings.push_back(std::move(embedding));
    }
  }

  void finish() {
    KeyCounts& keys = account().keys;
    keys.total = fitted_.adapter->key_count;
    keys.refused = static_cast<int64_t>(account().refused.size());
    keys.unmatched = static_cast<int64_t>(account().unmatched.size());
    keys.ignored = static_cast<int64_t>(account().ignored.size());
    VENEER_CHECK(keys.applied + keys.refused + keys.unmatched + keys.ignored == keys.total);
    account().family = join(std::vector<std::string>(families_.begin(), families_.end()), ", ");
    std::stable_sort(fitted_.sites.begin(), fitted_.sites.end(), [](const FittedSite& a, const FittedSite& b) {
      return std::tuple(a.part, a.site.layer->id, a.site.first_row) <
             std::tuple(b.part, b.site.layer->id, b.site.first_row);
    });
    for (const FittedSite& site : fitted_.sites)
      for (const nn::Term& term : site.lowered.terms) fitted_.held_bytes += nn::held_bytes(term);
  }

 private:
  AdapterAccount& account() { return fitted_.account; }
  void refuse(const std::string& key, const std::string& reason) { account().refused.push_back({key, reason}); }

  void take_vectors(const KeyPart& part, Embedding& embedding) {
    auto vectors = vectors_of(part);
    if (vectors) {
      ++account().keys.applied;
      embedding.vectors.push_back(*std::move(vectors));
      return;
    }
    if (vectors.error().code == ErrorCode::kBadFile) fitted_.broken.push_back(vectors.error());
    refuse(part.key, vectors.error().message);
  }

  // Vectors that no text encoder takes: a file for several encoders has them beside others.
  void leave_out(const KeyPart& part, const Embedding& embedding, const std::vector<int64_t>& widths) {
    const int64_t width = part.weight.shape.back();
    if (!embedding.vectors.empty()) {
      account().ignored.push_back({part.key, concat("vectors of ", width, " values are for another text encoder")});
      return;
    }
    std::vector<std::string> expected;
    for (const int64_t one : widths) expected.push_back(concat(one));
    refuse(part.key, concat("vectors of ", width, " values, the text encoder takes ", join(expected, " or ")));
  }

  static void count_terms(const Lowered& lowered, SiteCounts& counts) {
    const auto is_bias = [](const nn::Term& term) {
      const auto* vector = std::get_if<nn::Vector>(&term);
      return vector && vector->of == nn::Vector::Of::kBias;
    };
    const auto biases = std::count_if(lowered.terms.begin(), lowered.terms.end(), is_bias);
    if (biases > 0) ++counts.biases;
    if (biases < static_cast<int64_t>(lowered.terms.size())) ++counts.weights;
  }

  Fitted& fitted_;
  const Resolver& resolver_;
  std::set<std::string> families_;
  bool uses_vera_ = false;
};

}  // namespace

Result<std::shared_ptr<const Fitted>> fit(std::shared_ptr<const Adapter> adapter, const Resolver& resolver,
                                          const LowerOptions& options, std::string_view model) {
  VENEER_TRY(resolution, resolver.resolve(*adapter));
  auto fitted = std::make_shared<Fitted>();
  fitted->adapter = std::move(adapter);
  fitted->options = options;
  fitted->options.strength = 1;
  AdapterAccount& account = fitted->account;
  account.name = fitted->adapter->name;
  account.path = fitted->adapter->path.string();
  account.sha256 = fitted->adapter->sha256;
  account.auto_v3 = fitted->adapter->auto_v3;

  std::vector<Attempt> attempts;
  for (SiteKeys& keys : resolution.sites)
    attempts.push_back({&keys, fuse(keys.sites, keys.target->swap_halves), std::nullopt});
  lower_all(attempts, fitted->options);
  Fitter fitter(*fitted, resolver);
  for (Attempt& attempt : attempts) VENEER_TRY_STATUS(fitter.take(attempt));
  fitter.take_rest(resolution);
  fitter.take_embeddings();
  fitter.finish();
  // A file of which hardly anything fits is likely made for another family.
  constexpr int64_t kHardly = 10;
  const auto guess = fingerprint(*fitted->adapter);
  if (guess && guess->family != model && account.keys.applied * kHardly < account.keys.total)
    account.looks_like =
        concat("it looks like ", guess->family, " (", guess->evidence, "); the loaded model is ", model);
  return std::shared_ptr<const Fitted>(std::move(fitted));
}

}  // namespace veneer::adapt
