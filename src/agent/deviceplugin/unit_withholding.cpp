#include "deviceplugin/unit_withholding.h"

#include <cstddef>

namespace divvy::agent {

std::set<std::string> withheldOf(const std::vector<AdvertisedDevice>& devices) {
  std::size_t seats = 0;
  std::size_t elsewhere = 0;
  for (const AdvertisedDevice& one : devices) {
    if (one.withdrawn) continue;
    seats += one.seats;
    elsewhere += one.free.size();
  }
  std::size_t lent = seats > elsewhere ? seats - elsewhere : 0;
  std::set<std::string> withheld;
  for (const AdvertisedDevice& one : devices) {
    if (!one.withdrawn) continue;
    for (const std::string& unit : one.free) {
      if (lent > 0) {
        --lent;
      } else {
        withheld.insert(unit);
      }
    }
  }
  return withheld;
}

}  // namespace divvy::agent
