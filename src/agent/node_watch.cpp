// What is looked at every second of a node of Kubernetes: who of its pods does not use its devices,
// and who has cards from another plugin.
#include <algorithm>
#include <ctime>
#include <utility>

#include "holders.h"
#include "idle_pods.h"
#include "kubelet_desk.h"

namespace divvy::agent {
namespace {

constexpr unsigned kHoldersEvery = 5;  // ticks

}  // namespace

void KubeletDesk::tick() {
  noteIdle();
  if (ticks_++ % kHoldersEvery == 0) lookForHolders();
}

void KubeletDesk::lookForHolders() {
  if (!pods_known_ || looking_ || stopped_) return;
  looking_ = true;
  ++asked_;
  resources_.list([this](Held held) {
    asio::post(loop_, [this, held = std::move(held)] {
      looking_ = false;
      --asked_;
      if (!held) return;
      // Who is not told of yet may be anybody's, and is looked at again soon.
      const auto ours = [this](const std::string& space, const std::string& name) {
        const auto pod = std::find_if(living_.begin(), living_.end(), [&](const auto& one) {
          return one.second.space == space && one.second.pod == name;
        });
        return pod == living_.end() || pod->second.given;
      };
      const bool first = !std::exchange(holders_known_, true);
      Holders holders = holdersOf(*held, inventory_.devices(), cluster_.resource, ours);
      if (tenants_.holdDevices(std::move(holders)) || first) healthChanged();
    });
  });
}

void KubeletDesk::noteIdle() {
  if (said_.empty()) return;
  kube::IdlePods before;
  if (idle_) {
    before = *idle_;
  } else if (const auto said = kube::decodeIdlePods(said_[kube::kIdleKey])) {
    before = *said;
  }
  std::vector<Resting> containers;
  for (const auto& [id, tenant] : tenants_.all()) {
    if (tenant->record.lodger.uid.empty()) continue;
    containers.push_back({tenant->record.lodger, tenants_.seesUse(*tenant),
                          tenant->use.idleMs(nowMs()), tenants_.stopMs(tenant->record)});
  }
  kube::IdlePods idle = idlePods(containers, std::time(nullptr), before, idle_deadlines_);
  if (idle_ && idle == *idle_) return;
  idle_ = std::move(idle);
  tell();
}

// Only our scheduler writes it: what cannot be read is none.
void KubeletDesk::noteDeadline(const kube::Pod& pod) {
  const auto said = pod.meta.annotations.find(kube::kIdleStateKey);
  const auto state = said == pod.meta.annotations.end()
                         ? Result<kube::IdleState>(Error{ErrorCode::kNotFound, "none"})
                         : kube::decodeIdleState(said->second);
  if (state) {
    idle_deadlines_.insert_or_assign(pod.meta.uid, state->deadline);
  } else {
    idle_deadlines_.erase(pod.meta.uid);
  }
}

}  // namespace divvy::agent
