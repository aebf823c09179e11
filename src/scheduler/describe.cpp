#include "describe.h"

#include <algorithm>

#include "asks/shape.h"
#include "dialect.h"
#include "kube/assignment.h"
#include "kube/registration.h"
#include "vendors/ask.h"

namespace divvy::scheduler {
namespace {

constexpr std::int32_t kMilliPerPercent = 10;

const std::string* find(const kube::Labels& labels, std::string_view key) {
  const auto found = labels.find(std::string(key));
  return found == labels.end() ? nullptr : &found->second;
}

engine::Device deviceOf(const kube::RegisteredDevice& from, std::string_view kind) {
  engine::Device device;
  device.uuid = engine::DeviceUuid(from.id);
  device.model = engine::ModelName(from.type);
  device.memory = mib(from.mebibytes);
  device.compute = {static_cast<std::int32_t>(from.cores) * kMilliPerPercent};
  device.slots = from.count;
  device.health = from.healthy ? engine::Health::kHealthy : engine::Health::kUnhealthy;
  device.numa = from.numa;
  device.kind = engine::DeviceKind(std::string(kind));
  if (from.mode == "mig") device.mode = engine::Mode::kMig;
  if (from.mode == "mps") device.mode = engine::Mode::kMps;
  return device;
}

// Placement of processors and memory is kube-scheduler's: it has filtered by them before it asks.
constexpr engine::Cpu kEnoughCpu{std::int64_t{1} << 40};
constexpr Bytes kEnoughMemory = gib(1u << 20);

}  // namespace

Result<DescribedNode> describe(const kube::Node& node) {
  DescribedNode described;
  described.node.name = engine::NodeName(node.meta.name);
  described.node.cpu = kEnoughCpu;
  described.node.memory = kEnoughMemory;
  described.node.cordoned = node.unschedulable;
  for (const auto& [key, value] : node.meta.labels) described.node.labels.push_back({key, value});
  for (const Dialect& dialect : kDialects) {
    const std::string* text = find(node.meta.annotations, dialect.registered);
    if (text == nullptr) continue;
    Result<std::vector<kube::RegisteredDevice>> devices = kube::decodeRegistration(*text);
    if (!devices)
      return std::move(devices).error().context("node " + node.meta.name + ", annotation " +
                                                std::string(dialect.registered));
    for (const kube::RegisteredDevice& one : *devices) {
      described.node.devices.push_back(deviceOf(one, dialect.kind));
      described.kinds.emplace(one.id, dialect.kind);
    }
  }
  return described;
}

bool asksForDevices(const kube::Pod& pod, const vendors::Catalog& catalog) {
  const auto asks = [&](const kube::PodContainer& container) {
    for (const kube::Quantities* amounts : {&container.limits, &container.requests})
      for (const auto& [name, amount] : *amounts)
        if (catalog.owner(name) != nullptr) return true;
    return false;
  };
  return std::any_of(pod.init.begin(), pod.init.end(), asks) ||
         std::any_of(pod.containers.begin(), pod.containers.end(), asks);
}

Result<std::optional<engine::Request>> requestOf(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog) {
  bool any = false;
  std::optional<Error> fault;
  const auto read = [&](const std::vector<kube::PodContainer>& containers) {
    std::vector<asks::ContainerAsks> result;
    for (const kube::PodContainer& one : containers) {
      Result<std::vector<vendors::Ask>> asked =
          vendors::readAsks(catalog, one.limits, one.requests, pod.meta.annotations);
      if (!asked) {
        if (!fault) fault = std::move(asked).error().context("container " + one.name);
        return result;
      }
      any = any || !asked->empty();
      if (one.sidecar && !asked->empty() && !fault)
        fault = Error{ErrorCode::kUnsupported,
                      "container " + one.name +
                          " is a sidecar (an init container that goes on): devices of such are not "
                          "supported yet; accepted: the same as an ordinary container"};
      result.push_back({{}, {}, std::move(*asked)});
    }
    return result;
  };
  const std::vector<asks::ContainerAsks> init = read(pod.init);
  const std::vector<asks::ContainerAsks> containers = read(pod.containers);
  if (fault) return *fault;
  if (!any) return std::optional<engine::Request>();
  return std::optional(engine::Request{engine::RequestId(pod.meta.uid),
                                       asks::shapeOf(init, containers, pod.meta.annotations)});
}

namespace {

void add(std::vector<engine::Charge>* charges, const engine::Charge& one, bool together) {
  const auto found = std::find_if(charges->begin(), charges->end(),
                                  [&](const engine::Charge& old) { return old.uuid == one.uuid; });
  if (found == charges->end()) {
    charges->push_back(one);
    return;
  }
  const auto join = [&](auto a, auto b) { return together ? a + b : std::max(a, b); };
  found->memory = Bytes{join(found->memory.count, one.memory.count)};
  found->compute = {join(found->compute.milli, one.compute.milli)};
  found->slots = join(found->slots, one.slots);
}

engine::Share shareOf(const kube::AssignedDevice& device) {
  engine::Share share;
  share.uuid = engine::DeviceUuid(device.uuid);
  share.memory = mib(device.mebibytes);
  share.compute = {static_cast<std::int32_t>(device.cores) * kMilliPerPercent};
  return share;
}

// Init containers one at a time, the others together: the most at any time.
std::vector<engine::Charge> chargesOf(const std::vector<std::vector<engine::Share>>& containers,
                                      std::size_t init) {
  std::vector<engine::Charge> together;
  std::vector<engine::Charge> most;
  for (std::size_t at = 0; at < containers.size(); ++at) {
    std::vector<engine::Charge> own;
    for (const engine::Share& share : containers[at])
      add(&own, {share.uuid, share.memory, share.compute, 1}, true);
    for (const engine::Charge& one : own) add(at < init ? &most : &together, one, at >= init);
  }
  for (const engine::Charge& one : together) add(&most, one, false);
  return most;
}

}  // namespace

Result<std::optional<engine::Allocation>> heldBy(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog) {
  // Ours ride on the binding: before it, whatever is written there is not from us.
  if (pod.ended() || pod.node.empty() || !asksForDevices(pod, catalog))
    return std::optional<engine::Allocation>();
  engine::Allocation held;
  held.id = engine::RequestId(pod.meta.uid);
  held.placement.node = engine::NodeName(pod.node);
  bool any = false;
  for (const Dialect& dialect : kDialects) {
    const std::string* text = find(pod.meta.annotations, dialect.allocated);
    if (text == nullptr) continue;
    Result<kube::Assignment> assigned = kube::decodeAssignment(*text);
    if (!assigned)
      return std::move(assigned).error().context("pod " + pod.meta.space + '/' + pod.meta.name +
                                                 ", annotation " + std::string(dialect.allocated));
    held.placement.containers.resize(std::max(held.placement.containers.size(), assigned->size()));
    for (std::size_t at = 0; at < assigned->size(); ++at) {
      for (const kube::AssignedDevice& device : (*assigned)[at]) {
        held.placement.containers[at].push_back(shareOf(device));
        any = true;
      }
    }
  }
  if (!any) return std::optional<engine::Allocation>();
  held.placement.charges = chargesOf(held.placement.containers, pod.init.size());
  return std::optional(std::move(held));
}

kube::Labels annotationsOf(const engine::Placement& placement, const Kinds& kinds,
                           std::int64_t seconds) {
  kube::Labels out;
  const std::string now = std::to_string(seconds);
  for (const Dialect& dialect : kDialects) {
    kube::Assignment assignment(placement.containers.size());
    bool any = false;
    for (std::size_t at = 0; at < placement.containers.size(); ++at) {
      for (const engine::Share& share : placement.containers[at]) {
        const auto kind = kinds.find(share.uuid.text);
        if (kind == kinds.end() || kind->second != dialect.kind) continue;
        any = true;
        assignment[at].push_back(
            {share.uuid.text, kind->second, share.memory.count / mib(1).count,
             static_cast<std::uint32_t>(share.compute.milli / kMilliPerPercent)});
      }
    }
    if (!any) continue;
    out.emplace(dialect.to_allocate, kube::encode(assignment));
    out.emplace(dialect.allocated, kube::encode(assignment));
  }
  out.emplace(kAssignedNode, placement.node.text);
  out.emplace(kAssignedTime, now);
  out.emplace(kBindPhase, "allocating");
  out.emplace(kBindTime, now);
  return out;
}

}  // namespace divvy::scheduler
