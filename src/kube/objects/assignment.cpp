#include "kube/assignment.h"

#include "objects/split.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kFields = 4;
// More than any device has; sums of such numbers do not overflow.
constexpr std::uint64_t kMaxMebibytes = 1u << 30;
constexpr std::uint64_t kMaxCores = 100'000;

Error wrong(std::size_t container, std::size_t device, const std::string& what) {
  return {ErrorCode::kCorrupt, "container " + std::to_string(container) + ", device " +
                                   std::to_string(device) + ": " + what};
}

}  // namespace

Result<std::vector<AssignedDevice>> decodeDevices(std::string_view text, std::size_t container) {
  std::vector<AssignedDevice> devices;
  const auto parts = ended(text, ':');
  if (!parts) return wrong(container, 0, "no ':' at the end");
  for (const std::string_view part : *parts) {
    const std::size_t at = devices.size();
    const std::vector<std::string_view> fields = split(part, ',');
    if (fields.size() != kFields)
      return wrong(container, at,
                   "expected UUID,TYPE,MEMORY,CORES, not \"" + std::string(part) + '"');
    const auto memory = wholeOf(fields[2]);
    const auto cores = wholeOf(fields[3]);
    if (fields[0].empty()) return wrong(container, at, "no UUID");
    if (!memory || *memory > kMaxMebibytes)
      return wrong(container, at, "memory is not a whole number of MiB up to 2^30");
    if (!cores || *cores > kMaxCores)
      return wrong(container, at, "cores are not a whole number up to 100000");
    devices.push_back({std::string(fields[0]), std::string(fields[1]), *memory,
                       static_cast<std::uint32_t>(*cores)});
  }
  return devices;
}

std::string encode(const Assignment& assignment) {
  std::string text;
  for (const std::vector<AssignedDevice>& container : assignment) {
    for (const AssignedDevice& device : container)
      text += device.uuid + ',' + device.type + ',' + std::to_string(device.mebibytes) + ',' +
              std::to_string(device.cores) + ':';
    text += ';';
  }
  return text;
}

Result<Assignment> decodeAssignment(std::string_view text) {
  Assignment assignment;
  const auto containers = ended(text, ';');
  if (!containers) return wrong(0, 0, "no ';' at the end");
  for (const std::string_view container : *containers) {
    Result<std::vector<AssignedDevice>> devices = decodeDevices(container, assignment.size());
    if (!devices) return devices.error();
    assignment.push_back(std::move(*devices));
  }
  return assignment;
}

}  // namespace divvy::kube
