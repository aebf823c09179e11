#include "preemption/node_resources_fit.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/quantity.h"

namespace divvy::scheduler {
namespace {

constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 4;

struct Left {
  std::int64_t milli = kEnough;
  std::int64_t bytes = kEnough;
  std::int64_t pods = kEnough;

  // Whether it is there.
  bool take(const PodResources& resources) {
    milli -= resources.cpu.milli;
    bytes -= static_cast<std::int64_t>(resources.memory.count);
    --pods;
    return milli >= 0 && bytes >= 0 && pods >= 0;
  }
  void give(const PodResources& resources) {
    milli += resources.cpu.milli;
    bytes += static_cast<std::int64_t>(resources.memory.count);
    ++pods;
  }
};

Left all(const kube::Quantities& allocatable) {
  Left left;
  const auto read = [&](const char* name) {
    const auto found = allocatable.find(name);
    Result<Quantity> amount = found == allocatable.end() ? Error{ErrorCode::kNotFound, ""}
                                                         : Quantity::parse(found->second);
    return amount;
  };
  if (const auto cpu = read("cpu")) left.milli = std::min(cpu->milli(), kEnough);
  if (const auto memory = read("memory"))
    left.bytes = std::min(memory->whole().value_or(kEnough), kEnough);
  if (const auto pods = read("pods"))
    left.pods = std::min(pods->whole().value_or(kEnough), kEnough);
  return left;
}

}  // namespace

std::vector<std::size_t> NodeResourcesFit::exceeding(const std::vector<Guest>& guests,
                                                     const std::set<std::string>& gone) const {
  std::map<std::string, Left> nodes;
  std::set<std::string> uids;
  for (const Guest& guest : guests) uids.insert(guest.pod->meta.uid);
  std::vector<std::size_t> without;
  for (std::size_t i = 0; i < guests.size(); ++i) {
    const Guest& guest = guests[i];
    const auto [at, fresh] = nodes.try_emplace(guest.node);
    Left& left = at->second;
    if (fresh) {
      left = all(cache_.nodes().allocatable(guest.node));
      for (const RunningPod* one : running_pods_.on(guest.node))
        if (!gone.contains(one->uid) && !uids.contains(one->uid)) left.take(one->resources);
    }
    const Result<PodResources> resources = podResources(*guest.pod);
    if (!resources || left.take(*resources)) continue;
    left.give(*resources);
    without.push_back(i);
  }
  return without;
}

}  // namespace divvy::scheduler
