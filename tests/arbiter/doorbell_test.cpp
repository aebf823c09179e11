#include "doorbell.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <thread>

#include "clock.h"

namespace divvy::arbiter {
namespace {

constexpr Nanos kLong = 20 * kSecond;

class DoorbellTest : public ::testing::TestWithParam<bool> {
 protected:
  Doorbell doorbell_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(WithAndWithoutWaitv, DoorbellTest, ::testing::Bool());

TEST_P(DoorbellTest, Deadline_WaitReturnsThen) {
  const Nanos until = clockNow() + kMillisecond;
  doorbell_.listen();
  while (clockNow() < until) ASSERT_TRUE(doorbell_.wait(until));
}

TEST_P(DoorbellTest, RingBeforeWait_IsNotLost) {
  const std::uint32_t bell = 7;
  doorbell_.add(&bell, 7);
  doorbell_.listen();
  doorbell_.ring();
  const Nanos before = clockNow();
  EXPECT_TRUE(doorbell_.wait(before + kLong));
  EXPECT_LT(clockNow(), before + kLong);
}

TEST_P(DoorbellTest, RingDuringWait_EndsIt) {
  doorbell_.listen();
  std::thread other([&] { doorbell_.ring(); });
  const Nanos before = clockNow();
  EXPECT_TRUE(doorbell_.wait(before + kLong));
  EXPECT_LT(clockNow(), before + kLong);
  other.join();
}

TEST_P(DoorbellTest, OneOfManyBells_EndsWait) {
  // More than the kernel waits on at once: the last of them is found by looking.
  static std::uint32_t bells[300];
  for (const unsigned rung : {0u, 126u, 127u, 299u}) {
    doorbell_.clear();
    for (const std::uint32_t& bell : bells) doorbell_.add(&bell, bell);
    doorbell_.listen();
    std::thread other([&] {
      __atomic_fetch_add(&bells[rung], 1, __ATOMIC_RELEASE);
      syscall(SYS_futex, &bells[rung], FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    });
    const Nanos before = clockNow();
    EXPECT_TRUE(doorbell_.wait(before + kLong)) << rung;
    EXPECT_LT(clockNow(), before + kLong) << rung;
    other.join();
  }
}

// A tenant that truncates its file takes the bell's page away.
TEST(Doorbell, InaccessibleBell_WaitReturnsFalse) {
  // No access, and not unmapped: the next allocation could get the address, with a word of 0.
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  Doorbell doorbell(true);
  doorbell.add(static_cast<const std::uint32_t*>(page), 0);
  doorbell.listen();
  EXPECT_FALSE(doorbell.wait(clockNow() + kLong));
  munmap(page, 4096);
}

}  // namespace
}  // namespace divvy::arbiter
