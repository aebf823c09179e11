#include "tenant/usage_audit_monitor.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

TEST(WorksByDriver, NoDevice_Unknown) {
  EXPECT_EQ(worksByDriver("a", {}, {}, {{0, 50}}), std::nullopt);
}

TEST(WorksByDriver, OneDeviceWithoutFigure_Unknown) {
  EXPECT_EQ(worksByDriver("a", {0, 1}, {}, {{0, 50}}), std::nullopt);
  EXPECT_EQ(worksByDriver("a", {0, 1}, {}, {{0, 50}, {1, -1}}), std::nullopt);
}

TEST(WorksByDriver, DeviceIdle_False) {
  EXPECT_EQ(worksByDriver("a", {0}, {}, {{0, 0}}), false);
}

TEST(WorksByDriver, UseOfNoProcess_MayBeTheTenants) {
  EXPECT_EQ(worksByDriver("a", {0}, {}, {{0, 50}}), true);
}

TEST(WorksByDriver, UseOfAnother_IsNotTheTenants) {
  EXPECT_EQ(worksByDriver("a", {0}, {{"b", {{0, {50, 0}}}}}, {{0, 50}}), false);
  EXPECT_EQ(worksByDriver("a", {0}, {{"", {{0, {0, 50}}}}}, {{0, 50}}), false);
}

TEST(WorksByDriver, OwnProcessOnOneOfTwoDevices_True) {
  const DriverUsageByTenant seen = {{"a", {{1, {0, 20}}}}, {"b", {{0, {70, 0}}}}};
  EXPECT_EQ(worksByDriver("a", {0, 1}, seen, {{0, 70}, {1, 20}}), true);
}

}  // namespace
}  // namespace divvy::agent
