// Which units of a name the kubelet is not to offer while some of its devices are full. Units only
// count: who has a device may hold another one's unit, and as many have to be left as there is room
// for containers elsewhere, whatever they are called. Pure. Private.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace divvy::agent {

// One device, under one name.
struct AdvertisedDevice {
  std::vector<std::string> free;  // units that no pod holds
  unsigned seats = 0;             // containers that may still come; of no one that is withdrawn
  bool withdrawn = false;         // nothing of it is to be offered
};

// Free units of withdrawn devices: all, or as many as leave one unit for each seat.
std::set<std::string> withheldOf(const std::vector<AdvertisedDevice>& devices);

}  // namespace divvy::agent
