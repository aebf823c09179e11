#include "dispatch/nomination.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace divvy::hub {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Why a cluster is not accepted; empty: it is.
std::string refusalOf(const Candidate& one, const NominationTerms& terms) {
  if (!terms.named.empty() && one.cluster != terms.named)
    return "the job names cluster " + terms.named;
  if (!one.answers) return one.why.empty() ? "does not answer" : one.why;
  if (one.price == WorkerPrice::kOnDemand && terms.waited < terms.spill_after)
    return "on demand: not before the job has waited " +
           std::to_string(duration_cast<seconds>(terms.spill_after).count()) + " s";
  return "";
}

std::string reasonOf(const Candidate& one, const std::string& refusal) {
  if (!refusal.empty()) return refusal;
  if (!one.fits) return one.why.empty() ? "not known whether it fits" : one.why;
  if (*one.fits) return "fits now";
  return one.why.empty() ? "does not fit now" : one.why;
}

}  // namespace

Nomination nominate(std::vector<Candidate> candidates, const NominationTerms& terms) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& one, const Candidate& two) {
    return std::tie(one.price, one.cluster) < std::tie(two.price, two.cluster);
  });
  Nomination found;
  std::vector<std::string> fitting, own, accepted;
  std::size_t fitting_nominated = 0;
  std::optional<WorkerPrice> unknown;  // of the cheapest cluster that may fit
  for (const Candidate& one : candidates) {
    const std::string refusal = refusalOf(one, terms);
    found.reasons.push_back(one.cluster + ": " + reasonOf(one, refusal));
    if (!refusal.empty() || one.never) continue;
    if (!one.fits && !one.failed && !unknown) unknown = one.price;
    accepted.push_back(one.cluster);
    if (one.price == WorkerPrice::kPrivate) own.push_back(one.cluster);
    if (!one.fits.value_or(false)) continue;
    if (contains(terms.nominated, one.cluster)) ++fitting_nominated;
    // The next round may know better.
    if (!unknown || *unknown >= one.price || terms.waited >= kPatience) {
      fitting.push_back(one.cluster);
    } else {
      found.undecided = true;
    }
  }
  found.clusters = terms.nominated;
  found.undecided = found.undecided && fitting.empty();
  if (terms.nominated.empty()) {
    if (!fitting.empty()) {
      found.clusters = {fitting.front()};
      found.fits = true;
    } else if (terms.waited >= kPatience) {
      found.clusters = own.empty() ? std::move(accepted) : std::move(own);
      found.clusters.resize(std::min(found.clusters.size(), kMaxNominated));
    }
    return found;
  }
  if (terms.nominated_for < kPatience || fitting_nominated >= kMaxFurther ||
      terms.nominated.size() >= kMaxNominated)
    return found;
  const auto further =
      std::find_if(fitting.begin(), fitting.end(),
                   [&](const std::string& cluster) { return !contains(terms.nominated, cluster); });
  if (further == fitting.end()) return found;
  found.clusters.push_back(*further);
  found.fits = true;
  return found;
}

}  // namespace divvy::hub
