#include "nodes/partitioning.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace divvy::engine {
namespace {

constexpr std::size_t kMaxParts = 64;

bool enough(const DevicePart& part, const PartRequest& wish) {
  if (!wish.name.empty()) return part.name == wish.name;
  return static_cast<std::int64_t>(part.memory.count) >= wish.bytes &&
         part.compute.milli >= wish.compute;
}

// For a device without slices.
bool sumsHold(const DevicePart& part, const PartRoom& room) {
  return static_cast<std::int64_t>(part.memory.count) <= room.memory &&
         part.compute.milli <= room.compute && part.cpus <= room.cpus;
}

// Partitions that would still fit, the largest first.
std::vector<std::uint32_t> worthOf(const Partitioning& parting, std::uint32_t taken) {
  std::vector<const DevicePart*> parts;
  for (const DevicePart& part : parting.parts) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(), [](const DevicePart* a, const DevicePart* b) {
    return std::pair(a->size, a->compute) > std::pair(b->size, b->compute);
  });
  std::vector<std::uint32_t> counts;
  for (const DevicePart* part : parts) counts.push_back(mostOf(parting, *part, taken));
  return counts;
}

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

Result<void> checkPlaces(const Partitioning& parting, const DevicePart& part,
                         const std::string& what) {
  const bool placed = parting.slices > 0;
  if (placed != (part.size > 0) || placed != !part.starts.empty()) {
    return usage(what +
                 ": parts have a size and places where to begin if the device has slices, "
                 "and only then");
  }
  for (const std::uint32_t start : part.starts) {
    if (start >= parting.slices || part.size > parting.slices - start) {
      return usage(what + ": " + std::to_string(part.size) + " slices from " +
                   std::to_string(start) + " on; accepted: within " +
                   std::to_string(parting.slices));
    }
  }
  if (!std::is_sorted(part.starts.begin(), part.starts.end(), std::less_equal<>())) {
    return usage(what + ": places that do not ascend");
  }
  return {};
}

}  // namespace

std::uint32_t slicesOf(const DevicePart& part, std::uint32_t start) {
  return ((1u << part.size) - 1) << start;
}

// All of one size, counted from the first start.
std::uint32_t mostOf(const Partitioning& parting, const DevicePart& part, std::uint32_t taken) {
  if (parting.slices == 0) return 0;
  std::uint32_t count = 0;
  for (const std::uint32_t start : part.starts) {
    const std::uint32_t slices = slicesOf(part, start);
    if ((slices & taken) != 0) continue;
    taken |= slices;
    ++count;
  }
  return count;
}

std::vector<PartPick> waysFor(const Partitioning& parting, const PartRoom& room,
                              const PartRequest& wish) {
  std::vector<PartPick> ways;
  for (std::size_t i = 0; i < parting.parts.size(); ++i) {
    const DevicePart& part = parting.parts[i];
    if (!enough(part, wish)) continue;
    if (parting.slices == 0) {
      if (sumsHold(part, room)) ways.push_back({i, 0});
      continue;
    }
    std::vector<std::pair<std::vector<std::uint32_t>, std::uint32_t>> places;
    for (const std::uint32_t start : part.starts) {
      const std::uint32_t slices = slicesOf(part, start);
      if ((slices & room.taken) != 0) continue;
      places.emplace_back(worthOf(parting, room.taken | slices), start);
    }
    std::sort(places.begin(), places.end(), std::greater<>());
    for (const auto& [worth, start] : places) ways.push_back({i, start});
  }
  return ways;
}

DeviceRefusal whyNoWay(const Partitioning& parting, const PartRoom& room, const PartRequest& wish) {
  DeviceRefusal refusal;
  const auto refuse = [&](DeviceWhy why, std::uint64_t needed, std::int64_t available) {
    refusal.why = why;
    refusal.needed = needed;
    refusal.available = static_cast<std::uint64_t>(available);
    return refusal;
  };
  const auto part = std::find_if(parting.parts.begin(), parting.parts.end(),
                                 [&](const DevicePart& one) { return enough(one, wish); });
  if (part == parting.parts.end()) return refuse(DeviceWhy::kNoPart, 0, 0);
  if (parting.slices > 0) return refuse(DeviceWhy::kNoPlacement, 0, 0);
  if (static_cast<std::int64_t>(part->memory.count) > room.memory) {
    return refuse(DeviceWhy::kMemory, part->memory.count, room.memory);
  }
  if (part->compute.milli > room.compute) {
    return refuse(DeviceWhy::kCompute, static_cast<std::uint64_t>(part->compute.milli),
                  room.compute);
  }
  return refuse(DeviceWhy::kCpus, part->cpus, room.cpus);
}

bool isWay(const Partitioning& parting, const PartName& name, std::uint32_t start,
           std::uint32_t size) {
  return std::any_of(parting.parts.begin(), parting.parts.end(), [&](const DevicePart& part) {
    if (part.name != name || part.size != size) return false;
    if (parting.slices == 0) return start == 0;
    return std::find(part.starts.begin(), part.starts.end(), start) != part.starts.end();
  });
}

Result<void> checkParting(const Partitioning& parting, const std::string& who) {
  if (parting.slices > kMaxSlices || parting.parts.size() > kMaxParts) {
    return usage(who + ": " + std::to_string(parting.slices) + " slices and " +
                 std::to_string(parting.parts.size()) + " parts; accepted: at most " +
                 std::to_string(kMaxSlices) + " and " + std::to_string(kMaxParts));
  }
  std::set<PartName> seen;
  const DevicePart* last = nullptr;
  for (const DevicePart& part : parting.parts) {
    if (part.name.empty()) return usage(who + ": a part without a name");
    const std::string what = who + ", part " + part.name.text;
    if (!seen.insert(part.name).second) return usage(what + ": twice");
    if (last != nullptr && part.memory < last->memory) {
      return usage(what + ": less memory than the part before; accepted: ascending");
    }
    last = &part;
    if (part.compute.milli < 0 || part.compute > kWholeDevice) {
      return usage(what + ": " + std::to_string(part.compute.milli) +
                   " thousandths of compute; accepted: 0 to 1000");
    }
    const Result<void> places = checkPlaces(parting, part, what);
    if (!places) return places;
  }
  return {};
}

}  // namespace divvy::engine
