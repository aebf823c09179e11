#include "simulator/defrag.h"

#include <algorithm>
#include <tuple>

#include "engine/engine.h"
#include "text/format.h"

namespace divvy::simulator {
namespace {

using namespace engine;

// None: it is of several containers with devices.
std::optional<TargetClass> classOf(const Shape& shape) {
  TargetClass expected;
  for (const Container& one : shape.containers) {
    expected.cpu = expected.cpu + one.cpu;
    if (!one.others.empty()) return std::nullopt;
    if (one.devices.count == 0) continue;
    if (expected.count != 0) return std::nullopt;
    expected.count = one.devices.count;
    expected.compute = one.devices.compute;
  }
  if (shape.selector.match == ModelMatch::kExact) expected.models = shape.selector.models;
  return expected;
}

Target targetOf(const snapshot::Snapshot& snapshot) {
  std::map<std::tuple<Cpu, Compute, std::uint32_t, std::vector<ModelName>>, std::uint32_t> seen;
  const auto note = [&](const Shape& shape) {
    const std::optional<TargetClass> one = classOf(shape);
    if (one && seen.size() < kMaxTargetClasses)
      ++seen[{one->cpu, one->compute, one->count, one->models}];
  };
  for (const snapshot::HeldAllocation& held : snapshot.allocations)
    if (held.shape) note(*held.shape);
  for (const snapshot::PendingRequest& pending : snapshot.pending) note(pending.request.shape);
  Target target;
  for (const auto& [one, weight] : seen)
    target.push_back(
        {std::get<0>(one), std::get<1>(one), std::get<2>(one), std::get<3>(one), weight});
  return target;
}

std::string listOf(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return "[" + text + "]";
}

std::string placeJson(const Placement& placement) {
  std::vector<std::string> devices;
  for (const Charge& charge : placement.charges) devices.push_back(quoted(charge.uuid.text));
  return "{\"node\": " + quoted(placement.node.text) + ", \"devices\": " + listOf(devices) + "}";
}

std::string devicesJson(const std::vector<DeviceAt>& devices) {
  std::vector<std::string> items;
  for (const DeviceAt& one : devices)
    items.push_back("{\"node\": " + quoted(one.node.text) + ", \"uuid\": " + quoted(one.uuid.text) +
                    "}");
  return listOf(items);
}

template <typename Name>
std::string namesJson(const std::vector<Name>& names) {
  std::vector<std::string> items;
  for (const Name& name : names) items.push_back(quoted(name.text));
  return listOf(items);
}

std::string usageJson(const Usage& usage) {
  return "{\"capacity_milli\": " + std::to_string(usage.capacity) +
         ", \"used_milli\": " + std::to_string(usage.used) +
         ", \"idle_milli\": " + std::to_string(usage.idle) +
         ", \"fragmented_milli\": " + number(usage.fragmented) + "}";
}

std::string_view wordOf(DefragmentationGoal goal) {
  if (goal == DefragmentationGoal::kDevices) return "devices";
  return goal == DefragmentationGoal::kNodes ? "nodes" : "fragmentation";
}

}  // namespace

Result<DefragPlan> planDefrag(const snapshot::Snapshot& snapshot, DefragmentationGoal goal,
                              std::size_t most_moves) {
  Engine engine(snapshot.config);
  if (const Result<void> known = engine.setTarget(targetOf(snapshot)); !known) return known.error();
  for (const Node& node : snapshot.nodes)
    if (const Result<void> known = engine.setNode(node); !known) return known.error();
  if (const auto pools = engine.setPools(snapshot.pools); !pools) return pools.error();
  DefragPlan result;
  result.goal = goal;
  DefragmentationOptions options;
  options.goal = goal;
  options.most_moves = most_moves;
  for (const snapshot::HeldAllocation& held : snapshot.allocations) {
    const RequestId& id = held.allocation.id;
    if (const Result<void> known = engine.adopt(held.allocation); !known) return known.error();
    if (!held.name.empty()) result.names[id] = held.name;
    if (held.allocation.expires) continue;
    const std::int64_t age = (snapshot.written_at.ms - held.since.ms) / 1000;
    options.of[id].shape = held.shape;
    options.of[id].user = held.user;
    options.of[id].work_lost = std::max<std::int64_t>(age, 0);
  }
  Result<DefragmentationPlan> plan = engine.defragment(options);
  if (!plan) return plan.error();
  result.plan = *std::move(plan);
  return result;
}

std::string devicesOf(const Placement& placement) {
  std::string text;
  for (const Charge& charge : placement.charges)
    text += (text.empty() ? "" : ", ") + charge.uuid.text;
  return text;
}

std::string json(const DefragPlan& result) {
  const DefragmentationPlan& plan = result.plan;
  std::string moves;
  for (const Move& move : plan.moves) {
    const auto name = result.names.find(move.id);
    moves += (moves.empty() ? "\n" : ",\n") + std::string("    {\"id\": ") + quoted(move.id.text) +
             ", \"name\": " + quoted(name == result.names.end() ? "" : name->second) +
             ", \"from\": " + placeJson(move.from) + ", \"to\": " + placeJson(move.to) + "}";
  }
  const std::string next = ",\n  ";
  return "{\n  \"goal\": " + quoted(wordOf(result.goal)) + next + "\"moves\": [" + moves +
         (moves.empty() ? "]" : "\n  ]") + next + "\"devices_freed\": " + devicesJson(plan.freed) +
         next + "\"devices_taken\": " + devicesJson(plan.taken) + next +
         "\"nodes_freed\": " + namesJson(plan.nodes_freed) + next +
         "\"nodes_taken\": " + namesJson(plan.nodes_taken) + next +
         "\"before\": " + usageJson(plan.before) + next + "\"after\": " + usageJson(plan.after) +
         next + "\"work_lost_s\": " + std::to_string(plan.work_lost) + next +
         "\"unknown\": " + namesJson(plan.unknown) + "\n}\n";
}

}  // namespace divvy::simulator
