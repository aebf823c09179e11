#include "score/policies.h"

#include <algorithm>

#include "engine/policy.h"
#include "fit/block_topology.h"
#include "fit/group_rules.h"
#include "fit/node_score.h"

namespace divvy::engine {
namespace {

// Published scores are relative to a node of 128 cores and 8 devices.
constexpr std::int64_t kSpecCpu = 128'000;
constexpr std::int64_t kSpecCompute = 8'000;
constexpr std::int64_t kComputeInCpu = kSpecCpu / kSpecCompute;
// Policy::kDivvy's key: the score, then how full the node is.
constexpr unsigned kTieBits = 3;
constexpr std::int64_t kTieParts = 1 << kTieBits;
static_assert(Key{101} << kTieBits < Key{1} << kMetShift);

constexpr std::array<std::string_view, kPolicies.size()> kNames{
    "random", "dotprod", "clustering", "packing", "bestfit",
    "fgd",    "divvy",   "binpack",    "spread",  "weighted"};

Share shareOf(const Device& device, PartPick way) {
  const DevicePart& part = device.parting->parts[way.part];
  return {device.uuid, part.memory, part.compute, part.memory, part.name, way.start, part.size};
}

// In units of 1/256,000 of a node: half for the processors, half for the devices.
std::int64_t leftOver(std::int64_t cpu, std::int64_t compute) {
  return cpu + compute * kComputeInCpu;
}

}  // namespace

std::string_view nameOf(Policy policy) {
  return kNames[static_cast<std::size_t>(policy)];
}

Result<Policy> parsePolicy(std::string_view name) {
  std::string accepted;
  for (const Policy policy : kPolicies) {
    if (nameOf(policy) == name) return policy;
    accepted += (accepted.empty() ? "" : ", ") + std::string(nameOf(policy));
  }
  return Error{ErrorCode::kUsage, "policy \"" + std::string(name) + "\"; accepted: " + accepted};
}

std::uint32_t Scorer::scoreOf(const ShapeClass& shape, Key key) {
  const bool merits = !byHami(shape) && !shape.byDay();
  key = withoutPeak(shape, key & ((Key{1} << (merits ? kMeritShift : kMetShift)) - 1));
  if (shape.policy() >= Policy::kBinpack) return usedScore(shape, key);
  return (shape.policy() == Policy::kDivvy ? key >> kTieBits : key) - 1;
}

std::uint32_t Scorer::dotProduct(const ShapeClass& shape, Slot slot) const {
  constexpr std::int64_t kScale = 2 * kSpecCpu * kSpecCpu;
  const std::int64_t product =
      state_.node.cpu_free[slot] * shape.cpu() +
      kComputeInCpu * kComputeInCpu * state_.node.compute_free[slot] * shape.compute();
  return product >= kScale
             ? 0
             : static_cast<std::uint32_t>(100 * static_cast<__int128>(kScale - product) / kScale);
}

std::uint32_t Scorer::bestFit(const ShapeClass& shape, Slot slot) const {
  const std::int64_t left = leftOver(state_.node.cpu_free[slot] - shape.cpu(),
                                     state_.node.compute_free[slot] - shape.compute());
  return static_cast<std::uint32_t>(100 * std::max<std::int64_t>(2 * kSpecCpu - left, 0) /
                                    (2 * kSpecCpu));
}

std::uint32_t Scorer::clustering(const ShapeClass& shape, Slot slot) const {
  if (shape.kind() == 0) return 0;
  const auto& kinds = state_.node.kinds[slot];
  const auto different =
      std::count_if(kinds.begin() + 1, kinds.end(), [](std::uint16_t n) { return n > 0; });
  std::uint32_t band = 0;
  if (kinds[shape.kind()] > 0) {
    band = different == 1 ? 75 : 50;
  } else if (different == 0) {
    band = 25;
  }
  const std::int64_t used =
      std::max<std::int64_t>(kSpecCompute - state_.node.compute_free[slot], 0);
  return band + static_cast<std::uint32_t>(25 * used / kSpecCompute);
}

std::uint32_t Scorer::packing(Slot slot, const std::uint8_t* devices, std::size_t count) const {
  if (count == 0) return 0;
  const std::uint32_t first = state_.node.first[slot];
  const auto idle = [&](std::size_t i) {
    return state_.device.tenants[first + i] == 0 && state_.device.closed[first + i] == kOpen;
  };
  std::uint32_t all_idle = 0;
  for (std::size_t i = 0; i < state_.node.devices[slot]; ++i) all_idle += idle(i) ? 1 : 0;
  if (all_idle == state_.node.devices[slot]) {
    return all_idle < 33 ? std::max(33 - all_idle, all_idle) : 33;
  }
  std::uint32_t opened = 0;
  std::int64_t free_percent = 0;
  for (std::size_t k = 0; k < count; ++k) {
    opened += idle(devices[k]) ? 1 : 0;
    free_percent += std::int64_t{state_.device.compute_free[first + devices[k]]} * 100 / 1000;
  }
  if (opened > 0) return opened < 17 ? 50 - opened : 33;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(100 - free_percent / 10, 50));
}

Key Scorer::fragmentKey(const ShapeClass& shape, Slot slot, const std::int32_t* after) const {
  const std::size_t count = state_.node.devices[slot];
  const std::int64_t cpu = state_.node.cpu_free[slot] - shape.cpu();
  const std::int64_t fragment =
      fragments_.weighted({cpu, after, count}, state_.node.model[slot],
                          state_.device.model.data() + state_.node.first[slot]);
  const Key score = 1 + fragments_.score(state_.node.fragment[slot], fragment);
  if (shape.policy() != Policy::kDivvy) return score;
  return score << kTieBits | fullness(shape, slot);
}

// In eighths of a node, processors and devices alike. That is coarse, so among nodes about as full
// the first one wins, which keeps other nodes empty. If some requests name models, those that name
// none only prefer nodes in use. The fullest nodes often have the devices that the others need.
Key Scorer::fullness(const ShapeClass& shape, Slot slot) const {
  const std::int64_t cpu = state_.node.cpu[slot];
  const std::int64_t compute = kWholeDevice.milli * std::int64_t{state_.node.devices[slot]};
  const std::int64_t cpu_used = cpu - state_.node.cpu_free[slot];
  const std::int64_t used = std::max<std::int64_t>(compute - state_.node.compute_free[slot], 0);
  if (fragments_.namesModels() && shape.shape().selector.models.empty())
    return cpu_used > 0 || used > 0 ? 1 : 0;
  const auto permille = [](std::int64_t part, std::int64_t of) {
    return of == 0 ? 0 : 1000 * part / of;
  };
  const std::int64_t parts =
      (permille(cpu_used, cpu) + permille(used, compute)) / 2 * kTieParts / 1001;
  return static_cast<Key>(std::clamp<std::int64_t>(parts, 0, kTieParts - 1));
}

Key Scorer::keyAfter(const ShapeClass& shape, Slot slot, const Get& get) const {
  switch (shape.policy()) {
    case Policy::kRandom:
      return 1;
    case Policy::kDotProduct:
      return 1 + dotProduct(shape, slot);
    case Policy::kClustering:
      return 1 + clustering(shape, slot);
    case Policy::kPacking:
      return 1 + packing(slot, get.devices.data(), get.count);
    case Policy::kBestFit:
      return 1 + bestFit(shape, slot);
    case Policy::kBinpack:
    case Policy::kSpread:
    case Policy::kWeighted:
      return 1 + usedKey(shape, slot, get);
    case Policy::kFgd:
    case Policy::kDivvy:
      break;
  }
  std::array<std::int32_t, kMaxDevicesPerNode> after;
  const std::int32_t* free = state_.device.compute_free.data() + state_.node.first[slot];
  std::copy_n(free, state_.node.devices[slot], after.begin());
  // A weight can be overbooked.
  for (std::size_t k = 0; k < get.count; ++k)
    after[get.devices[k]] = std::max(after[get.devices[k]] - get.compute[k], 0);
  return fragmentKey(shape, slot, after.data());
}

// One device of each different sort; among equals the first (kFgd) or the tightest.
Choice Scorer::fgdPart(const ShapeClass& shape, Slot slot, const Candidates& candidates) const {
  const std::int32_t compute = shape.containers().front().compute;
  const std::int32_t* free = state_.device.compute_free.data() + state_.node.first[slot];
  std::array<std::int32_t, kMaxDevicesPerNode> after;
  std::copy_n(free, state_.node.devices[slot], after.begin());
  Choice best;
  best.picked.count = 1;
  std::int32_t last = -1;
  for (std::size_t k = 0; k < candidates.count; ++k) {
    const std::uint8_t i = candidates.at[k];
    const bool mixed = state_.node.model[slot] == kMixed;
    if (free[i] == last && !mixed && !shape.byDay()) continue;
    last = free[i];
    after[i] -= compute;
    Key key = fragmentKey(shape, slot, after.data());
    after[i] += compute;
    if (shape.byDay()) key = withPeak(shape, slot, key, getOne(shape, slot, i));
    const bool earlier = shape.policy() == Policy::kFgd && key == best.key && i < best.picked.at[0];
    if (key > best.key || earlier) {
      best.key = key;
      best.picked.at[0] = i;
    }
  }
  return best;
}

Choice Scorer::simple(const ShapeClass& shape, Slot slot, SearchPass& pass) const {
  Choice choice;
  if (refuseNode(state_, shape, slot)) return choice;
  if (shape.containers().empty()) {
    choice.key = keyAfter(shape, slot, Get());
    return choice;
  }
  const Ask& ask = shape.containers().front();
  // Most nodes of a full cluster are decided here.
  const bool whole = ask.compute == kWholeDevice.milli;
  if (whole ? ask.count > state_.node.idle[slot] : ask.compute > state_.node.largest[slot]) {
    return choice;
  }
  const Candidates candidates = candidatesFor(state_, shape, ask, slot);
  if (candidates.count < ask.count) return choice;
  if (groupedOn(state_, shape, slot)) return grouped(shape, slot, candidates, pass);
  const bool part = ask.count == 1 && ask.compute > 0 && ask.compute < kWholeDevice.milli;
  if (part && shape.plain() &&
      (shape.policy() == Policy::kFgd || shape.policy() == Policy::kDivvy)) {
    return fgdPart(shape, slot, candidates);
  }
  choice.picked.count = static_cast<std::uint8_t>(ask.count);
  choice.picked.at = candidates.at;
  if (shape.byDay() && ask.count == 1) choice.picked.at[0] = calmest(shape, slot, candidates);
  choice.key = keyOf(shape, slot, choice.picked, 0);
  return choice;
}

// For a request in which one container asks for devices.
Key Scorer::keyOf(const ShapeClass& shape, Slot slot, const Picked& picked, unsigned met) const {
  const Ask& ask = shape.containers().front();
  Get get;
  get.count = picked.count;
  get.devices = picked.at;
  std::fill_n(get.compute.begin(), picked.count, ask.compute);
  const bool memory = shape.policy() >= Policy::kBinpack || shape.byDay();
  for (std::size_t k = 0; memory && k < picked.count; ++k)
    get.memory[k] = takenBy(ask, state_, state_.node.first[slot] + picked.at[k]).memory;
  const Key key = withMerit(shape, slot, keyAfter(shape, slot, get), get);
  return withPeak(shape, slot, key, get) | met << kMetShift;
}

// With use by hour the key has no bits left for it; kRandom ignores it.
Key Scorer::withMerit(const ShapeClass& shape, Slot slot, Key key, const Get& get) const {
  if ((state_.node.sums[slot] & kMerits) == 0 || byHami(shape) || shape.byDay() ||
      shape.policy() == Policy::kRandom)
    return key;
  const Gain gain{wholeOf(slot, get), shape.devices().links != Preference::kNone};
  return key | meritLevel(meritsOf(state_, slot, gain), shape.policy()) << kMeritShift;
}

DeviceSet Scorer::wholeOf(Slot slot, const Get& get) const {
  DeviceSet devices = 0;
  const std::vector<Device>& all = state_.cold[slot].node.devices;
  for (std::size_t k = 0; k < get.count; ++k)
    if (get.compute[k] == all[get.devices[k]].compute.milli) devices |= only(get.devices[k]);
  return devices;
}

Choice Scorer::grouped(const ShapeClass& shape, Slot slot, const Candidates& candidates,
                       SearchPass& pass) const {
  Choice choice;
  choice.put_off = pass.budget.spent();
  if (choice.put_off) return choice;
  const Groups groups = groupsFor(state_, shape, slot);
  const Groups::Found best = groups.best(candidates, shape.containers().front().count);
  pass.budget.spend(best.tries / kGroupTriesOfOne);
  if (!best.group) return choice;
  for (std::uint8_t k = 0; k < candidates.count; ++k) {
    if ((*best.group & only(candidates.at[k])) == 0) continue;
    choice.picked.at[choice.picked.count++] = candidates.at[k];
  }
  // HAMi's scores do not consider preferences.
  const unsigned met = shape.hami() ? 0 : groups.met(*best.group);
  choice.key = keyOf(shape, slot, choice.picked, met);
  return choice;
}

Key Scorer::keyOf(const ShapeClass& shape, Slot slot, const Plan& plan) const {
  Get get;
  for (std::size_t i = 0; i < state_.node.devices[slot]; ++i) {
    const Taken& taken = plan.taken[i];
    if (taken.slots == 0) continue;
    // A closed device has nothing that others could use.
    const bool open = state_.device.closed[state_.node.first[slot] + i] == kOpen;
    get.devices[get.count] = static_cast<std::uint8_t>(i);
    get.memory[get.count] = open ? taken.memory : 0;
    get.compute[get.count++] = open ? taken.compute : 0;
  }
  const Key key = withMerit(shape, slot, keyAfter(shape, slot, get), get);
  return withPeak(shape, slot, key, get) | plan.met << kMetShift;
}

Scorer::Keyed Scorer::key(const ShapeClass& shape, Slot slot, SearchPass& pass) const {
  if (oneByOne(state_, shape, slot)) {
    const Choice choice = simple(shape, slot, pass);
    return {choice.key, choice.put_off ? PlanEnd::kPutOff : PlanEnd::kPlaced};
  }
  if (refuseNode(state_, shape, slot)) return {};
  const Planned planned = planOn(state_, shape, slot, pass);
  return {planned.plan ? keyOf(shape, slot, *planned.plan) : 0, planned.end};
}

Placement Scorer::placement(const ShapeClass& shape, Slot slot, std::uint64_t draw) const {
  Plan plan;
  Key key = 0;
  // The search has succeeded before, and one node is always searched again.
  SearchBudget budget;
  SearchPass pass(budget);
  if (oneByOne(state_, shape, slot)) {
    Choice choice = simple(shape, slot, pass);
    key = choice.key;
    if (!shape.containers().empty()) {
      const Ask& ask = shape.containers().front();
      if (shape.policy() == Policy::kRandom && ask.count == 1 && shape.plain() &&
          !groupedOn(state_, shape, slot)) {
        const Candidates all = candidatesFor(state_, shape, ask, slot);
        choice.picked.at[0] = all.at[draw % all.count];
      }
      plan.containers.push_back(choice.picked);
      for (std::size_t k = 0; k < choice.picked.count; ++k) {
        const std::uint8_t i = choice.picked.at[k];
        plan.taken[i] = takenBy(ask, state_, state_.node.first[slot] + i);
      }
    }
  } else {
    plan = *planOn(state_, shape, slot, pass).plan;
    key = keyOf(shape, slot, plan);
  }
  const Node& node = state_.cold[slot].node;
  Placement result{node.name,
                   Cpu{shape.cpu()},
                   Bytes{static_cast<std::uint64_t>(shape.memory())},
                   {},
                   {},
                   scoreOf(shape, key),
                   shape.kind(),
                   {},
                   shape.pool()};
  result.containers.resize(shape.shape().init.size() + shape.shape().containers.size());
  const auto bytes = [](std::int64_t of) { return Bytes{static_cast<std::uint64_t>(of)}; };
  const auto give = [&](const std::vector<Ask>& asks, const std::vector<Picked>& picked,
                        const std::vector<PartPick>& ways) {
    for (std::size_t a = 0; a < asks.size(); ++a) {
      if (asks[a].part) {
        result.containers[asks[a].container].push_back(
            shareOf(node.devices[picked[a].at[0]], ways[a]));
        continue;
      }
      std::vector<std::uint8_t> sorted(picked[a].at.begin(),
                                       picked[a].at.begin() + picked[a].count);
      std::sort(sorted.begin(), sorted.end());
      for (const std::uint8_t i : sorted) {
        const Taken by = takenBy(asks[a], state_, state_.node.first[slot] + i);
        result.containers[asks[a].container].push_back(
            {node.devices[i].uuid, bytes(by.memory - by.outside), Compute{asks[a].compute},
             bytes(by.stays - by.outside)});
      }
    }
  };
  give(shape.init(), plan.init, plan.init_parts);
  give(shape.containers(), plan.containers, plan.parts);
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const Taken& taken = plan.taken[i];
    if (taken.slots == 0) continue;
    const ColocationRule* company = shape.companyOf(node.devices[i].kind);
    result.charges.push_back({node.devices[i].uuid, bytes(taken.memory), Compute{taken.compute},
                              taken.slots, bytes(taken.outside), bytes(taken.memory - taken.stays),
                              bytes(taken.largest), taken.parts, taken.cpus, taken.slices,
                              taken.parts > 0 && taken.by_time,
                              company == nullptr ? std::uint8_t{0} : company->sort});
  }
  return result;
}

}  // namespace divvy::engine
