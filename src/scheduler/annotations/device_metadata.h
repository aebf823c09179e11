// What of a device is written in annotations and is not for the engine. Private.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/partition.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

struct DeviceMetadata {
  const vendors::Kind* kind = nullptr;  // the catalogue's
  std::uint32_t index = 0;              // as its agent counts
  std::string minor;
  std::string model;
  std::uint32_t units = 0;  // of compute, as it says itself
  std::shared_ptr<const engine::Partitioning> parting;
  std::map<std::string, std::pair<std::string, std::string>> profiles;  // by part: name and id
  bool own_plugin =
      false;  // counted for the vendor's own plugin; nobody is told which (codec/vendor_plugin.h)
};

// By UUID.
using DeviceMetadataMap = std::map<std::string, DeviceMetadata>;

}  // namespace divvy::scheduler
