// A device's data in annotations, beside the data that the engine uses. Private.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/partition.h"
#include "vendors/descriptor.h"

namespace divvy::scheduler {

struct DeviceMetadata {
  const vendors::Kind* kind = nullptr;  // the catalog owns it
  std::uint32_t index = 0;              // number on its node, by the agent
  std::string minor;
  std::string model;
  std::uint32_t units = 0;  // of compute, as registered
  std::shared_ptr<const engine::Partitioning> parting;
  std::map<std::string, std::pair<std::string, std::string>> profiles;  // by part: name and ID
  bool own_plugin = false;  // served by the vendor plugin (codec/vendor_plugin.h)
};

// By UUID.
using DeviceMetadataMap = std::map<std::string, DeviceMetadata>;

}  // namespace divvy::scheduler
