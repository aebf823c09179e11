#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cache/what_if.h"
#include "codec/pod_request.h"

namespace divvy::scheduler {
namespace {

// Takes allocations out of the engine while it lives.
class Suspended {
 public:
  explicit Suspended(engine::Engine& engine) : engine_(engine) {}
  ~Suspended() {
    for (const engine::Allocation& one : taken_) {
      const Result<void> again = engine_.adopt(one);
      (void)again;  // it was there before
    }
  }
  Suspended(const Suspended&) = delete;
  Suspended& operator=(const Suspended&) = delete;

  void take(const std::string& uid) {
    const engine::RequestId id(uid);
    const engine::Allocation* held = engine_.find(id);
    if (held == nullptr) return;
    taken_.push_back(*held);
    engine_.release(id);
  }

 private:
  engine::Engine& engine_;
  std::vector<engine::Allocation> taken_;
};

}  // namespace

Result<std::optional<EvictionPlan>> WhatIf::planEvictions(std::span<const kube::Pod> pods,
                                                          const std::vector<std::string>& gone,
                                                          const engine::EvictionCosts& costs) {
  engine::Engine& engine = state_.engine;
  Suspended suspended(engine);
  engine::Gang gang;
  for (const kube::Pod& pod : pods) {
    const std::string& uid = pod.meta.uid;
    Result<std::optional<engine::Request>> request =
        requestOf(pod, state_.catalog, state_.config.devices);
    if (request && !*request) request = Error{ErrorCode::kUsage, "it requests no devices"};
    if (!request)
      return Error{ErrorCode::kUsage, "pod " + pod.meta.name + ": " + request.error().message()};
    const PodState state = state_.pods.stateOf(uid);
    if (state == PodState::kNominated) suspended.take(uid);
    if (state != PodState::kPending && state != PodState::kNominated)
      return Error{ErrorCode::kUnavailable, "pod " + pod.meta.name + " is placed"};
    gang.members.push_back(std::move(**request));
  }
  for (const std::string& uid : gone) suspended.take(uid);
  EvictionPlan found;
  Result<engine::GangPlacement> placed = engine.placeGang(gang, engine::Instant{0});
  if (!placed && placed.error().code() != ErrorCode::kNoRoom) return placed.error();
  if (!placed) {
    const auto ends = engine.preemptGang(gang, std::numeric_limits<std::int64_t>::max(), costs);
    if (!ends) return ends.error();
    if (!*ends || (*ends)->cost.violations > 0) return std::optional<EvictionPlan>();
    for (const engine::RequestId& id : (*ends)->victims) found.victims.push_back(id.text);
    for (const std::string& uid : found.victims) suspended.take(uid);
    placed = engine.placeGang(gang, engine::Instant{0});
    if (!placed) return std::optional<EvictionPlan>();
  }
  std::vector<std::string> ending = gone;
  ending.insert(ending.end(), found.victims.begin(), found.victims.end());
  if (beyondQuota(gang, placed->members, ending)) {
    for (const engine::Allocation& one : placed->members) engine.release(one.id);
    return std::optional<EvictionPlan>();
  }
  std::map<std::string, ModelUsage> by_model;
  for (const engine::Allocation& one : placed->members) {
    for (const ModelUsage& use : state_.nodes.usageOf(one.placement)) {
      ModelUsage& sum = by_model.try_emplace(use.model, ModelUsage{use.model}).first->second;
      sum.milli += use.milli;
      sum.mebibytes += use.mebibytes;
    }
    found.places.push_back(one.placement);
    engine.release(one.id);
  }
  for (const auto& [model, use] : by_model) found.use.push_back(use);
  return std::optional(std::move(found));
}

// True if quotas refuse the gang even after the pods in `ending` (UIDs) are gone. Then no eviction
// helps.
bool WhatIf::beyondQuota(const engine::Gang& gang, const std::vector<engine::Allocation>& given,
                         const std::vector<std::string>& ending) const {
  const bool limited = std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& one) {
    return state_.quotas.limits(one.user.text);
  });
  if (!limited) return false;
  ResourceQuotaTracker supposed = state_.quotas;
  for (const std::string& uid : ending) supposed.give(uid);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const engine::Request& member = gang.members[i];
    Amounts amounts = state_.amountsOf(given[i].placement, nullptr);
    if (supposed.refusal(member.user.text, member.id.text, amounts)) return true;
    supposed.take(member.id.text, member.user.text, std::move(amounts));
  }
  return false;
}

}  // namespace divvy::scheduler
