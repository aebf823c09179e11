// What the driver and the kernel say of where cards are, as placement counts it. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/device_locality.h"
#include "driver/layout.h"
#include "kube/device_scores.h"
#include "kube/nics.h"

namespace divvy::agent {

// Of each of `cards`, which is what `layout` is of.
std::vector<DeviceLocality> placesOf(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout);

// How well each two of them are linked, in the words of the node's annotation: 10 (sockets apart)
// to 60 (one board), and 100 more for each NVLink. Source: facts on the incumbent's control
// plane, 2.1.
kube::DeviceScores scoresOf(const std::vector<driver::DeviceInfo>& cards,
                            const driver::Layout& layout);

// The machine's RDMA NICs, in the words of the node's annotation.
std::vector<kube::Nic> nicsOf(const std::vector<driver::DeviceInfo>& cards,
                              const driver::Layout& layout);

// Pairs that do not agree on their NVLinks, in words.
std::vector<std::string> unevenLinks(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout);

// Where the kernel's files are: DIVVY_SYSFS, else "/sys"; empty with simulated cards, whose
// addresses on the bus may be those of something else here.
std::string sysfsRoot(bool simulated);

}  // namespace divvy::agent
