// Which cores of a device whose: of devices that hand them out one by one (CoreForm::kMask). How
// many are left the engine knows; which, whoever writes them. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "annotations/device_metadata.h"
#include "base/result.h"
#include "engine/allocation.h"

namespace divvy::scheduler {

class CoreMasks {
 public:
  // As the shares of a pod say it, instead of what it had.
  void take(const std::string& pod, const engine::Placement& placement);
  void give(const std::string& pod);
  // Chooses cores for those shares that have none yet: the lowest that are free, a container's own.
  // `ends`: of each container whether it has ended when the next one begins; who ends may get those
  // of who comes after it. kNoRoom: other pods' annotations leave too few.
  Result<void> assignCores(const std::string& pod, const std::vector<bool>& ends,
                           const DeviceMetadataMap& devices, engine::Placement* placement);

 private:
  std::uint32_t others(const std::string& device) const;

  std::map<std::string, std::map<std::string, std::uint32_t>> taken_;  // by device, then pod
  std::map<std::string, std::vector<std::string>> devices_;            // by pod
};

}  // namespace divvy::scheduler
