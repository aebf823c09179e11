// The pure parts: numbering of devices, telling own processes from others.
#include "nvml/device_view.h"

#include <gtest/gtest.h>

#include "nvml/row_list.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer {
namespace {

std::uint64_t order(const std::string& text) {
  return pciOrder(text.c_str(), 16);
}

TEST(PciOrder, SameAddressInOtherForms_Equal) {
  EXPECT_EQ(order("00000000:3B:00.0"), order("0000:3b:00.0"));
  EXPECT_EQ(order("00000000:3B:00.0"), order("3B:00.0"));
}

TEST(PciOrder, Addresses_SortByDomainBusDeviceFunction) {
  EXPECT_LT(order("00000000:05:00.0"), order("00000000:3B:00.0"));
  EXPECT_LT(order("00000000:3B:00.0"), order("00000000:3B:01.0"));
  EXPECT_LT(order("00000000:3B:00.0"), order("00000000:3B:00.1"));
  EXPECT_LT(order("00000000:FF:1F.7"), order("00000001:00:00.0"));
  EXPECT_LT(order("0000:09:00.0"), order("0000:0A:00.0"));
}

TEST(PciOrder, InvalidAddress_SortsLast) {
  for (const char* text :
       {"", "3B", "3B:00", ":3B:00.0", "x:3B:00.0", "0:0:0:0.0", "000000000:3B:00.0"}) {
    EXPECT_EQ(order(text), UINT64_MAX) << text;
  }
}

TEST(PciOrder, FieldWithoutSpare_ReadsNoFurther) {
  const char field[17] = "00000000:3B:00.0";
  EXPECT_EQ(pciOrder(field, 16), order("0000:3B:00.0"));
}

ledger::ControlPage pageOf(std::initializer_list<std::pair<const char*, const char*>> devices) {
  ledger::ControlPage page{};
  unsigned i = 0;
  for (const auto& [uuid, pci] : devices) {
    ::strncpy(page.devices[i].uuid, uuid, sizeof page.devices[i].uuid);
    ::strncpy(page.devices[i].pci_bus_id, pci, sizeof page.devices[i].pci_bus_id);
    ++i;
  }
  return page;
}

TEST(DeviceView, PageInOtherOrder_CardsInPciOrder) {
  const ledger::ControlPage page =
      pageOf({{"GPU-c", "0000:C1:00.0"}, {"GPU-a", "0000:0A:00.0"}, {"GPU-b", "0000:41:00.0"}});
  DeviceView view{};
  view.build(page, 3);
  ASSERT_EQ(view.cardCount(), 3u);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(0)), 2u);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(1)), 0u);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(2)), 1u);
  EXPECT_STREQ(view.unitOfShare(0)->uuid, "GPU-c");
}

TEST(DeviceView, NoAddresses_PageOrder) {
  const ledger::ControlPage page = pageOf({{"GPU-z", ""}, {"GPU-a", ""}});
  DeviceView view{};
  view.build(page, 2);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(0)), 0u);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(1)), 1u);
}

TEST(DeviceView, InstancesOfOneCard_OneCard) {
  const ledger::ControlPage page =
      pageOf({{"MIG-x", "0000:C1:00.0"}, {"GPU-a", "0000:0A:00.0"}, {"MIG-y", "0000:C1:00.0"}});
  DeviceView view{};
  view.build(page, 3);
  ASSERT_EQ(view.cardCount(), 2u);
  Unit* x = view.unitOfShare(0);
  Unit* y = view.unitOfShare(2);
  EXPECT_TRUE(view.isInstance(*x));
  EXPECT_EQ(view.indexOf(*x), 0u);
  EXPECT_EQ(view.indexOf(*y), 1u);
  EXPECT_EQ(x->card, 1u);
  EXPECT_EQ(y->card, 1u);
  EXPECT_FALSE(view.isInstance(*view.unitOfShare(1)));
}

TEST(DeviceView, MoreThanPageHolds_MaximumNumbered) {
  ledger::ControlPage page{};
  for (unsigned i = 0; i < ledger::kMaxDevices; ++i) {
    std::snprintf(page.devices[i].uuid, sizeof page.devices[i].uuid, "GPU-%u", i);
    std::snprintf(page.devices[i].pci_bus_id, sizeof page.devices[i].pci_bus_id, "%04x:00:00.0",
                  100 - i);
  }
  DeviceView view{};
  view.build(page, ledger::kMaxDevices + 1);
  EXPECT_EQ(view.cardCount(), ledger::kMaxDevices);
  EXPECT_EQ(view.indexOf(*view.unitOfShare(0)), ledger::kMaxDevices - 1);
}

TEST(Deliver, TooLittleRoom_CountAndInsufficientSize) {
  const unsigned rows[] = {7, 8, 9};
  unsigned out[3] = {};
  unsigned count = 0;
  EXPECT_EQ(deliver(rows, 3, &count, static_cast<unsigned*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 3u);
  count = 2;
  EXPECT_EQ(deliver(rows, 3, &count, out), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(deliver(rows, 3, &count, out), NVML_SUCCESS);
  EXPECT_EQ(out[2], 9u);
  count = 5;
  EXPECT_EQ(deliver(rows, 0, &count, static_cast<unsigned*>(nullptr)), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST(OwnerSeemsAlive, LiveDeadAndReusedPid_ToldApart) {
  const ledger::Owner self = ledger::readOwner(static_cast<std::uint32_t>(::getpid())).value();
  EXPECT_TRUE(ownerSeemsAlive(self));
  EXPECT_TRUE(ownerSeemsAlive({self.pid, 0})) << "without a start time the number decides";
  EXPECT_FALSE(ownerSeemsAlive({self.pid, self.start + 1})) << "another process has the number";
  EXPECT_FALSE(ownerSeemsAlive({(1u << 22) + 1, 0})) << "above every pid";
}

}  // namespace
}  // namespace divvy::interposer
