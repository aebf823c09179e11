// Cores of devices that hand out single cores (CoreForm::kMask): which pod has which. The engine
// knows only how many are free. Private.
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
  // Records the cores in the shares of `placement` for a pod (UID). Replaces its earlier cores,
  // unless the shares name none: the engine's allocation lacks cores that assignCores() chose.
  void take(const std::string& pod, const engine::Placement& placement);
  // Frees the pod's cores.
  void give(const std::string& pod);
  // Chooses cores for all shares of a pod on such devices, and records them: the lowest free range
  // of adjacent cores. `ends`: for each container, true if it ends before the next one starts; its
  // cores are then free for later containers. kNoRoom: no free range is large enough.
  Result<void> assignCores(const std::string& pod, const std::vector<bool>& ends,
                           const DeviceMetadataMap& devices, engine::Placement* placement);

 private:
  std::uint32_t others(const std::string& device) const;

  std::map<std::string, std::map<std::string, std::uint32_t>> taken_;  // by device, then pod
  std::map<std::string, std::vector<std::string>> devices_;            // by pod
};

}  // namespace divvy::scheduler
