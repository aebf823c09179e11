#include "card_places.h"

#include <cstdlib>

namespace divvy::agent {
namespace {

// The usual measure: so much for each NVLink, and for the bus that cards share by how much of it.
constexpr std::uint32_t kOfNvlink = 100;

std::uint32_t scoreOf(driver::PciWay way) {
  switch (way) {
    case driver::PciWay::kSame:
      return 60;
    case driver::PciWay::kSwitch:
      return 50;
    case driver::PciWay::kSwitches:
      return 40;
    default:
      return 0;  // through the host
  }
}

}  // namespace

std::vector<CardPlace> placesOf(const std::vector<driver::DeviceInfo>& cards,
                                const driver::Layout& layout) {
  std::vector<CardPlace> places(cards.size());
  for (std::size_t i = 0; i < cards.size() && i < layout.numa.size(); ++i)
    places[i].numa = layout.numa[i];
  for (const driver::CardPair& pair : layout.pairs) {
    const std::uint32_t score =
        kOfNvlink * pair.nvlinks + (pair.peers || pair.nvlinks > 0 ? scoreOf(pair.way) : 0);
    if (score == 0 || pair.a >= cards.size() || pair.b >= cards.size()) continue;
    places[pair.a].ways.push_back({cards[pair.b].uuid, score, pair.nvlinks > 0});
    places[pair.b].ways.push_back({cards[pair.a].uuid, score, pair.nvlinks > 0});
  }
  for (const driver::NicPlace& nic : layout.nics)
    for (std::size_t i = 0; i < cards.size() && i < nic.to.size(); ++i)
      places[i].nics.push_back({nic.name, static_cast<std::uint32_t>(nic.to[i])});
  return places;
}

std::string sysfsRoot(bool simulated) {
  const char* named = std::getenv("DIVVY_SYSFS");
  if (named != nullptr && *named != '\0') return named;
  return simulated ? "" : "/sys";
}

}  // namespace divvy::agent
