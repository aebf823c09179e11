#include "device/device_topology.h"

#include <algorithm>
#include <cstdlib>

namespace divvy::agent {
namespace {

// The usual scores: so much for each NVLink, and less for each longer path over the bus.
constexpr std::uint32_t kOfNvlink = 100;
constexpr std::uint32_t kOneSocket = 20;
constexpr std::uint32_t kApart = 10;

std::uint32_t scoreOf(driver::PciPath path) {
  switch (path) {
    case driver::PciPath::kSame:
      return 60;
    case driver::PciPath::kSwitch:
      return 50;
    case driver::PciPath::kSwitches:
      return 40;
    case driver::PciPath::kHostBridge:
      return 30;
    case driver::PciPath::kNode:
      return kOneSocket;
    default:
      return kApart;
  }
}

// Only paths that do not pass through the host count.
std::uint32_t betterOf(driver::PciPath path) {
  return path < driver::PciPath::kHostBridge ? scoreOf(path) : 0;
}

std::string nameOf(const driver::DeviceInfo& card) {
  return std::to_string(card.index) + " (" + card.uuid + ")";
}

}  // namespace

std::vector<DeviceLocality> placesOf(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout) {
  std::vector<DeviceLocality> places(cards.size());
  for (std::size_t i = 0; i < cards.size() && i < layout.numa.size(); ++i)
    places[i].numa = layout.numa[i];
  for (const driver::CardPair& pair : layout.pairs) {
    const std::uint32_t score =
        kOfNvlink * pair.nvlinks + (pair.peers || pair.nvlinks > 0 ? betterOf(pair.path) : 0);
    if (score == 0 || pair.a >= cards.size() || pair.b >= cards.size()) continue;
    places[pair.a].ways.push_back({cards[pair.b].uuid, score, pair.nvlinks > 0});
    places[pair.b].ways.push_back({cards[pair.a].uuid, score, pair.nvlinks > 0});
  }
  for (const driver::NicPaths& nic : layout.nics)
    for (std::size_t i = 0; i < cards.size() && i < nic.to.size(); ++i)
      places[i].nics.push_back({nic.name, static_cast<std::uint32_t>(nic.to[i])});
  return places;
}

kube::DeviceScores scoresOf(const std::vector<driver::DeviceInfo>& cards,
                            const driver::Layout& layout) {
  kube::DeviceScores scores;
  for (const driver::CardPair& pair : layout.pairs) {
    if (pair.a >= cards.size() || pair.b >= cards.size()) continue;
    scores[std::minmax(cards[pair.a].uuid, cards[pair.b].uuid)] =
        kOfNvlink * pair.nvlinks + scoreOf(pair.path);
  }
  return scores;
}

std::vector<kube::Nic> nicsOf(const std::vector<driver::DeviceInfo>& cards,
                              const driver::Layout& layout) {
  std::vector<kube::Nic> nics;
  for (const driver::NicPaths& place : layout.nics) {
    kube::Nic& nic = nics.emplace_back();
    nic.name = place.name;
    for (std::size_t i = 0; i < cards.size() && i < place.to.size(); ++i)
      nic.distances[cards[i].uuid] = static_cast<std::uint32_t>(place.to[i]);
  }
  return nics;
}

std::vector<std::string> unevenLinks(const std::vector<driver::DeviceInfo>& cards,
                                     const driver::Layout& layout) {
  std::vector<std::string> said;
  for (const driver::CardPair& pair : layout.pairs) {
    if (pair.uneven && pair.a < cards.size() && pair.b < cards.size())
      said.push_back("devices " + nameOf(cards[pair.a]) + " and " + nameOf(cards[pair.b]) +
                     " report different numbers of NVLinks between them: none is counted");
  }
  return said;
}

std::string sysfsRoot(bool simulated) {
  const char* named = std::getenv("DIVVY_SYSFS");
  if (named != nullptr && *named != '\0') return named;
  return simulated ? "" : "/sys";
}

}  // namespace divvy::agent
