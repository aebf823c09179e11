#include "quota/amounts.h"

#include <algorithm>
#include <string>
#include <variant>

#include "kube/assignment.h"
#include "kube/labels.h"
#include "requests/colocation.h"
#include "vendors/ask.h"

namespace divvy::scheduler {
namespace {

void add(const Amounts& more, Amounts* to) {
  for (const auto& [kind, amount] : more) {
    (*to)[kind].memory.count += amount.memory.count;
    (*to)[kind].milli += amount.milli;
  }
}

void raise(const Amounts& at_least, Amounts* to) {
  for (const auto& [kind, amount] : at_least) {
    Amount& most = (*to)[kind];
    most.memory = std::max(most.memory, amount.memory);
    most.milli = std::max(most.milli, amount.milli);
  }
}

Amounts askedBy(const kube::PodContainer& container, const kube::Pod& pod,
                const vendors::Catalog& catalog) {
  Amounts amounts;
  const auto asks =
      vendors::readRequests(catalog, container.limits, container.requests, pod.meta.annotations);
  if (!asks) return amounts;
  for (const vendors::KindRequest& ask : *asks) {
    Amount& amount = amounts[ask.kind];
    if (const Bytes* each = std::get_if<Bytes>(&ask.memory))
      amount.memory.count += each->count * ask.count;
    if (!requests::chargesNoCores(*ask.kind, pod.meta.annotations))
      amount.milli += std::int64_t{ask.compute_milli} * ask.count;
  }
  return amounts;
}

bool depends(const engine::DeviceRequest& ask) {
  return ask.count > 0 &&
         (ask.part.has_value() || std::holds_alternative<engine::Percent>(ask.memory));
}

bool depends(const std::vector<engine::Container>& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const engine::Container& one) {
    return depends(one.devices) || std::any_of(one.others.begin(), one.others.end(),
                                               [](const auto& ask) { return depends(ask); });
  });
}

// By UUID, from the pod's annotations.
std::map<std::string, const vendors::Kind*> kindsSaid(const kube::Pod& pod,
                                                      const vendors::Catalog& catalog) {
  std::map<std::string, const vendors::Kind*> kinds;
  for (const vendors::Kind* kind : catalog.kinds()) {
    const std::string* said = kube::valueOf(pod.meta.annotations, kind->wire.pod.allocated);
    if (said == nullptr) continue;
    const Result<kube::Assignment> assigned = kube::decodeAssignment(*said);
    if (!assigned) continue;
    for (const auto& container : *assigned)
      for (const kube::AssignedDevice& one : container) kinds.emplace(one.uuid, kind);
  }
  return kinds;
}

}  // namespace

Amounts leastAsked(const kube::Pod& pod, const vendors::Catalog& catalog) {
  Amounts there;
  Amounts most;
  for (const kube::PodContainer& one : pod.init) {
    const Amounts asked = askedBy(one, pod, catalog);
    Amounts then = there;
    add(asked, one.sidecar ? &there : &then);
    raise(one.sidecar ? there : then, &most);
  }
  for (const kube::PodContainer& one : pod.containers) add(askedBy(one, pod, catalog), &there);
  raise(there, &most);
  return most;
}

bool dependsOnDevice(const engine::Shape& shape) {
  return depends(shape.init) || depends(shape.containers);
}

Amounts heldAmounts(const engine::Placement& placement, const DeviceMetadataMap* devices,
                    const kube::Pod* pod, const vendors::Catalog& catalog) {
  Amounts amounts;
  std::map<std::string, const vendors::Kind*> said;
  for (const engine::Charge& charge : placement.charges) {
    const vendors::Kind* kind = nullptr;
    if (devices != nullptr) {
      const auto known = devices->find(charge.uuid.text);
      if (known != devices->end()) kind = known->second.kind;
    }
    if (kind == nullptr && pod != nullptr) {
      if (said.empty()) said = kindsSaid(*pod, catalog);
      const auto found = said.find(charge.uuid.text);
      if (found != said.end()) kind = found->second;
    }
    if (kind == nullptr) continue;
    amounts[kind].memory.count += charge.memory.count;
    amounts[kind].milli += charge.compute.milli;
  }
  return amounts;
}

}  // namespace divvy::scheduler
