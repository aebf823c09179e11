#include "policy/meter.h"

#include <gtest/gtest.h>

namespace divvy::arbiter {
namespace {

// Uses 7/8 of its presence as far as is known.
Meter gappy() {
  Meter meter;
  meter.pass(1e7);
  meter.accept(5e6);
  meter.idle();
  return meter;
}

TEST(Meter, TimeToUse_PredictsUnsettled) {
  Meter meter = gappy();
  meter.pass(1e6);
  const double wait = meter.timeToUse(7e5);
  EXPECT_NEAR(wait, 8e5, 1);
  const double before = meter.unsettled();
  meter.pass(wait);
  EXPECT_NEAR(meter.unsettled() - before, 7e5, 1);
}

// The arbiter was woken at that instant, found nothing, and was woken again after as long.
TEST(Meter, SettledAhead_WaitsUntilUsedUp) {
  Meter meter = gappy();
  meter.pass(1e6);
  meter.accept(1e6);
  ASSERT_EQ(meter.unsettled(), 0);
  const double wait = meter.timeToUse(7e5);
  meter.pass(wait - 10);
  EXPECT_LT(meter.unsettled(), 7e5);
  meter.pass(20);
  EXPECT_GE(meter.unsettled(), 7e5);
}

}  // namespace
}  // namespace divvy::arbiter
