// Which units the kubelet is not to offer.
#include "deviceplugin/unit_withholding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace divvy::agent {
namespace {

using DeviceIds = std::set<std::string>;

TEST(WithheldOf, FullDevice_AllFreeIdsWithheld) {
  EXPECT_EQ(withheldOf({{{"a::1", "a::2"}, 0, true}, {{"b::0", "b::1"}, 2, false}}),
            (DeviceIds{"a::1", "a::2"}));
  EXPECT_EQ(withheldOf({{{"a::1"}, 0, false}, {{"b::0"}, 1, false}}), DeviceIds());
  EXPECT_EQ(withheldOf({{{"a::1"}, 0, true}, {{"b::1"}, 0, true}}), (DeviceIds{"a::1", "b::1"}));
}

// Two containers on the full device hold units of the other one: whoever comes to that needs
// theirs.
TEST(WithheldOf, IdsHeldByOtherDevicesPods_FewerWithheld) {
  EXPECT_EQ(withheldOf({{{"a::0", "a::1", "a::2"}, 0, true}, {{"b::3"}, 3, false}}),
            (DeviceIds{"a::2"}));
  EXPECT_EQ(withheldOf({{{"a::0"}, 0, true}, {{}, 3, false}}), DeviceIds());
}

// Whoever the scheduler may send has a unit, if he had one before; only free ones of full devices
// go.
RC_GTEST_PROP(WithheldOf, RandomDevices_EachSeatKeepsAnId, ()) {
  std::vector<AdvertisedDevice> devices;
  DeviceIds open;
  std::size_t free = 0, seats = 0, gone = 0;
  const auto count = *rc::gen::inRange(1, 6);
  for (int at = 0; at < count; ++at) {
    AdvertisedDevice device;
    device.withdrawn = *rc::gen::arbitrary<bool>();
    const auto units = *rc::gen::inRange(0, 10);
    for (int unit = 0; unit < units; ++unit)
      device.free.push_back(std::to_string(at) + "::" + std::to_string(unit));
    device.seats = device.withdrawn ? 0 : *rc::gen::inRange(0u, 10u);
    free += device.free.size();
    seats += device.seats;
    if (device.withdrawn) open.insert(device.free.begin(), device.free.end());
    devices.push_back(std::move(device));
  }
  const DeviceIds withheld = withheldOf(devices);
  for (const std::string& unit : withheld) RC_ASSERT(open.contains(unit));
  gone = withheld.size();
  RC_ASSERT(free - gone >= std::min(seats, free));
  // And not one more than it takes.
  RC_ASSERT(gone == open.size() || free - gone == std::min(seats, free));
}

}  // namespace
}  // namespace divvy::agent
