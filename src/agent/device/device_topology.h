// The places of cards in the machine, from driver and kernel, in placement's terms. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/device_locality.h"
#include "driver/layout.h"
#include "kube/device_scores.h"
#include "kube/nics.h"

namespace divvy::agent {

// The place of each of `cards`; `layout` is of the same cards.
std::vector<DeviceLocality> placesOf(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout);

// The link score of each pair of cards, as in the node's annotation: 10 (different sockets) to 60
// (one board), and 100 more for each NVLink. Source: facts on the incumbent's control plane, 2.1.
kube::DeviceScores scoresOf(const std::vector<driver::DeviceInfo>& cards,
                            const driver::Layout& layout);

// The machine's RDMA NICs, as in the node's annotation.
std::vector<kube::Nic> nicsOf(const std::vector<driver::DeviceInfo>& cards,
                              const driver::Layout& layout);

// Words for pairs of cards that report different numbers of NVLinks.
std::vector<std::string> unevenLinks(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout);

// The root of the kernel's files: DIVVY_SYSFS, else "/sys". Empty with simulated cards: their bus
// addresses may belong to other devices here.
std::string sysfsRoot(bool simulated);

}  // namespace divvy::agent
