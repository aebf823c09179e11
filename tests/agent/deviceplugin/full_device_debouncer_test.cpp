// When the kubelet is told not to offer what is full.
#include "deviceplugin/full_device_debouncer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace divvy::agent {
namespace {

using Set = std::set<std::string>;

constexpr std::uint64_t kStays = FullDeviceDebouncer::kStaysMs;
constexpr std::uint64_t kKnown = FullDeviceDebouncer::kKnownMs;

TEST(FullDeviceDebouncer, DeviceFull_ClosedBeforeWithdrawn) {
  FullDeviceDebouncer full;
  EXPECT_FALSE(full.update({"a"}, {}, 1000));
  EXPECT_FALSE(full.update({"a"}, {}, 1000 + kStays - 1));
  EXPECT_TRUE(full.update({"a"}, {}, 1000 + kStays));
  EXPECT_EQ(full.closed(), (Set{"a"}));
  EXPECT_EQ(full.withdrawn(), Set()) << "the node does not say it yet";
  EXPECT_FALSE(full.update({"a"}, {}, 1000 + 2 * kStays)) << "nor has it been able to";
  EXPECT_FALSE(full.update({"a"}, {"a"}, 100'000));
  EXPECT_TRUE(full.update({"a"}, {"a"}, 100'000 + kKnown));
  EXPECT_EQ(full.withdrawn(), (Set{"a"}));
}

TEST(FullDeviceDebouncer, RoomFreed_OfferedAgainAtOnce) {
  FullDeviceDebouncer full;
  for (const std::uint64_t at : {std::uint64_t{0}, kStays, kStays + kKnown})
    full.update({"a", "b"}, {"a", "b"}, at);
  ASSERT_EQ(full.withdrawn(), (Set{"a", "b"}));
  EXPECT_TRUE(full.update({"b"}, {"a", "b"}, kStays + kKnown + 1));
  EXPECT_EQ(full.closed(), (Set{"b"}));
  EXPECT_EQ(full.withdrawn(), (Set{"b"}));
  // Full again a moment later is full anew.
  EXPECT_FALSE(full.update({"a", "b"}, {"b"}, kStays + kKnown + 2));
  EXPECT_EQ(full.closed(), (Set{"b"}));
}

TEST(FullDeviceDebouncer, AnnotationRemoved_OfferedAgainThoughFull) {
  FullDeviceDebouncer full;
  full.update({"a"}, {"a"}, 0);
  full.update({"a"}, {"a"}, kStays);
  full.update({"a"}, {"a"}, kStays + kKnown);
  ASSERT_EQ(full.withdrawn(), (Set{"a"}));
  // Somebody took the annotation away: nobody waits for its units any more.
  EXPECT_TRUE(full.update({"a"}, {}, kStays + kKnown + 1));
  EXPECT_EQ(full.withdrawn(), Set());
  EXPECT_EQ(full.closed(), (Set{"a"}));
}

// Whatever comes and goes: units are withheld only of what is full now, and of what the node has
// been saying is full for long enough.
RC_GTEST_PROP(FullDeviceDebouncer, RandomLooks_WithdrawnOnlyOnceKnown, ()) {
  FullDeviceDebouncer full;
  std::map<std::string, std::uint64_t> full_for, said_for;  // since
  std::uint64_t now = 0;
  const auto steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    now += *rc::gen::inRange<std::uint64_t>(0, 6000);
    Set is, said;
    for (const char* uuid : {"a", "b", "c"}) {
      if (*rc::gen::inRange(0, 10) > 0) is.insert(uuid);
      if (*rc::gen::inRange(0, 10) > 0) said.insert(uuid);
      if (is.contains(uuid)) full_for.try_emplace(uuid, now);
      if (!is.contains(uuid)) full_for.erase(uuid);
      if (said.contains(uuid)) said_for.try_emplace(uuid, now);
      if (!said.contains(uuid)) said_for.erase(uuid);
    }
    full.update(is, said, now);
    for (const std::string& uuid : full.closed())
      RC_ASSERT(full_for.contains(uuid) && now - full_for[uuid] >= kStays);
    for (const std::string& uuid : full.withdrawn()) {
      RC_ASSERT(full.closed().contains(uuid));
      RC_ASSERT(said_for.contains(uuid) && now - said_for[uuid] >= kKnown);
    }
  }
}

}  // namespace
}  // namespace divvy::agent
