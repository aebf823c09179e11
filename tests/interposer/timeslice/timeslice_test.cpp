// libdivvy-timeslice.so above a kernel module that keeps a list of what reached it: both are
// preloaded into this program, with DIVVY_TIMESLICE_US=3000 (see CMakeLists.txt).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <vector>

#include "abi/rm_ioctl.h"
#include "fake_rm.h"
#include "interposer/timeslice.h"
#include "timeslice/channel_groups.h"

namespace divvy::interposer::test {
namespace {

namespace rm = abi::rm;

constexpr std::uint32_t kClient = 0xc1d00001;
constexpr int kDevice = 77;  // a descriptor like any other

template <typename Function>
Function* preloaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::vector<FakeCall> takeCalls() {
  unsigned count = 0;
  const FakeCall* calls = preloaded<decltype(fake_calls)>("fake_calls")(&count);
  std::vector<FakeCall> all(calls, calls + count);
  preloaded<decltype(fake_forget)>("fake_forget")();
  return all;
}

// The slices that were set since the last look.
std::vector<FakeCall> takeSlices() {
  std::vector<FakeCall> all = takeCalls();
  std::erase_if(all, [](const FakeCall& call) { return call.command != rm::kSetTimeslice; });
  return all;
}

unsigned groups() {
  return preloaded<decltype(divvy_timeslice_groups)>("divvy_timeslice_groups")();
}

int allocate(std::uint32_t object, std::uint32_t object_class = rm::kChannelGroupClass,
             std::uint32_t status = rm::kOk) {
  rm::AllocWithRights alloc{};
  alloc.client = kClient;
  alloc.object = object;
  alloc.object_class = object_class;
  alloc.status = status;
  return ioctl(kDevice, rm::request(rm::kAlloc, sizeof alloc), &alloc);
}

void release(std::uint32_t object) {
  rm::Free freed{kClient, 0, object, rm::kOk};
  ioctl(kDevice, rm::request(rm::kFree, sizeof freed), &freed);
}

void control(std::uint32_t object, std::uint32_t command) {
  rm::TimesliceParams params{2048};
  rm::Control call{kClient,       object, command, 0, reinterpret_cast<std::uint64_t>(&params),
                   sizeof params, rm::kOk};
  ioctl(kDevice, rm::request(rm::kControl, sizeof call), &call);
}

class Timeslice : public ::testing::Test {
 protected:
  void SetUp() override { takeCalls(); }
  void TearDown() override {
    preloaded<decltype(fake_slice_status)>("fake_slice_status")(rm::kOk);
    release(0);
  }
};

TEST_F(Timeslice, UnknownRequest_PassedUnchanged) {
  int value = 5;
  EXPECT_EQ(ioctl(3, 0x5413, &value), 0);
  EXPECT_EQ(ioctl(kDevice, rm::request(0x4e, 56), &value), 0);
  const std::vector<FakeCall> calls = takeCalls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].fd, 3);
  EXPECT_EQ(calls[0].request, 0x5413u);
  EXPECT_EQ(calls[0].argument, &value);
  EXPECT_EQ(groups(), 0u);
}

TEST_F(Timeslice, NewChannelGroup_SliceSet) {
  EXPECT_EQ(allocate(11), 0);
  EXPECT_EQ(allocate(12, 0xc86f), 0);  // some other class
  const std::vector<FakeCall> slices = takeSlices();
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].fd, kDevice);
  EXPECT_EQ(slices[0].client, kClient);
  EXPECT_EQ(slices[0].object, 11u);
  EXPECT_EQ(slices[0].micros, 3000u);
  EXPECT_EQ(groups(), 1u);
}

TEST_F(Timeslice, OlderAndTransferredAllocation_SliceSet) {
  rm::Alloc older{kClient, 0, 13, rm::kChannelGroupClass, 0, 0, rm::kOk};
  ioctl(kDevice, rm::request(rm::kAlloc, sizeof older), &older);
  older.object = 14;
  rm::Transfer envelope{rm::kAlloc, sizeof older, reinterpret_cast<std::uint64_t>(&older)};
  ioctl(kDevice, rm::request(rm::kTransfer, sizeof envelope), &envelope);
  const std::vector<FakeCall> slices = takeSlices();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].object, 13u);
  EXPECT_EQ(slices[1].object, 14u);
}

TEST_F(Timeslice, ObjectOrClientFreed_GroupsForgotten) {
  allocate(15);
  allocate(16);
  EXPECT_EQ(groups(), 2u);
  release(15);
  EXPECT_EQ(groups(), 1u);
  release(kClient);
  EXPECT_EQ(groups(), 0u);
}

TEST_F(Timeslice, FailedAllocation_NotReadOrCounted) {
  preloaded<decltype(fake_fail)>("fake_fail")(EFAULT);
  errno = 0;
  // The kernel refused this pointer; whoever reads it dies.
  EXPECT_EQ(
      ioctl(kDevice, rm::request(rm::kAlloc, sizeof(rm::Alloc)), reinterpret_cast<void*>(0x10)),
      -1);
  EXPECT_EQ(errno, EFAULT);
  allocate(17, rm::kChannelGroupClass, 0x51);
  EXPECT_EQ(groups(), 0u);
  EXPECT_TRUE(takeSlices().empty());
}

TEST_F(Timeslice, SliceRefused_ErrnoUnchangedAndFaultKept) {
  preloaded<decltype(fake_slice_status)>("fake_slice_status")(rm::kInsufficientPermissions);
  errno = 42;
  EXPECT_EQ(allocate(18), 0);
  EXPECT_EQ(errno, 42);
  EXPECT_EQ(preloaded<decltype(divvy_timeslice_fault)>("divvy_timeslice_fault")(),
            rm::kInsufficientPermissions);
}

// A group may not know its engine yet when it is made.
TEST_F(Timeslice, SliceRefused_RetriedWithBound) {
  preloaded<decltype(fake_slice_status)>("fake_slice_status")(rm::kInvalidArgument);
  allocate(19);
  EXPECT_EQ(takeSlices().size(), 1u);
  for (int i = 0; i < 100; ++i) {
    control(19, 0xa06c0101);
    preloaded<decltype(fake_forget)>("fake_forget")();
  }
  control(19, 0xa06c0101);
  EXPECT_EQ(takeSlices().size(), 0u);
  allocate(20);
  takeCalls();
  preloaded<decltype(fake_slice_status)>("fake_slice_status")(rm::kOk);
  control(20, 0xa06c0101);
  EXPECT_EQ(takeSlices().size(), 1u);
  control(20, 0xa06c0101);
  EXPECT_EQ(takeSlices().size(), 0u);
}

TEST_F(Timeslice, DriverSetsSlice_OverriddenByOurs) {
  allocate(21);
  takeCalls();
  control(21, rm::kSetTimeslice);
  const std::vector<FakeCall> slices = takeSlices();
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].micros, 2048u);
  EXPECT_EQ(slices[1].micros, 3000u);
}

TEST_F(Timeslice, SetByIndex_OnlyExistingGroupsSet) {
  auto* set = preloaded<decltype(divvy_timeslice_set)>("divvy_timeslice_set");
  allocate(22);
  allocate(23);
  takeCalls();
  EXPECT_EQ(set(0, 2, 500), 2u);
  EXPECT_EQ(set(2, 2000, 500), 0u);
  EXPECT_EQ(takeSlices().size(), 2u);
}

TEST_F(Timeslice, MoreGroupsThanCapacity_NotTracked) {
  for (std::uint32_t i = 0; i < 2 * ChannelGroups::kCapacity; ++i) {
    allocate(1000 + i);
    preloaded<decltype(fake_forget)>("fake_forget")();
  }
  EXPECT_EQ(groups(), ChannelGroups::kCapacity);
}

}  // namespace
}  // namespace divvy::interposer::test
