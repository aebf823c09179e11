// `divvy run`: what the command sees, and what its caller sees of it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "sandbox.h"

namespace divvy::test {
namespace {

TEST(Run, CommandExits_StatusPassedThrough) {
  Sandbox sandbox;
  for (const int code : {0, 1, 7, 126, 255}) {
    EXPECT_EQ(
        sandbox.divvy(sandbox.runWords("4Gi", {"sh", "-c", "exit " + std::to_string(code)})).code(),
        code);
  }
}

TEST(Run, CommandKilledBySignal_RunKilledBySameSignal) {
  Sandbox sandbox;
  for (const int number : {SIGTERM, SIGKILL, SIGSEGV, SIGUSR1, SIGHUP}) {
    const Outcome outcome = sandbox.divvy(
        sandbox.runWords("4Gi", {"sh", "-c", "kill -" + std::to_string(number) + " $$"}));
    EXPECT_EQ(outcome.signal(), number);
  }
}

TEST(Run, SignalsToRun_ReachCommand) {
  Sandbox sandbox;
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT}) {
    const std::string trap = "trap 'echo got; kill -9 $!; exit 42' " + std::to_string(number) +
                             "; sleep 100000 & echo up; wait";
    Child run = sandbox.run("4Gi", {"sh", "-c", trap});
    ASSERT_TRUE(run.printed("up"));
    run.signal(number);
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.code(), 42) << number;
    EXPECT_EQ(outcome.out, "up\ngot\n") << number;
  }
}

TEST(Run, SignalMaskAndDispositions_SameAsCallers) {
  Sandbox sandbox;
  const Outcome bare = Child({"grep", "^Sig[BI]", "/proc/self/status"}, {}).wait();
  const Outcome outcome =
      sandbox.divvy(sandbox.runWords("4Gi", {"grep", "^Sig[BI]", "/proc/self/status"}));
  EXPECT_EQ(outcome.out, bare.out);
}

TEST(Run, CommandNotFound_Exit127AndShareFreed) {
  Sandbox sandbox;
  const Outcome outcome = sandbox.divvy(sandbox.runWords("4Gi", {"no-such-program-anywhere"}));
  EXPECT_EQ(outcome.code(), 127);
  EXPECT_EQ(outcome.err, "divvy: no-such-program-anywhere: No such file or directory\n");
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

TEST(Run, CommandNotExecutable_Exit126AndShareFreed) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy(sandbox.runWords("4Gi", {"/dev/null"})).code(), 126);
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

TEST(Run, OptionsAfterDashes_BelongToCommand) {
  Sandbox sandbox;
  const Outcome outcome =
      sandbox.divvy(sandbox.runWords("4Gi", {"echo", "--memory", "--", "-h", "--sim"}));
  EXPECT_EQ(outcome.out, "--memory -- -h --sim\n");
}

TEST(Run, CommandWithoutDashes_Accepted) {
  Sandbox sandbox;
  EXPECT_EQ(
      sandbox.divvy({"run", "--sim", "h100", "--memory", "4Gi", "echo", "-n", "--memory"}).out,
      "--memory");
}

TEST(Run, StandardStreams_PassedToCommand) {
  Sandbox sandbox;
  Child run = sandbox.run("4Gi", {"sh", "-c", "cat; echo error >&2"});
  run.say("through\n");
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.out, "through\n");
  EXPECT_EQ(outcome.err, "error\n");
}

TEST(Run, EarlierPreloadAndLibraryPath_Kept) {
  Sandbox sandbox;
  sandbox.set("LD_PRELOAD", "libm.so.6");
  sandbox.set("LD_LIBRARY_PATH", "/nowhere");
  const Outcome outcome = sandbox.divvy(
      sandbox.runWords("4Gi", {"sh", "-c", "echo $LD_PRELOAD; echo $LD_LIBRARY_PATH"}));
  EXPECT_NE(outcome.out.find("libdivvy-cuda.so:"), std::string::npos);
  EXPECT_NE(outcome.out.find("libdivvy-nvml.so:libm.so.6\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("/simgpu:/nowhere\n"), std::string::npos);
}

TEST(Run, NoMemoryOption_FullCard) {
  Sandbox sandbox;
  Child run = sandbox.start({"run", "--sim", "h100", "--", "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const agent::Snapshot now = sandbox.snapshot();
  EXPECT_EQ(now.tenants.at(0).shares.at(0).limit, now.devices.at(0).physical);
}

TEST(Run, MemoryInPercent_OfDeviceChosen) {
  Sandbox sandbox;
  Child run = sandbox.run("25%", {"sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const agent::Snapshot now = sandbox.snapshot();
  EXPECT_EQ(now.tenants.at(0).shares.at(0).limit, now.devices.at(0).physical / 4);
}

TEST(Run, SeveralGpus_DistinctDevicesAndCoresSplit) {
  Sandbox sandbox("sim-rtx4090x4");
  Child run = sandbox.start({"run", "--sim", "4090x4", "--gpus", "3", "--memory", "1Gi", "--cores",
                             "90", "--", "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const agent::Snapshot now = sandbox.snapshot();
  ASSERT_EQ(now.tenants.at(0).shares.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(now.tenants[0].shares[i].device, i);
    EXPECT_EQ(now.tenants[0].shares[i].cores, 30u);
    EXPECT_EQ(now.devices.at(i).tenants, 1u);
  }
  EXPECT_EQ(now.devices.at(3).tenants, 0u);
}

TEST(Run, UuidPrefix_SelectsDevice) {
  Sandbox sandbox("sim-rtx4090x4");
  Child first = sandbox.start(
      {"run", "--sim", "4090x4", "--memory", "1Gi", "--", "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(first.printed("up"));
  const std::string uuid = sandbox.snapshot().devices.at(2).uuid;
  Child run = sandbox.start({"run", "--sim", "4090x4", "--memory", "1Gi", "--uuid",
                             uuid.substr(0, 20), "--", "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  EXPECT_EQ(sandbox.snapshot().devices.at(2).tenants, 1u);
}

TEST(Run, ContextsOutsideShare_AllocatedBesideIt) {
  Sandbox sandbox;
  Child run = sandbox.start({"run", "--sim", "h100", "--memory", "100Mi", "--context-overhead",
                             "outside", "--", "sh", "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const agent::Snapshot now = sandbox.snapshot();
  EXPECT_EQ(now.tenants.at(0).shares.at(0).limit, mib(100).count);
  EXPECT_EQ(now.devices.at(0).allocated, mib(100).count + now.devices.at(0).context);
}

TEST(Run, CoresAboveHundredInSum_Accepted) {
  Sandbox sandbox;
  Child run = sandbox.start({"run", "--sim", "h100", "--memory", "1Gi", "--cores", "70", "--", "sh",
                             "-c", "echo up; read end"});
  ASSERT_TRUE(run.printed("up"));
  const Outcome second =
      sandbox.divvy({"run", "--sim", "h100", "--memory", "1Gi", "--cores", "40", "--", "true"});
  EXPECT_EQ(second.code(), 0) << second.err;
}

TEST(Run, NameOfRunningTenant_RefusedUntilItEnds) {
  Sandbox sandbox;
  const Words words{"run", "--sim", "h100", "--memory",         "1Gi", "--name", "web",
                    "--",  "sh",    "-c",   "echo up; read end"};
  Child run = sandbox.start(words);
  ASSERT_TRUE(run.printed("up"));
  const Outcome refused = sandbox.divvy(words);
  EXPECT_EQ(refused.code(), 2);
  EXPECT_NE(refused.err.find("name \"web\" belongs to tenant"), std::string::npos) << refused.err;
  run.closeInput();
  run.wait();
  EXPECT_EQ(sandbox.divvy(words).out, "up\n");
}

TEST(Run, NestedRun_GetsOwnShare) {
  Sandbox sandbox;
  Words words = sandbox.runWords("4Gi", {divvyProgram()});
  const Words inner = sandbox.runWords("2Gi", {"sh", "-c", "echo $DIVVY_TENANT_DIR"});
  words.insert(words.end(), inner.begin(), inner.end());
  const Outcome outcome = sandbox.divvy(words);
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  EXPECT_EQ(outcome.out.find(sandbox.tenants()), 0u) << outcome.out;
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

}  // namespace
}  // namespace divvy::test
