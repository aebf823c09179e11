// Which device IDs of a resource the kubelet must not offer while some devices are full. IDs only
// count: a container on one device may hold the ID of another device. So as many IDs must stay as
// other devices have room for containers. Pure. Private.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace divvy::agent {

// One device under one resource.
struct AdvertisedDevice {
  std::vector<std::string> free;  // IDs that no pod holds
  unsigned seats = 0;             // containers that still fit; 0 if withdrawn
  bool withdrawn = false;         // must not be offered
};

// The free IDs of withdrawn devices, less those needed to leave one ID for each seat.
std::set<std::string> withheldOf(const std::vector<AdvertisedDevice>& devices);

}  // namespace divvy::agent
