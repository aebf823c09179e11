// Places that are decided before kube-scheduler asks: pods of queues and gangs.
#include "annotations/assignment.h"
#include "cache/cache_impl.h"

namespace divvy::scheduler {
namespace {

// Nothing of such models, whatever else is asked for.
void leaveOut(const std::vector<std::string>& models, engine::Shape* shape) {
  for (const std::string& model : models) {
    shape->selector.not_models.emplace_back(model);
    for (engine::KindSelector& one : shape->by_kind) one.selector.not_models.emplace_back(model);
  }
}

void leaveOut(const engine::Node& node, engine::Shape* shape) {
  for (const engine::Device& device : node.devices) {
    shape->selector.not_uuids.push_back(device.uuid);
    for (engine::KindSelector& one : shape->by_kind) one.selector.not_uuids.push_back(device.uuid);
  }
}

std::vector<ModelUsage> listOf(const std::map<std::string, ModelUsage>& by_model) {
  std::vector<ModelUsage> list;
  list.reserve(by_model.size());
  for (const auto& [model, use] : by_model) list.push_back(use);
  return list;
}

void add(const std::string& model, std::int64_t milli, Bytes memory,
         std::map<std::string, ModelUsage>* to) {
  ModelUsage& use = to->try_emplace(model, ModelUsage{model}).first->second;
  use.milli += milli;
  use.mebibytes += static_cast<std::int64_t>(memory.count / mib(1).count);
}

}  // namespace

Result<std::vector<Reservation>> SchedulerCache::Impl::plan(std::span<const kube::Pod> pods,
                                                            const std::vector<std::string>& without,
                                                            const std::vector<std::string>& not_on,
                                                            engine::Instant expires) {
  engine::Gang gang;
  for (const kube::Pod& pod : pods) {
    Result<std::optional<engine::Request>> request = begin(pod);
    if (request && !*request) request = Error{ErrorCode::kUsage, "it asks for no devices"};
    if (!request) return Error(request.error()).context("pod " + pod.meta.name);
    leaveOut(without, &(*request)->shape);
    for (const std::string& node : not_on)
      if (const auto known = nodes.find(node); known != nodes.end())
        leaveOut(known->second.node, &(*request)->shape);
    gang.members.push_back(std::move(**request));
  }
  std::vector<engine::Allocation> given;
  if (gang.members.size() == 1) {
    const engine::Request& only = gang.members[0];
    const Result<QuotaDecision> decided = afford(only, nullptr);
    if (!decided) return decided.error();
    if (!decided->placement)
      return Error{ErrorCode::kNoRoom, decided->beyond.empty()
                                           ? "there is no room for it on any node now"
                                           : decided->beyond};
    const Result<void> reserved = reserve(only, *decided->placement, expires);
    if (!reserved) return reserved.error();
    given.push_back(*engine.find(only.id));
  } else {
    Result<engine::GangPlacement> placed = engine.placeGang(gang, expires);
    if (!placed) return placed.error();
    given = std::move(placed->members);
    const auto beyond = countAll(gang, given);
    for (std::size_t i = 0; beyond && i < pods.size(); ++i) release(pods[i].meta.uid);
    if (beyond) return Error{ErrorCode::kNoRoom, *beyond};
  }
  std::vector<Reservation> all;
  for (const engine::Allocation& one : given) {
    const std::string& node = one.placement.node.text;
    on[node].insert(one.id.text);
    waiting.leave(one.id.text);
    all.push_back({node, annotationsOf(one.placement, nodes.at(node).devices,
                                       guests.at(one.id.text).containers, 0)});
  }
  return all;
}

Result<std::vector<Reservation>> SchedulerCache::plan(std::span<const kube::Pod> pods,
                                                      const std::vector<std::string>& without,
                                                      const std::vector<std::string>& not_on,
                                                      engine::Instant expires) {
  Result<std::vector<Reservation>> planned = impl_->plan(pods, without, not_on, expires);
  for (const kube::Pod& pod : pods)
    if (!planned) impl_->reclaim(pod.meta.uid);
  return planned;
}

Result<void> SchedulerCache::restoreReservation(const kube::Pod& pod, const Reservation& was,
                                                engine::Instant expires) {
  Result<std::optional<engine::Request>> request = impl_->begin(pod);
  if (!request) return request.error();
  if (!*request) return Error{ErrorCode::kUsage, "it asks for no devices"};
  kube::Pod as_bound = pod;
  as_bound.node = was.node;
  for (const auto& [key, value] : was.annotations)
    as_bound.meta.annotations.insert_or_assign(key, value);
  const Result<std::optional<engine::Allocation>> held =
      heldBy(as_bound, impl_->catalog, impl_->devicesOf(was.node));
  if (!held) return held.error();
  if (!*held || !impl_->nodes.contains(was.node))
    return Error{ErrorCode::kNoRoom, "node " + was.node + " is not known"};
  return impl_->reserve(**request, (*held)->placement, expires);
}

void SchedulerCache::unreserve(const std::string& uid) {
  const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
  if (held == nullptr || !held->expires || impl_->claimOnly(uid)) return;
  impl_->release(uid);
  impl_->reclaim(uid);
}

std::optional<std::string> SchedulerCache::nodeOf(const std::string& uid) const {
  const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
  if (held == nullptr || impl_->claimOnly(uid)) return std::nullopt;
  return held->placement.node.text;
}

std::vector<ModelUsage> SchedulerCache::useOf(const std::string& uid) const {
  const engine::Allocation* held = impl_->engine.find(engine::RequestId(uid));
  return held == nullptr ? std::vector<ModelUsage>() : impl_->useOf(held->placement);
}

std::vector<ModelUsage> SchedulerCache::Impl::useOf(const engine::Placement& placement) const {
  std::map<std::string, ModelUsage> by_model;
  const auto node = nodes.find(placement.node.text);
  for (const engine::Charge& charge : placement.charges) {
    std::string model;
    if (node != nodes.end())
      for (const engine::Device& device : node->second.node.devices)
        if (device.uuid == charge.uuid) model = device.model.text;
    add(model, charge.compute.milli, charge.memory, &by_model);
  }
  return listOf(by_model);
}

std::vector<ModelUsage> SchedulerCache::capacity() const {
  std::map<std::string, ModelUsage> by_model;
  for (const auto& [name, node] : impl_->nodes)
    for (const engine::Device& device : node.node.devices)
      add(device.model.text, device.compute.milli, device.memory, &by_model);
  return listOf(by_model);
}

}  // namespace divvy::scheduler
