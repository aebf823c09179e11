#include "kube/volcano.h"

#include <algorithm>
#include <cstdint>

#include "objects/split.h"

namespace divvy::kube {
namespace {

constexpr std::uint64_t kWhole = 100;

bool asks(const PodContainer& container) {
  return container.limits.contains(kVolcanoCount) || container.limits.contains(kVolcanoMemory);
}

// Replaces characters that end a field or a device.
std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter == ',' || letter == ':'; }, '-');
  return text;
}

// Volcano's own resource names; 0: none. If there is no limit Volcano uses the request.
Result<std::uint64_t> percentOf(const PodContainer& container) {
  const Quantities& limits = container.limits;
  const Quantities& from = limits.contains(kVolcanoMemoryPercent) ? limits : container.requests;
  const auto said = from.find(kVolcanoMemoryPercent);
  if (said == from.end()) return std::uint64_t{0};
  const auto percent = wholeOf(said->second);
  if (percent && *percent <= kWhole) return *percent;
  return Error{ErrorCode::kCorrupt, "container " + container.name + ": " + kVolcanoMemoryPercent +
                                        " is \"" + said->second + "\", not 0 to 100"};
}

Result<void> fillIn(const PodContainer& container, const std::vector<RegisteredDevice>& offered,
                    std::vector<AssignedDevice>* devices) {
  const Result<std::uint64_t> percent = percentOf(container);
  if (!percent) return percent.error();
  for (AssignedDevice& one : *devices) {
    if (one.mebibytes != 0) continue;
    const auto device = std::find_if(offered.begin(), offered.end(),
                                     [&](const auto& known) { return known.id == one.uuid; });
    if (device != offered.end()) one.mebibytes = device->mebibytes * *percent / kWhole;
  }
  return {};
}

}  // namespace

std::string encodeVolcano(const std::vector<RegisteredDevice>& devices) {
  std::string text;
  for (const RegisteredDevice& one : devices) {
    if (!one.healthy) continue;
    text += plain(one.id) + ',' + std::to_string(one.count) + ',' + std::to_string(one.mebibytes) +
            ',' + plain(one.type) + ",true,hami-core:";
  }
  return text;
}

Result<Assignment> volcanoAssignment(const Pod& pod, std::string_view text,
                                     const std::vector<RegisteredDevice>& offered) {
  std::vector<std::string_view> given;
  if (!text.empty()) given = split(text, ';');
  const auto asking =
      static_cast<std::size_t>(std::count_if(pod.containers.begin(), pod.containers.end(), asks));
  if (given.size() != asking)
    return Error{ErrorCode::kCorrupt, "devices of " + std::to_string(given.size()) +
                                          " containers; " + std::to_string(asking) +
                                          " of the pod ask for some"};
  Assignment assignment(pod.init.size());
  auto next = given.begin();
  for (const PodContainer& container : pod.containers) {
    assignment.emplace_back();
    if (!asks(container)) continue;
    Result<std::vector<AssignedDevice>> devices = decodeDevices(*next++, assignment.size() - 1);
    if (!devices) return devices.error();
    const Result<void> whole = fillIn(container, offered, &*devices);
    if (!whole) return whole.error();
    assignment.back() = std::move(*devices);
  }
  return assignment;
}

}  // namespace divvy::kube
