#include "queue/gang_planner.h"

#include <algorithm>
#include <set>

namespace divvy::scheduler {
namespace {

// How often pods without CPU or memory on their node are tried on other nodes.
constexpr unsigned kMaxRounds = 16;

}  // namespace

std::vector<std::size_t> GangPlanner::exceeding(const std::vector<kube::Pod>& pods,
                                                const std::vector<const kube::Pod*>& others,
                                                const std::vector<Reservation>& places) const {
  std::set<std::string> own;
  for (const kube::Pod& pod : pods) own.insert(pod.meta.uid);
  std::vector<NodeResourcesFit::Guest> guests;
  for (const kube::Pod* pod : others)
    if (!own.contains(pod->meta.uid))
      if (const auto place = cache_.pods().nodeOf(pod->meta.uid)) guests.push_back({pod, *place});
  const std::size_t earlier = guests.size();
  for (std::size_t i = 0; i < pods.size(); ++i) guests.push_back({&pods[i], places[i].node});
  std::vector<std::size_t> all;
  for (const std::size_t at : node_resources_->exceeding(guests, {}))
    if (at >= earlier) all.push_back(at - earlier);
  return all;
}

Result<std::vector<Reservation>> GangPlanner::reserve(
    const std::vector<kube::Pod>& pods, const std::vector<const kube::Pod*>& others,
    const std::vector<std::string>& without_models, engine::Instant expires) {
  std::vector<std::string> full;
  Result<std::vector<Reservation>> all = cache_.plan(pods, without_models, full, expires);
  if (!all || node_resources_ == nullptr) return all;
  for (unsigned round = 1;; ++round) {
    const std::vector<std::size_t> exceeding = this->exceeding(pods, others, *all);
    if (exceeding.empty()) return all;
    std::vector<kube::Pod> rest;
    for (const std::size_t at : exceeding) {
      rest.push_back(pods[at]);
      cache_.unreserve(pods[at].meta.uid);
      const std::string& node = (*all)[at].node;
      if (std::find(full.begin(), full.end(), node) == full.end()) full.push_back(node);
    }
    Result<std::vector<Reservation>> again = round > kMaxRounds
                                                 ? Error{ErrorCode::kNoRoom, "no way was found"}
                                                 : cache_.plan(rest, without_models, full, expires);
    for (std::size_t i = 0; again && i < exceeding.size(); ++i) (*all)[exceeding[i]] = (*again)[i];
    if (again) continue;
    for (const kube::Pod& pod : pods) cache_.unreserve(pod.meta.uid);
    return Error{again.error().code(),
                 std::to_string(exceeding.size()) + " of " + std::to_string(pods.size()) +
                     " members find too little CPU or memory on nodes with devices, such as node " +
                     full.back()};
  }
}

}  // namespace divvy::scheduler
