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
static_assert(RankingKey{101} << kTieBits < RankingKey{1} << kMetShift);

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

std::uint32_t Scorer::scoreOf(const ShapeClass& shape, RankingKey key) {
  const bool merits = !byHami(shape) && !shape.byDay();
  key = withoutPeak(shape, key & ((RankingKey{1} << (merits ? kMeritShift : kMetShift)) - 1));
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

RankingKey Scorer::fragmentKey(const ShapeClass& shape, Slot slot,
                               const std::int32_t* after) const {
  const std::size_t count = state_.node.devices[slot];
  const std::int64_t cpu = state_.node.cpu_free[slot] - shape.cpu();
  const std::int64_t fragment =
      fragments_.weighted({cpu, after, count}, state_.node.model[slot],
                          state_.device.model.data() + state_.node.first[slot]);
  const RankingKey score = 1 + fragments_.score(state_.node.fragment[slot], fragment);
  if (shape.policy() != Policy::kDivvy) return score;
  return score << kTieBits | fullness(shape, slot);
}

// In eighths of a node, processors and devices alike. That is coarse, so among nodes about as full
// the first one wins, which keeps other nodes empty. If some requests name models, those that name
// none only prefer nodes in use. The fullest nodes often have the devices that the others need.
RankingKey Scorer::fullness(const ShapeClass& shape, Slot slot) const {
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
  return static_cast<RankingKey>(std::clamp<std::int64_t>(parts, 0, kTieParts - 1));
}

RankingKey Scorer::keyAfter(const ShapeClass& shape, Slot slot, const CandidateUse& use) const {
  switch (shape.policy()) {
    case Policy::kRandom:
      return 1;
    case Policy::kDotProduct:
      return 1 + dotProduct(shape, slot);
    case Policy::kClustering:
      return 1 + clustering(shape, slot);
    case Policy::kPacking:
      return 1 + packing(slot, use.devices.data(), use.count);
    case Policy::kBestFit:
      return 1 + bestFit(shape, slot);
    case Policy::kBinpack:
    case Policy::kSpread:
    case Policy::kWeighted:
      return 1 + usedKey(shape, slot, use);
    case Policy::kFgd:
    case Policy::kDivvy:
      break;
  }
  std::array<std::int32_t, kMaxDevicesPerNode> after;
  const std::int32_t* free = state_.device.compute_free.data() + state_.node.first[slot];
  std::copy_n(free, state_.node.devices[slot], after.begin());
  // A weight can be overbooked.
  for (std::size_t k = 0; k < use.count; ++k)
    after[use.devices[k]] = std::max(after[use.devices[k]] - use.compute[k], 0);
  return fragmentKey(shape, slot, after.data());
}

// One device of each different sort; among equals the first (kFgd) or the tightest.
DeviceChoice Scorer::fgdPart(const ShapeClass& shape, Slot slot,
                             const Candidates& candidates) const {
  const std::int32_t compute = shape.containers().front().compute;
  const std::int32_t* free = state_.device.compute_free.data() + state_.node.first[slot];
  std::array<std::int32_t, kMaxDevicesPerNode> after;
  std::copy_n(free, state_.node.devices[slot], after.begin());
  DeviceChoice best;
  best.selected.count = 1;
  std::int32_t last = -1;
  for (std::size_t k = 0; k < candidates.count; ++k) {
    const std::uint8_t i = candidates.at[k];
    const bool mixed = state_.node.model[slot] == kMixed;
    if (free[i] == last && !mixed && !shape.byDay()) continue;
    last = free[i];
    after[i] -= compute;
    RankingKey key = fragmentKey(shape, slot, after.data());
    after[i] += compute;
    if (shape.byDay()) key = withPeak(shape, slot, key, getOne(shape, slot, i));
    const bool earlier =
        shape.policy() == Policy::kFgd && key == best.key && i < best.selected.at[0];
    if (key > best.key || earlier) {
      best.key = key;
      best.selected.at[0] = i;
    }
  }
  return best;
}

DeviceChoice Scorer::simple(const ShapeClass& shape, Slot slot, SearchPass& pass) const {
  DeviceChoice choice;
  if (refuseNode(state_, shape, slot)) return choice;
  if (shape.containers().empty()) {
    choice.key = keyAfter(shape, slot, CandidateUse());
    return choice;
  }
  const DeviceDemand& demand = shape.containers().front();
  // Most nodes of a full cluster are decided here.
  const bool whole = demand.compute == kWholeDevice.milli;
  if (whole ? demand.count > state_.node.idle[slot] : demand.compute > state_.node.largest[slot]) {
    return choice;
  }
  const Candidates candidates = candidatesFor(state_, shape, demand, slot);
  if (candidates.count < demand.count) return choice;
  if (groupedOn(state_, shape, slot)) return grouped(shape, slot, candidates, pass);
  const bool part = demand.count == 1 && demand.compute > 0 && demand.compute < kWholeDevice.milli;
  if (part && shape.plain() &&
      (shape.policy() == Policy::kFgd || shape.policy() == Policy::kDivvy)) {
    return fgdPart(shape, slot, candidates);
  }
  choice.selected.count = static_cast<std::uint8_t>(demand.count);
  choice.selected.at = candidates.at;
  if (shape.byDay() && demand.count == 1) choice.selected.at[0] = calmest(shape, slot, candidates);
  choice.key = keyOf(shape, slot, choice.selected, 0);
  return choice;
}

// For a request in which one container asks for devices.
RankingKey Scorer::keyOf(const ShapeClass& shape, Slot slot, const ChosenDevices& selected,
                         unsigned met) const {
  const DeviceDemand& demand = shape.containers().front();
  CandidateUse use;
  use.count = selected.count;
  use.devices = selected.at;
  std::fill_n(use.compute.begin(), selected.count, demand.compute);
  const bool memory = shape.policy() >= Policy::kBinpack || shape.byDay();
  for (std::size_t k = 0; memory && k < selected.count; ++k)
    use.memory[k] = peakUseOf(demand, state_, state_.node.first[slot] + selected.at[k]).memory;
  const RankingKey key = withMerit(shape, slot, keyAfter(shape, slot, use), use);
  return withPeak(shape, slot, key, use) | met << kMetShift;
}

// With use by hour the key has no bits left for it; kRandom ignores it.
RankingKey Scorer::withMerit(const ShapeClass& shape, Slot slot, RankingKey key,
                             const CandidateUse& use) const {
  if ((state_.node.sums[slot] & kMerits) == 0 || byHami(shape) || shape.byDay() ||
      shape.policy() == Policy::kRandom)
    return key;
  const CandidateDevices gain{wholeOf(slot, use), shape.devices().links != Preference::kNone};
  return key | meritLevel(nodeScoresOf(state_, slot, gain), shape.policy()) << kMeritShift;
}

DeviceSet Scorer::wholeOf(Slot slot, const CandidateUse& use) const {
  DeviceSet devices = 0;
  const std::vector<Device>& all = state_.cold[slot].node.devices;
  for (std::size_t k = 0; k < use.count; ++k)
    if (use.compute[k] == all[use.devices[k]].compute.milli) devices |= only(use.devices[k]);
  return devices;
}

DeviceChoice Scorer::grouped(const ShapeClass& shape, Slot slot, const Candidates& candidates,
                             SearchPass& pass) const {
  DeviceChoice choice;
  choice.put_off = pass.budget.spent();
  if (choice.put_off) return choice;
  const Groups groups = groupsFor(state_, shape, slot);
  const Groups::GroupChoice best = groups.best(candidates, shape.containers().front().count);
  pass.budget.spend(best.tries / kGroupTriesOfOne);
  if (!best.group) return choice;
  for (std::uint8_t k = 0; k < candidates.count; ++k) {
    if ((*best.group & only(candidates.at[k])) == 0) continue;
    choice.selected.at[choice.selected.count++] = candidates.at[k];
  }
  // HAMi's scores do not consider preferences.
  const unsigned met = shape.hami() ? 0 : groups.met(*best.group);
  choice.key = keyOf(shape, slot, choice.selected, met);
  return choice;
}

RankingKey Scorer::keyOf(const ShapeClass& shape, Slot slot, const Plan& plan) const {
  CandidateUse use;
  for (std::size_t i = 0; i < state_.node.devices[slot]; ++i) {
    const PeakUse& peak_use = plan.peak_use[i];
    if (peak_use.slots == 0) continue;
    // A closed device has nothing that others could use.
    const bool open = state_.device.closed[state_.node.first[slot] + i] == kOpen;
    use.devices[use.count] = static_cast<std::uint8_t>(i);
    use.memory[use.count] = open ? peak_use.memory : 0;
    use.compute[use.count++] = open ? peak_use.compute : 0;
  }
  const RankingKey key = withMerit(shape, slot, keyAfter(shape, slot, use), use);
  return withPeak(shape, slot, key, use) | plan.met << kMetShift;
}

Scorer::KeyResult Scorer::key(const ShapeClass& shape, Slot slot, SearchPass& pass) const {
  if (oneByOne(state_, shape, slot)) {
    const DeviceChoice choice = simple(shape, slot, pass);
    return {choice.key, choice.put_off ? PlanOutcome::kPutOff : PlanOutcome::kPlaced};
  }
  if (refuseNode(state_, shape, slot)) return {};
  const PlanResult planned = planOn(state_, shape, slot, pass);
  return {planned.plan ? keyOf(shape, slot, *planned.plan) : 0, planned.end};
}

Placement Scorer::placement(const ShapeClass& shape, Slot slot, std::uint64_t draw) const {
  Plan plan;
  RankingKey key = 0;
  // The search has succeeded before, and one node is always searched again.
  SearchBudget budget;
  SearchPass pass(budget);
  if (oneByOne(state_, shape, slot)) {
    DeviceChoice choice = simple(shape, slot, pass);
    key = choice.key;
    if (!shape.containers().empty()) {
      const DeviceDemand& demand = shape.containers().front();
      if (shape.policy() == Policy::kRandom && demand.count == 1 && shape.plain() &&
          !groupedOn(state_, shape, slot)) {
        const Candidates all = candidatesFor(state_, shape, demand, slot);
        choice.selected.at[0] = all.at[draw % all.count];
      }
      plan.containers.push_back(choice.selected);
      for (std::size_t k = 0; k < choice.selected.count; ++k) {
        const std::uint8_t i = choice.selected.at[k];
        plan.peak_use[i] = peakUseOf(demand, state_, state_.node.first[slot] + i);
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
  const auto addShares = [&](const auto& demands, const auto& selected, const auto& ways) {
    for (std::size_t a = 0; a < demands.size(); ++a) {
      if (demands[a].part) {
        result.containers[demands[a].container].push_back(
            shareOf(node.devices[selected[a].at[0]], ways[a]));
        continue;
      }
      std::vector<std::uint8_t> sorted(selected[a].at.begin(),
                                       selected[a].at.begin() + selected[a].count);
      std::sort(sorted.begin(), sorted.end());
      for (const std::uint8_t i : sorted) {
        const PeakUse by = peakUseOf(demands[a], state_, state_.node.first[slot] + i);
        result.containers[demands[a].container].push_back(
            {node.devices[i].uuid, bytes(by.memory - by.outside), Compute{demands[a].compute},
             bytes(by.stays - by.outside)});
      }
    }
  };
  addShares(shape.init(), plan.init, plan.init_parts);
  addShares(shape.containers(), plan.containers, plan.parts);
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const PeakUse& use = plan.peak_use[i];
    if (use.slots == 0) continue;
    const ColocationRule* company = shape.companyOf(node.devices[i].kind);
    result.charges.push_back({node.devices[i].uuid, bytes(use.memory), Compute{use.compute},
                              use.slots, bytes(use.outside), bytes(use.memory - use.stays),
                              bytes(use.largest), use.parts, use.cpus, use.slices,
                              use.parts > 0 && use.by_time,
                              company == nullptr ? std::uint8_t{0} : company->sort});
  }
  return result;
}

}  // namespace divvy::engine
