#include "cluster/replay_stats.h"

#include <algorithm>

namespace divvy::simulator {
namespace {

constexpr std::size_t kMaxShapes = 64;          // the most frequent
constexpr std::size_t kMaxQuestions = 200'000;  // of a node about a shape

using Uses = std::map<std::pair<engine::NodeName, engine::DeviceUuid>, Bytes>;

Uses usesOf(const engine::Engine& engine) {
  Uses uses;
  for (const engine::Allocation& one : engine.allocations()) {
    for (const engine::Charge& charge : one.placement.charges) {
      Bytes& used = uses[{one.placement.node, charge.uuid}];
      used = used + charge.memory;
    }
  }
  return uses;
}

// Free memory of each of its devices.
std::map<engine::DeviceUuid, Bytes> freeOn(const engine::Node& node, const Uses& uses) {
  std::map<engine::DeviceUuid, Bytes> free;
  for (const engine::Device& device : node.devices) {
    const auto used = uses.find({node.name, device.uuid});
    free[device.uuid] =
        device.memory - device.terms.foreign - (used == uses.end() ? Bytes{} : used->second);
  }
  return free;
}

std::vector<std::pair<ExpectedRequest, std::uint32_t>> mostFrequent(const Expected& expected) {
  std::vector<std::pair<ExpectedRequest, std::uint32_t>> all(expected.begin(), expected.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (all.size() > kMaxShapes) all.resize(kMaxShapes);
  return all;
}

// Of the free memory of the node, what that shape's first container cannot have.
double refusedOn(const engine::Engine& engine, const engine::Node& node, const ExpectedRequest& ask,
                 std::map<engine::DeviceUuid, Bytes>& free) {
  double bytes = 0;
  const auto refused = engine.refusedDevices({engine::RequestId("expected"), ask.shape, ask.user},
                                             node.name, ask.shape.init.size());
  if (!refused) return bytes;
  for (const engine::DeviceRefusal& one : *refused)
    bytes += static_cast<double>(free[one.uuid].count);
  return bytes;
}

}  // namespace

Expected expectedOf(const snapshot::Snapshot& snapshot) {
  Expected expected;
  for (const snapshot::HeldAllocation& held : snapshot.allocations)
    if (held.shape) ++expected[{*held.shape, held.user}];
  for (const snapshot::PendingRequest& one : snapshot.pending)
    ++expected[{one.request.shape, one.request.user}];
  return expected;
}

engine::Target targetOf(const Expected& expected) {
  engine::Target target;
  for (const auto& [ask, weight] : mostFrequent(expected)) {
    const engine::Shape& shape = ask.shape;
    engine::TargetClass one;
    one.weight = weight;
    for (const engine::Container& container : shape.containers) {
      one.cpu = one.cpu + container.cpu;
      one.count += container.devices.count;
      one.compute = std::max(one.compute, container.devices.compute);
    }
    one.count = std::min<std::uint32_t>(one.count, engine::kMaxDevicesPerNode);
    if (shape.selector.match == engine::ModelMatch::kExact) one.models = shape.selector.models;
    target.push_back(one);
  }
  return target;
}

CapacityStats figuresOf(const engine::Engine& engine, const std::vector<engine::Node>& nodes,
                        const Expected& expected) {
  CapacityStats figures;
  const engine::Usage usage = engine.usage();
  figures.compute_milli = usage.capacity;
  figures.used_milli = usage.used;
  figures.idle_milli = usage.idle;
  figures.fragmented_milli = usage.fragmented;
  const Uses uses = usesOf(engine);
  figures.devices_in_use = uses.size();
  const auto shapes = mostFrequent(expected);
  const std::size_t most =
      std::max<std::size_t>(kMaxQuestions / std::max<std::size_t>(nodes.size(), 1), 1);
  double weight = 0;
  double refused = 0;
  for (std::size_t i = 0; i < std::min(shapes.size(), most); ++i) weight += shapes[i].second;
  for (const engine::Node& node : nodes) {
    std::map<engine::DeviceUuid, Bytes> free = freeOn(node, uses);
    for (const engine::Device& device : node.devices) {
      figures.memory_bytes += device.memory.count;
      figures.idle_bytes += free[device.uuid].count;
      const auto used = uses.find({node.name, device.uuid});
      if (used != uses.end()) figures.used_bytes += used->second.count;
    }
    for (std::size_t i = 0; i < std::min(shapes.size(), most); ++i)
      refused += shapes[i].second * refusedOn(engine, node, shapes[i].first, free);
  }
  if (weight > 0) figures.fragmented_bytes = refused / weight;
  return figures;
}

}  // namespace divvy::simulator
