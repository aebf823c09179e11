// The laws, step by step: what is told to whom when, on scripts of a few events.
#include "arbiter/policy.h"

#include <gtest/gtest.h>

#include <map>

namespace divvy::arbiter {
namespace {

// Hands reports in and keeps what was told.
class Script {
 public:
  Script() : policy(Constants{}) {}

  TenantKey tenant(const Entitlement& terms = {}) {
    const TenantKey key = policy.add(terms, now);
    policy.setProcesses(key, 1, now);
    return key;
  }
  Report& said(TenantKey key) { return reports_[key]; }
  void wants(TenantKey key, bool waiting, bool in_flight) {
    said(key).waiting = waiting;
    said(key).in_flight = in_flight;
    policy.report(key, said(key), now);
  }
  void uses(TenantKey key, Nanos time, unsigned device = 0) {
    said(key).busy[device] += time;
    policy.report(key, said(key), now);
  }
  // What was told now, oldest first.
  std::vector<Order> decide() {
    std::vector<Order> orders = policy.decide(now);
    for (const Order& order : orders) {
      told[order.tenant] = order;
      seqs[order.tenant] = ++seq_;
      policy.issued(order, seq_);
    }
    return orders;
  }
  void drains(TenantKey key) {
    said(key).drained = seqs[key];
    policy.report(key, said(key), now);
  }
  Gate gate(TenantKey key) { return told.contains(key) ? told[key].gate : Gate::kOpen; }

  Nanos now = kSecond;
  SchedulingPolicy policy;
  std::map<TenantKey, Order> told;
  std::map<TenantKey, std::uint64_t> seqs;

 private:
  std::map<TenantKey, Report> reports_;
  std::uint64_t seq_ = 0;
};

// Whose memory may be away must never launch unseen.
TEST(SchedulingPolicy, NeverOpen_AloneGetsRunTurns) {
  Script script;
  Entitlement terms;
  terms.never_open = true;
  const TenantKey a = script.tenant(terms);
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kRun);
  EXPECT_EQ(script.told[a].mode, Mode::kSolo);
  EXPECT_EQ(script.told[a].quantum, 0);
  EXPECT_EQ(script.told[a].inflight, Constants{}.inflight_alone);
  const TenantKey b = script.tenant();
  script.wants(a, true, true);
  script.wants(b, true, false);
  script.decide();
  script.now += 20 * kMillisecond;
  script.decide();
  EXPECT_EQ(script.told[a].mode, Mode::kShare);
  script.policy.remove(b, script.now);
  for (unsigned i = 0; i < 10; ++i) {
    script.decide();
    EXPECT_NE(script.gate(a), Gate::kOpen);
    script.drains(a);
    script.now += 10 * kMillisecond;
  }
  EXPECT_EQ(script.gate(a), Gate::kRun);
  // From an open gate on, too.
  const TenantKey c = script.tenant({.devices = 2});
  script.decide();
  EXPECT_EQ(script.gate(c), Gate::kOpen);
  terms.devices = 2;
  script.policy.change(c, terms, script.now);
  script.decide();
  EXPECT_EQ(script.gate(c), Gate::kRun);
}

TEST(SchedulingPolicy, LoneTenant_GateStaysOpen) {
  Script script;
  const TenantKey a = script.tenant();
  EXPECT_TRUE(script.decide().empty());
  EXPECT_EQ(script.gate(a), Gate::kOpen);
  EXPECT_EQ(script.policy.nextWakeup(), kNever);
  EXPECT_EQ(script.policy.stats(a, script.now).mode, Mode::kSolo);
}

TEST(SchedulingPolicy, SecondTenant_BothGatedUntilItGoes) {
  Script script;
  const TenantKey a = script.tenant();
  script.decide();
  const TenantKey b = script.tenant();
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kRun) << "it ran until now";
  EXPECT_EQ(script.gate(b), Gate::kHold);
  EXPECT_EQ(script.told[a].mode, Mode::kShare);
  EXPECT_EQ(script.told[a].weight, 50u);
  script.policy.setProcesses(b, 0, script.now);
  EXPECT_LE(script.policy.nextWakeup(), script.now);
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kOpen);
  script.policy.remove(b, script.now);
  EXPECT_TRUE(script.decide().empty());
}

TEST(SchedulingPolicy, TenantWithoutProcess_IsNotShared) {
  Script script;
  const TenantKey a = script.tenant();
  script.policy.add(Entitlement{}, script.now);
  EXPECT_TRUE(script.decide().empty());
  EXPECT_EQ(script.gate(a), Gate::kOpen);
}

TEST(SchedulingPolicy, QuantumEnds_HandsOverOnceDrained) {
  Script script;
  const TenantKey a = script.tenant();
  const TenantKey b = script.tenant();
  script.wants(a, true, false);
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kRun);
  script.wants(a, false, true);
  script.wants(b, true, false);
  script.decide();
  EXPECT_EQ(script.gate(b), Gate::kHold);
  ASSERT_EQ(script.policy.nextWakeup(), kSecond + 10 * kMillisecond);
  script.now = script.policy.nextWakeup();
  script.uses(a, 9 * kMillisecond);
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kHold);
  EXPECT_EQ(script.gate(b), Gate::kHold) << "the work of the first is still there";
  script.now += kMillisecond;
  script.drains(a);
  script.decide();
  EXPECT_EQ(script.gate(b), Gate::kRun);
  EXPECT_EQ(script.told[b].inflight, Constants{}.inflight);
}

TEST(SchedulingPolicy, IdleHolder_LosesGrantOnlyIfWanted) {
  Script script;
  const TenantKey a = script.tenant();
  const TenantKey b = script.tenant();
  script.wants(a, true, false);
  script.decide();
  script.wants(a, false, false);
  EXPECT_TRUE(script.decide().empty()) << "nobody else wants it";
  script.wants(b, true, false);
  const auto orders = script.decide();
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].tenant, a);
  EXPECT_EQ(orders[0].gate, Gate::kHold);
  EXPECT_EQ(orders[1].tenant, b);
  EXPECT_EQ(orders[1].gate, Gate::kRun);
}

// On an H100 a service's request of ten launches waited for its own, where each was thought long.
TEST(SchedulingPolicy, OnlyLatencyTenant_MoreInFlight) {
  Script script;
  const TenantKey low = script.tenant({.cls = PriorityClass::kBestEffort});
  const TenantKey first = script.tenant({.cls = PriorityClass::kLatency});
  script.wants(low, true, false);
  script.wants(first, true, false);
  script.decide();
  EXPECT_EQ(script.told[first].mode, Mode::kLatency);
  EXPECT_EQ(script.told[first].inflight, Constants{}.inflight_alone);
  const TenantKey second = script.tenant({.cls = PriorityClass::kLatency});
  script.wants(first, false, true);
  script.wants(second, true, false);
  script.decide();
  EXPECT_EQ(script.told[first].inflight, Constants{}.inflight) << "somebody takes turns with it";
}

TEST(SchedulingPolicy, UndisturbedHolder_MoreInFlight) {
  Script script;
  const TenantKey a = script.tenant();
  const TenantKey b = script.tenant();
  script.wants(a, true, false);
  script.decide();
  EXPECT_EQ(script.told[a].inflight, Constants{}.inflight_alone);
  script.wants(a, false, true);
  script.wants(b, true, false);
  script.decide();
  EXPECT_EQ(script.told[a].inflight, Constants{}.inflight);
  script.wants(b, false, false);
  script.decide();
  EXPECT_EQ(script.told[a].inflight, Constants{}.inflight) << "not before the quantum ends";
  for (int i = 0; i < 3 && script.policy.nextWakeup() != kNever; ++i) {
    script.now = script.policy.nextWakeup();
    script.decide();
  }
  EXPECT_EQ(script.told[a].inflight, Constants{}.inflight_alone);
  EXPECT_EQ(script.told[a].quantum, 0);
  EXPECT_EQ(script.policy.nextWakeup(), kNever);
}

TEST(SchedulingPolicy, AtCap_HeldUntilWorthGoingOn) {
  Script script;
  const TenantKey a = script.tenant({.ceiling = 20});
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kRun);
  EXPECT_EQ(script.told[a].mode, Mode::kCap);
  script.wants(a, false, true);
  script.now += 5 * kMillisecond;
  script.uses(a, 5 * kMillisecond);
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kHold);
  script.drains(a);
  script.wants(a, true, false);
  script.decide();
  const Nanos held = script.policy.nextWakeup() - script.now;
  EXPECT_EQ(held, 15 * kMillisecond) << "2 ms of debt and 1 ms for the next grant, at a fifth";
  script.now = script.policy.nextWakeup();
  script.decide();
  EXPECT_EQ(script.gate(a), Gate::kRun);
}

TEST(SchedulingPolicy, UnknownTenant_IsIgnored) {
  Script script;
  script.policy.report(7, Report{}, script.now);
  script.policy.setProcesses(7, 1, script.now);
  script.policy.change(7, Entitlement{}, script.now);
  script.policy.remove(7, script.now);
  EXPECT_TRUE(script.decide().empty());
}

}  // namespace
}  // namespace divvy::arbiter
