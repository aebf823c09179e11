// Who enforces a tenant's compute, as `divvy run` and `divvy ls` tell it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "fake_mps.h"
#include "sandbox.h"
#include "simgpu/interval_reader.h"

namespace divvy::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kShowMps =
    "echo [$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE] at $CUDA_MPS_PIPE_DIRECTORY; read end";

// A machine whose own driver is the simulated one: MPS is only looked for beside real cards.
class Machine {
 public:
  Machine() {
    sandbox.set("LD_LIBRARY_PATH", buildDir() + "/simgpu");
    sandbox.set("SIMGPU_PROFILE", "4090x2");
    sandbox.set("SIMGPU_DIR", mps.dir() + "/card");
    sandbox.set("CUDA_MPS_PIPE_DIRECTORY", mps.dir());
  }
  Words run(const Words& options, const std::string& script) const {
    Words words{"run", "--memory", "1Gi"};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word :
         {std::string("--"), std::string("sh"), std::string("-c"), script})
      words.push_back(word);
    return words;
  }

  FakeMps mps;  // outlives the agent
  Sandbox sandbox{"gpu"};
};

TEST(Enforce, AutoWithMps_MpsEnforcesCores) {
  Machine machine;
  machine.mps.start();
  Child tenant = machine.sandbox.start(
      machine.run({"--gpus", "2", "--cores", "60", "--name", "web"}, kShowMps));
  ASSERT_TRUE(tenant.printed("[30] at " + machine.mps.dir() + "\n")) << tenant.out();
  const agent::Snapshot now = machine.sandbox.snapshot();
  EXPECT_EQ(now.tenants.at(0).backend, "mps");
  const Outcome set = machine.sandbox.divvy({"resize", "web", "--cores", "50"});
  EXPECT_NE(set.code(), 0);
  EXPECT_THAT(set.err, HasSubstr("fixed at start"));
  EXPECT_EQ(machine.sandbox.divvy({"resize", "web", "--memory", "2Gi"}).code(), 0);
}

TEST(Enforce, AgentRestarted_BackendIsKnown) {
  Machine machine;
  machine.mps.start();
  Child tenant = machine.sandbox.start(machine.run({"--cores", "30"}, kShowMps));
  ASSERT_TRUE(tenant.printed("[30]"));
  const int first = machine.sandbox.agentPid();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] {  // `divvy run` starts another one
    const agent::Snapshot now = machine.sandbox.snapshot();
    return now.agent_pid != first && now.tenants.size() == 1;
  }));
  EXPECT_EQ(machine.sandbox.snapshot().tenants[0].backend, "mps");
}

TEST(Enforce, NoMpsDaemon_InterposerEnforces) {
  Machine machine;
  Child tenant = machine.sandbox.start(machine.run({"--cores", "30"}, kShowMps));
  ASSERT_TRUE(tenant.printed("[] at " + machine.mps.dir() + "\n")) << tenant.out();
  EXPECT_EQ(machine.sandbox.snapshot().tenants.at(0).backend, "interposer");
}

TEST(Enforce, InterposerNamed_InterposerEnforces) {
  Machine machine;
  machine.mps.start();
  Child tenant = machine.sandbox.start(
      machine.run({"--cores", "30", "--enforce", "interposer"}, "echo up; read end"));
  ASSERT_TRUE(tenant.printed("up"));
  EXPECT_EQ(machine.sandbox.snapshot().tenants.at(0).backend, "interposer");
}

TEST(Enforce, MpsDaemonDead_RunIsRefused) {
  Machine machine;
  machine.mps.start();
  machine.mps.kill();
  const Outcome refused =
      machine.sandbox.divvy(machine.run({"--cores", "30", "--enforce", "mps"}, "echo never"));
  EXPECT_EQ(refused.code(), 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("--enforce mps: no MPS daemon"));
  EXPECT_THAT(refused.err, HasSubstr(machine.mps.dir()));
  EXPECT_TRUE(machine.sandbox.tenantCount(0));
}

TEST(Enforce, SimulatedDevice_MpsIsRefused) {
  Sandbox sandbox;
  FakeMps mps;
  mps.start();
  sandbox.set("CUDA_MPS_PIPE_DIRECTORY", mps.dir());
  const Outcome refused = sandbox.divvy({"run", "--sim", "h100", "--memory", "1Gi", "--cores", "30",
                                         "--enforce", "mps", "--", "true"});
  EXPECT_THAT(refused.err, HasSubstr("a simulated card has no MPS; use --enforce interposer"));
  Child tenant = sandbox.start({"run", "--sim", "h100", "--memory", "1Gi", "--cores", "30", "--",
                                "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(tenant.printed("up"));
  EXPECT_EQ(sandbox.snapshot().tenants.at(0).backend, "interposer");
}

Words sliced(const std::string& cores, const Words& command) {
  Words words{"run",     "--sim", "h100",      "--memory",  "1Gi",
              "--cores", cores,   "--enforce", "timeslice", "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Two contexts that always want the card get it in the proportion of their slices; nobody gates
// them. What the card executed is its own log's word.
TEST(Enforce, TimeSlices_DeviceTimeFollowsWeights) {
  Sandbox sandbox;
  const Words spin{buildDir() + "/tests/spinner", "1000000"};
  Child light = sandbox.start(sliced("25", spin));
  ASSERT_TRUE(light.printed("spinning")) << sandbox.agentLog();
  Child heavy = sandbox.start(sliced("75", spin));
  ASSERT_TRUE(heavy.printed("spinning"));
  const agent::Snapshot now = sandbox.snapshot();
  ASSERT_EQ(now.tenants.size(), 2u);
  EXPECT_EQ(now.tenants[0].backend, "timeslice");
  const auto card = [&] { return simgpu::readIntervals(sandbox.dir() + "/card", 0); };
  const auto start = card();
  ASSERT_TRUE(start);
  const std::uint64_t from = start->horizon_ns;
  const std::uint64_t to = from + 1'000'000'000;
  ASSERT_TRUE(eventually([&] {
    const auto view = card();
    return view && view->horizon_ns >= to;
  }));
  const auto view = card();
  ASSERT_TRUE(view);
  std::map<unsigned, double> got;
  for (const agent::TenantView& tenant : now.tenants) {
    got[tenant.shares.at(0).cores] = static_cast<double>(
        simgpu::busyWithin(*view, tenant.pid, simgpu::CardEngine::kCompute, from, to));
  }
  EXPECT_NEAR(100 * got[75] / (got[25] + got[75]), 75, 5);
  for (const agent::TenantView& tenant : sandbox.snapshot().tenants) {
    EXPECT_EQ(tenant.grants_per_s, 0u);
    EXPECT_EQ(tenant.waits, 0u);
  }
}

TEST(Enforce, TimeSlicesRefusedByDriver_ReasonIsGiven) {
  Sandbox sandbox;
  sandbox.set("SIMGPU_RM", "refuse");
  const Outcome refused = sandbox.divvy(sliced("30", {"echo", "never"}));
  EXPECT_EQ(refused.code(), 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("--enforce timeslice: time slices were tried"));
  EXPECT_THAT(refused.err, HasSubstr("status 0x1b"));
  EXPECT_THAT(sandbox.agentLog(), HasSubstr("status 0x1b"));
}

TEST(Enforce, TimeSlicesIgnoredByDriver_RunIsRefused) {
  Sandbox sandbox;
  sandbox.set("SIMGPU_RM", "ignore");
  const Outcome refused = sandbox.divvy(sliced("30", {"true"}));
  EXPECT_EQ(refused.code(), 1);
  EXPECT_THAT(refused.err, HasSubstr("of the device instead of 75%"));
}

TEST(Enforce, TimeSliceProbe_IsTriedOnce) {
  Sandbox sandbox;
  sandbox.set("SIMGPU_RM", "refuse");
  EXPECT_EQ(sandbox.divvy(sliced("30", {"true"})).code(), 1);
  sandbox.set("SIMGPU_RM", "");
  EXPECT_EQ(sandbox.divvy(sliced("30", {"true"})).code(), 1);
  EXPECT_EQ(
      sandbox.divvy({"run", "--sim", "h100", "--memory", "1Gi", "--cores", "30", "--", "true"})
          .code(),
      0);
}

TEST(Enforce, UnknownBackend_ErrorNamesAccepted) {
  Sandbox sandbox;
  const Outcome refused =
      sandbox.divvy({"run", "--sim", "h100", "--enforce", "magic", "--", "true"});
  EXPECT_EQ(refused.code(), 2);
  EXPECT_THAT(refused.err, HasSubstr("accepted: auto, interposer, mps, timeslice"));
}

}  // namespace
}  // namespace divvy::test
