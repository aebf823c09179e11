#include "preemption/node_resources_fit.h"

#include <map>

#include "preemption/node_resources.h"

namespace divvy::scheduler {
std::vector<std::size_t> NodeResourcesFit::exceeding(const std::vector<Guest>& guests,
                                                     const std::set<std::string>& gone) const {
  std::map<std::string, NodeResources> nodes;
  std::set<std::string> uids;
  for (const Guest& guest : guests) uids.insert(guest.pod->meta.uid);
  std::vector<std::size_t> without;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    const Guest& guest = guests[i];
    const auto [at, fresh] = nodes.try_emplace(guest.node);
    NodeResources& left = at->second;
    if (fresh) {
      left = nodeResourcesOf(cache_.nodes().allocatable(guest.node));
      for (const RunningPod* one : running_pods_.on(guest.node))
        if (!gone.contains(one->uid) && !uids.contains(one->uid)) left.take(one->resources);
    }
    const Result<PodResources> resources = podResources(*guest.pod);
    if (!resources) continue;
    left.take(*resources);
    if (left.hold()) continue;
    left.give(*resources);
    without.push_back(i);
  }
  return without;
}

}  // namespace divvy::scheduler
