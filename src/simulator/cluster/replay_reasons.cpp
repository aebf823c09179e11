#include "cluster/replay_reasons.h"

#include <algorithm>
#include <array>
#include <vector>

namespace divvy::simulator {
namespace {

constexpr std::size_t kMaxNodes = 3;   // whose reasons are told
constexpr std::size_t kMaxAsked = 64;  // nodes that are asked what would help

using Devices = std::vector<std::pair<std::size_t, engine::DeviceUuid>>;  // with their container

Devices devicesOf(const engine::Placement& placement) {
  Devices all;
  for (std::size_t c = 0; c < placement.containers.size(); ++c)
    for (const engine::Share& share : placement.containers[c]) all.emplace_back(c, share.uuid);
  return all;
}

// Of `a`, those that `b` has not.
Devices without(const Devices& a, const Devices& b) {
  Devices left;
  for (const auto& one : a)
    if (std::find(b.begin(), b.end(), one) == b.end()) left.push_back(one);
  return left;
}

// "6 GiB and 30% of compute taken"
std::string takenOf(const engine::Engine& engine, const engine::DeviceUuid& uuid) {
  Bytes memory;
  std::int64_t compute = 0;
  for (const engine::Allocation& one : engine.allocations()) {
    for (const engine::Charge& charge : one.placement.charges) {
      if (charge.uuid != uuid) continue;
      memory = memory + charge.memory;
      compute += charge.compute.milli;
    }
  }
  return formatBytes(memory) + " and " + std::to_string(compute / 10) + "% of compute taken";
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : "; ") + one;
  return text;
}

std::string nodeWords(const engine::NodeRefusal& refusal) {
  std::vector<std::string> devices;
  for (const engine::DeviceRefusal& one : refusal.devices)
    devices.push_back(one.uuid.text + ": " + engine::text(one));
  return refusal.node.text + ": " + engine::text(refusal) +
         (devices.empty() ? "" : " (" + joined(devices) + ")");
}

// Why that node will not do now; empty: it would.
std::string refusedOn(const engine::Engine& engine, const engine::Request& request,
                      const engine::NodeName& node) {
  const std::array<engine::NodeName, 1> only{node};
  const auto there = engine.decideAmong(request, only);
  if (!there) return "node " + node.text + " is not there";
  if (there->fits()) return "";
  const auto all = engine.explain(request);
  if (!all) return all.error().message();
  for (const engine::NodeRefusal& one : all->refusals)
    if (one.node == node) return nodeWords(one);
  return node.text + " will not do";
}

std::string refusedDevices(const engine::Engine& engine, const engine::Request& request,
                           const engine::NodeName& node, const Devices& devices) {
  std::vector<std::string> reasons;
  for (const auto& [container, uuid] : devices) {
    const auto refused = engine.refusedDevices(request, node, container);
    if (!refused) return refused.error().message();
    for (const engine::DeviceRefusal& one : *refused)
      if (one.uuid == uuid) reasons.push_back(uuid.text + ": " + engine::text(one));
  }
  return joined(reasons);
}

engine::DevicePolicy policyOf(const engine::Config& config, const engine::Request& request) {
  return request.shape.devices.value_or(config.devices);
}

// All would do: what is better about those that were chosen.
std::string preferred(const engine::Engine& engine, const engine::Config& config,
                      const engine::Request& request, const engine::Placement& was,
                      const engine::Placement& now) {
  const std::string policy(engine::nameOf(request.shape.policy.value_or(config.policy)));
  if (was.node != now.node) {
    const std::array<engine::NodeName, 1> only{was.node};
    const auto there = engine.decideAmong(request, only);
    const std::uint32_t old = there && there->fits() ? there->placement->score : 0;
    if (old == now.score) {
      return was.node.text + " would do too, and is as good by policy " + policy + " (score " +
             std::to_string(old) + "): " + now.node.text + " is tried before it";
    }
    return was.node.text + " would do too: policy " + policy + " gives it " + std::to_string(old) +
           " of 100, and " + now.node.text + " " + std::to_string(now.score);
  }
  const Devices before = without(devicesOf(was), devicesOf(now));
  const Devices after = without(devicesOf(now), devicesOf(was));
  std::vector<std::string> old, chosen;
  for (const auto& [container, uuid] : before)
    old.push_back(uuid.text + " has " + takenOf(engine, uuid));
  for (const auto& [container, uuid] : after)
    chosen.push_back(uuid.text + " has " + takenOf(engine, uuid));
  if (old.empty()) return "other parts of the same devices";
  return joined(old) + "; " + joined(chosen) + ": policy " + policy + ", devices " +
         engine::text(policyOf(config, request));
}

}  // namespace

std::string placeWords(const std::optional<engine::Placement>& placement) {
  if (!placement) return "nowhere";
  std::string devices;
  for (const std::vector<engine::Share>& container : placement->containers) {
    for (const engine::Share& share : container) {
      devices += (devices.empty() ? ": " : ", ") + share.uuid.text;
      if (!share.part.empty())
        devices += " (" + share.part.text + " at " + std::to_string(share.start) + ")";
    }
  }
  return placement->node.text + devices;
}

bool samePlace(const std::optional<engine::Placement>& a,
               const std::optional<engine::Placement>& b) {
  if (!a || !b) return !a && !b;
  const auto same = [](const engine::Share& one, const engine::Share& other) {
    return one.uuid == other.uuid && one.part == other.part && one.start == other.start;
  };
  return a->node == b->node &&
         std::equal(a->containers.begin(), a->containers.end(), b->containers.begin(),
                    b->containers.end(), [&](const auto& one, const auto& other) {
                      return std::equal(one.begin(), one.end(), other.begin(), other.end(), same);
                    });
}

std::string whyElsewhere(const engine::Engine& engine, const engine::Config& config,
                         const engine::Request& request,
                         const std::optional<engine::Placement>& was,
                         const std::optional<engine::Placement>& now, const std::string& reason) {
  if (!was) return "it fits; the old answer was: " + (reason.empty() ? "nothing" : reason);
  const std::string node = refusedOn(engine, request, was->node);
  if (!node.empty()) return node;
  if (!now) return "it fits nowhere";
  const std::string devices = refusedDevices(engine, request, was->node, devicesOf(*was));
  return devices.empty() ? preferred(engine, config, request, *was, *now) : devices;
}

std::string whyNowhere(const engine::Engine& engine, const engine::Request& request) {
  const auto all = engine.explain(request);
  if (!all) return all.error().message();
  std::vector<std::string> reasons;
  for (const engine::NodeRefusal& one : all->refusals) {
    if (reasons.size() == kMaxNodes) break;
    reasons.push_back(nodeWords(one));
  }
  if (all->refusals.size() > kMaxNodes)
    reasons.push_back(std::to_string(all->refusals.size() - kMaxNodes) + " more nodes");
  return reasons.empty() ? "no node" : joined(reasons);
}

std::vector<std::string> changesFor(const engine::Engine& engine, const engine::Request& request) {
  std::vector<std::string> changes;
  std::size_t asked = 0;
  for (const engine::NodeName& node : engine.nodes()) {
    if (!changes.empty() || asked++ == kMaxAsked) break;
    const auto remedies = engine.remedies(request, node);
    if (!remedies) break;
    for (const engine::Remedy& one : *remedies) changes.push_back(engine::text(one));
  }
  return changes;
}

}  // namespace divvy::simulator
