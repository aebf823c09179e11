#include "annotations/share.h"

#include <algorithm>
#include <bit>

#include "requests/partitioning.h"

namespace divvy::scheduler {
namespace {

constexpr std::uint32_t kWhole = 1000;
constexpr std::uint32_t kMilliPerPercent = 10;

std::uint32_t upTo(std::uint64_t amount, std::uint64_t of) {
  return static_cast<std::uint32_t>((amount + of - 1) / of);
}

engine::Compute milli(std::uint64_t amount) {
  return {static_cast<std::int32_t>(std::min<std::uint64_t>(amount, kWhole * 1000))};
}

// Requests for cores are in parts of a card; annotations have parts of the device's units.
std::uint32_t unitsOf(std::uint32_t compute, std::uint32_t per_card, std::uint32_t units) {
  if (compute == 0) return 0;
  const std::uint64_t asked = upTo(std::uint64_t{compute} * per_card, kWhole);
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(asked * units / per_card), 1);
}

engine::Compute computeOf(std::uint32_t written, std::uint32_t per_card, std::uint32_t units) {
  if (units == 0 || written >= units) return engine::kWholeDevice;
  const std::uint64_t asked = upTo(std::uint64_t{written} * per_card, units);
  return milli(std::max<std::uint64_t>(asked * kWhole / per_card, written == 0 ? 0 : 1));
}

std::uint32_t maskOf(const engine::Share& share, std::uint32_t cores) {
  if (share.size == 0) return (1u << cores) - 1;
  return ((1u << share.size) - 1) << share.start;
}

// The part with so much memory, where parts have no places. For an instance only the whole counts,
// with all of its compute.
const engine::DevicePart* partOf(const kube::AssignedDevice& assigned, const vendors::Kind& kind,
                                 const engine::Partitioning* parting) {
  if (parting == nullptr || parting->slices != 0) return nullptr;
  if (!kind.instances_prefix.empty() && assigned.cores * kMilliPerPercent < kWhole) return nullptr;
  const auto found = std::find_if(
      parting->parts.begin(), parting->parts.end(),
      [&](const engine::DevicePart& one) { return one.memory == mib(assigned.mebibytes); });
  return found == parting->parts.end() ? nullptr : &*found;
}

}  // namespace

kube::AssignedDevice assignedOf(const engine::Share& share, const DeviceMetadata& device) {
  const vendors::Kind& kind = *device.kind;
  const std::string& type = kind.wire.pod.type.empty() ? device.model : kind.wire.pod.type;
  kube::AssignedDevice assigned{share.uuid.text, type, share.memory.count / mib(1).count, 0};
  const auto compute = static_cast<std::uint32_t>(share.compute.milli);
  switch (kind.wire.pod.cores) {
    case vendors::CoreForm::kPercent:
      assigned.cores = upTo(compute, kMilliPerPercent);
      break;
    case vendors::CoreForm::kUnits:
      assigned.cores = unitsOf(compute, kind.cores.per_card, device.units);
      break;
    case vendors::CoreForm::kMask:
      assigned.cores = maskOf(share, kind.cores.per_card);
      break;
    case vendors::CoreForm::kNone:
      // A whole card is known by its memory, as parts are.
      if (share.part.empty() && share.compute < engine::kWholeDevice)
        assigned.cores = upTo(compute, kMilliPerPercent);
      break;
  }
  return assigned;
}

engine::Share shareOf(const kube::AssignedDevice& assigned, const vendors::Kind& kind,
                      const DeviceMetadata* device, bool soft) {
  engine::Share share;
  share.uuid = engine::DeviceUuid(assigned.uuid);
  share.memory = mib(assigned.mebibytes);
  std::shared_ptr<const engine::Partitioning> parting;
  if (device != nullptr) {
    parting = device->parting;
  } else if (!kind.templates.empty()) {
    parting = requests::partitioningOf(kind, "");
  }
  const engine::DevicePart* part = soft ? nullptr : partOf(assigned, kind, parting.get());
  if (part != nullptr) {
    share.part = part->name;
    share.memory = part->memory;
    share.compute = part->compute;
    return share;
  }
  switch (kind.wire.pod.cores) {
    case vendors::CoreForm::kPercent:
      share.compute = milli(std::uint64_t{assigned.cores} * kMilliPerPercent);
      break;
    case vendors::CoreForm::kUnits:
      share.compute = computeOf(assigned.cores, kind.cores.per_card,
                                device == nullptr ? kind.cores.per_card : device->units);
      break;
    case vendors::CoreForm::kMask:
      share.size = static_cast<std::uint32_t>(std::popcount(assigned.cores));
      share.start =
          share.size == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(assigned.cores));
      share.compute =
          milli(std::min(share.size, kind.cores.per_card) * kWhole / kind.cores.per_card);
      break;
    case vendors::CoreForm::kNone:
      share.compute =
          soft ? milli(std::uint64_t{assigned.cores} * kMilliPerPercent) : engine::kWholeDevice;
      break;
  }
  return share;
}

}  // namespace divvy::scheduler
