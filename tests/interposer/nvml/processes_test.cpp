// Which processes a tenant sees, against a node whose every answer is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "interposer/nvml_hooks.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer::test {
namespace {

constexpr unsigned kNeighbour = 1'000'000;  // a pid of somebody else
constexpr unsigned kOnNode = 2'000'000;     // what the node calls our first process

using Seen = std::map<unsigned, unsigned long long>;  // pid -> bytes

// Asks as programs do: the length first, then the list.
template <typename Info, typename Ask>
Seen list(Ask ask) {
  unsigned count = 0;
  const nvmlReturn_t first = ask(&count, static_cast<Info*>(nullptr));
  EXPECT_EQ(first, count == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE);
  std::vector<Info> rows(count + 2);
  unsigned written = count + 2;
  EXPECT_EQ(ask(&written, rows.data()), NVML_SUCCESS);
  EXPECT_EQ(written, count);
  Seen seen;
  for (unsigned i = 0; i < written; ++i) seen[rows[i].pid] = rows[i].usedGpuMemory;
  EXPECT_EQ(seen.size(), written) << "a pid twice";
  return seen;
}

Seen computeV1(nvmlDevice_t device) {
  return list<nvmlProcessInfo_v1_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetComputeRunningProcesses(device, n, rows);
  });
}
Seen computeV2(nvmlDevice_t device) {
  return list<nvmlProcessInfo_v2_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetComputeRunningProcesses_v2(device, n, rows);
  });
}
Seen computeV3(nvmlDevice_t device) {
  return list<nvmlProcessInfo_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetComputeRunningProcesses_v3(device, n, rows);
  });
}
Seen graphicsV3(nvmlDevice_t device) {
  return list<nvmlProcessInfo_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetGraphicsRunningProcesses_v3(device, n, rows);
  });
}
Seen graphicsV1(nvmlDevice_t device) {
  return list<nvmlProcessInfo_v1_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetGraphicsRunningProcesses(device, n, rows);
  });
}
Seen mpsV3(nvmlDevice_t device) {
  return list<nvmlProcessInfo_t>([=](auto* n, auto* rows) {
    return hook_nvmlDeviceGetMPSComputeRunningProcesses_v3(device, n, rows);
  });
}
Seen details(nvmlDevice_t device, nvmlProcessMode_t mode) {
  return list<nvmlProcessDetail_v1_t>([=](unsigned* n, nvmlProcessDetail_v1_t* rows) {
    nvmlProcessDetailList_t question{nvmlProcessDetailList_v1, mode, *n, rows};
    const nvmlReturn_t result = hook_nvmlDeviceGetRunningProcessDetailList(device, &question);
    *n = question.numProcArrayEntries;
    return result;
  });
}

// A card on which a neighbour computes, draws and runs under MPS all the time.
class NvmlProcessesTest : public testing::Test {
 protected:
  void run(const std::function<void(TenantDir&, FakeDevice&)>& body) {
    inFreshProcess([&] {
      addCards(2);
      FakeDevice& card = *fakeNode().cards()[0];
      card.compute = card.graphics = card.mps = {{kNeighbour, gib(20).count}};
      card.busy = card.accounted = card.encoding = {kNeighbour};
      TenantDir tenant({shareOf(card, gib(4)), shareOf(*fakeNode().cards()[1], gib(4))});
      body(tenant, card);
    });
  }
};

// HAMi #1340: host pids or nothing.
TEST_F(NvmlProcessesTest, ComputeProcesses_I6OnlyTenantsWithBytes) {
  run([](TenantDir& tenant, FakeDevice& card) {
    EXPECT_EQ(computeV3(card.handle()), Seen());
    const Holder one(tenant, 0, gib(1));
    const Holder two(tenant, 0, mib(300));
    const Holder elsewhere(tenant, 1, mib(7));
    const Seen expected{{one.pid(), gib(1).count}, {two.pid(), mib(300).count}};
    EXPECT_EQ(computeV1(card.handle()), expected);
    EXPECT_EQ(computeV2(card.handle()), expected);
    EXPECT_EQ(computeV3(card.handle()), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_COMPUTE), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_ALL), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_GRAPHICS), Seen());
    EXPECT_EQ(computeV3(fakeNode().cards()[1]->handle()), (Seen{{elsewhere.pid(), mib(7).count}}));
  });
}

TEST_F(NvmlProcessesTest, ContextWithoutMemory_I6SeenByDriversList) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder idle(tenant, 0, Bytes{0});
    EXPECT_EQ(computeV3(card.handle()), Seen()) << "no context, no compute process";
    idle.adopt(tenant, kOnNode);
    card.compute.push_back({kOnNode, mib(400).count});
    EXPECT_EQ(computeV3(card.handle()), (Seen{{idle.pid(), 0}}));
  });
}

TEST_F(NvmlProcessesTest, GraphicsAndMpsProcesses_I6Translated) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    EXPECT_EQ(graphicsV3(card.handle()), Seen());
    card.graphics.push_back({kOnNode, mib(1).count});
    card.mps.push_back({kOnNode, mib(1).count});
    const Seen expected{{mine.pid(), gib(1).count}};
    EXPECT_EQ(graphicsV3(card.handle()), expected);
    EXPECT_EQ(graphicsV1(card.handle()), expected);
    EXPECT_EQ(mpsV3(card.handle()), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_GRAPHICS), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_MPS), expected);
    EXPECT_EQ(details(card.handle(), NVML_PROCESS_MODE_ALL), expected) << "once, not twice";
  });
}

TEST_F(NvmlProcessesTest, ForeignPidEqualsOwnPid_I6NotListed) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    const Holder other(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    other.adopt(tenant, kOnNode + 1);
    // The node's numbers: ours is there, and a neighbour that the node calls as we call `other`.
    card.graphics = {{kOnNode, 0}, {other.pid(), 0}};
    EXPECT_EQ(graphicsV3(card.handle()), (Seen{{mine.pid(), gib(1).count}}));
  });
}

TEST_F(NvmlProcessesTest, DriverTranslatesPids_I6OwnProcessListed) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    card.graphics.push_back({mine.pid(), 0});
    const Seen expected{{mine.pid(), gib(1).count}};
    EXPECT_EQ(graphicsV3(card.handle()), expected) << "with the agent away";
    mine.adopt(tenant, kOnNode);
    EXPECT_EQ(graphicsV3(card.handle()), expected);
  });
}

TEST_F(NvmlProcessesTest, DeadProcess_I6NotListed) {
  run([](TenantDir& tenant, FakeDevice& card) {
    Holder dead(tenant, 0, gib(1));
    dead.kill();
    EXPECT_EQ(computeV3(card.handle()), Seen()) << "although its slot waits for the agent";
    const Holder alive(tenant, 0, gib(2));
    EXPECT_EQ(computeV3(card.handle()), (Seen{{alive.pid(), gib(2).count}}));
  });
}

TEST_F(NvmlProcessesTest, TooLittleRoom_I6NeededCountReturned) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder one(tenant, 0, gib(1));
    const Holder two(tenant, 0, gib(1));
    nvmlProcessInfo_t row{};
    row.pid = 77;
    unsigned count = 1;
    EXPECT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, &row),
              NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(count, 2u);
    count = 3;
    EXPECT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, nullptr),
              NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), nullptr, &row),
              NVML_ERROR_INVALID_ARGUMENT);
  });
}

TEST_F(NvmlProcessesTest, WithoutMig_I6InstanceIdsAllOnes) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder one(tenant, 0, gib(1));
    nvmlProcessInfo_t row{};
    unsigned count = 1;
    ASSERT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, &row),
              NVML_SUCCESS);
    EXPECT_EQ(row.gpuInstanceId, 0xFFFFFFFFu);
    EXPECT_EQ(row.computeInstanceId, 0xFFFFFFFFu);
  });
}

TEST_F(NvmlProcessesTest, DriverFails_S6ErrorReturned) {
  run([](TenantDir&, FakeDevice& card) {
    unsigned count = 0;
    nvmlProcessDetailList_t question{nvmlProcessDetailList_v1, 9, 0, nullptr};
    EXPECT_EQ(hook_nvmlDeviceGetRunningProcessDetailList(card.handle(), &question),
              NVML_ERROR_INVALID_ARGUMENT);
    question.version = 2u << 24;
    EXPECT_EQ(hook_nvmlDeviceGetRunningProcessDetailList(card.handle(), &question),
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    EXPECT_EQ(hook_nvmlDeviceGetMPSComputeRunningProcesses_v2(card.handle(), &count, nullptr),
              NVML_ERROR_FUNCTION_NOT_FOUND);
    card.state = NVML_ERROR_GPU_IS_LOST;
    EXPECT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, nullptr),
              NVML_ERROR_GPU_IS_LOST);
    EXPECT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(nullptr, &count, nullptr),
              NVML_ERROR_INVALID_ARGUMENT);
  });
}

TEST_F(NvmlProcessesTest, Utilisation_I6OnlyTenantsProcesses) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    nvmlProcessUtilizationSample_t rows[4] = {};
    unsigned count = 4;
    EXPECT_EQ(hook_nvmlDeviceGetProcessUtilization(card.handle(), rows, &count, 0),
              NVML_ERROR_NOT_FOUND)
        << "only a neighbour is busy";
    card.busy.push_back(kOnNode);
    count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetProcessUtilization(card.handle(), nullptr, &count, 0),
              NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(count, 1u) << "one own process, whatever else is on the card";
    ASSERT_EQ(hook_nvmlDeviceGetProcessUtilization(card.handle(), rows, &count, 500), NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(rows[0].pid, mine.pid());
    EXPECT_EQ(rows[0].smUtil, 40u);
    EXPECT_EQ(rows[0].timeStamp, 502u);
    card.busy.clear();
    EXPECT_EQ(hook_nvmlDeviceGetProcessUtilization(card.handle(), rows, &count, 0),
              NVML_ERROR_NOT_FOUND);
  });
}

TEST_F(NvmlProcessesTest, NewerUtilisationCall_I6OnlyTenantsListed) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    nvmlProcessUtilizationInfo_v1_t row{};
    nvmlProcessesUtilizationInfo_t info{nvmlProcessesUtilizationInfo_v1, 1, 500, &row};
    EXPECT_EQ(hook_nvmlDeviceGetProcessesUtilizationInfo(card.handle(), &info),
              NVML_ERROR_NOT_FOUND);
    card.busy.push_back(kOnNode);
    info.procUtilArray = nullptr;
    EXPECT_EQ(hook_nvmlDeviceGetProcessesUtilizationInfo(card.handle(), &info),
              NVML_ERROR_INSUFFICIENT_SIZE);
    EXPECT_EQ(info.processSamplesCount, 1u);
    info.procUtilArray = &row;
    EXPECT_EQ(hook_nvmlDeviceGetProcessesUtilizationInfo(card.handle(), &info), NVML_SUCCESS);
    EXPECT_EQ(row.pid, mine.pid());
    EXPECT_EQ(row.timeStamp, 502u);
    EXPECT_EQ(info.procUtilArray, &row);
    info.version = 2u << 24;
    EXPECT_EQ(hook_nvmlDeviceGetProcessesUtilizationInfo(card.handle(), &info),
              NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  });
}

TEST_F(NvmlProcessesTest, Accounting_I6OnlyTenantsProcesses) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetAccountingPids(card.handle(), &count, nullptr), NVML_SUCCESS);
    EXPECT_EQ(count, 0u);
    card.accounted.push_back(kOnNode);
    EXPECT_EQ(hook_nvmlDeviceGetAccountingPids(card.handle(), &count, nullptr),
              NVML_ERROR_INSUFFICIENT_SIZE);
    unsigned pid = 0;
    ASSERT_EQ(count, 1u);
    ASSERT_EQ(hook_nvmlDeviceGetAccountingPids(card.handle(), &count, &pid), NVML_SUCCESS);
    EXPECT_EQ(pid, mine.pid());
    nvmlAccountingStats_t stats{};
    EXPECT_EQ(hook_nvmlDeviceGetAccountingStats(card.handle(), pid, &stats), NVML_SUCCESS);
    EXPECT_EQ(stats.maxMemoryUsage, kOnNode * 1000ull);
    nvmlAccountingStats_v2_t wide{};
    wide.pid = pid;
    EXPECT_EQ(hook_nvmlDeviceGetAccountingStats_v2(card.handle(), &wide), NVML_SUCCESS);
    EXPECT_EQ(wide.pid, pid);
    EXPECT_EQ(wide.maxMemoryUsage, kOnNode * 1000ull);
    stats.maxMemoryUsage = 5;
    EXPECT_EQ(hook_nvmlDeviceGetAccountingStats(card.handle(), kNeighbour, &stats),
              NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(stats.maxMemoryUsage, 5u);
    EXPECT_EQ(hook_nvmlDeviceGetAccountingStats(card.handle(), kOnNode, &stats),
              NVML_ERROR_NOT_FOUND)
        << "the node's numbers mean nothing here";
  });
}

TEST_F(NvmlProcessesTest, EncoderSessions_I6OnlyTenantsProcesses) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    card.encoding = {kNeighbour, kOnNode, kNeighbour};
    unsigned count = 0;
    EXPECT_EQ(hook_nvmlDeviceGetEncoderSessions(card.handle(), &count, nullptr), NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    nvmlEncoderSessionInfo_t session{};
    EXPECT_EQ(hook_nvmlDeviceGetEncoderSessions(card.handle(), &count, &session), NVML_SUCCESS);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(session.pid, mine.pid());
    EXPECT_EQ(session.sessionId, 1u);
  });
}

TEST_F(NvmlProcessesTest, FiveThousandForeignProcesses_I6OwnListed) {
  run([](TenantDir& tenant, FakeDevice& card) {
    const Holder mine(tenant, 0, gib(1));
    mine.adopt(tenant, kOnNode);
    for (unsigned i = 0; i < 5000; ++i) card.graphics.push_back({kNeighbour + i, 0});
    card.graphics.push_back({kOnNode, 0});
    EXPECT_EQ(graphicsV3(card.handle()), (Seen{{mine.pid(), gib(1).count}}));
  });
}

TEST(NvmlProcesses, ProcessesOfInstances_I6CarryInstanceIds) {
  inFreshProcess([] {
    addCards(1);
    FakeDevice& card = *fakeNode().cards()[0];
    FakeDevice& first = addInstance(card, "MIG-11111111-0000-5000-8000-000000000000", 7);
    FakeDevice& second = addInstance(card, "MIG-22222222-0000-5000-8000-000000000000", 8);
    TenantDir tenant({shareOf(first, gib(4)), shareOf(second, gib(4))});
    const Holder one(tenant, 0, gib(1));
    const Holder two(tenant, 1, gib(2));
    nvmlProcessInfo_t rows[3] = {};
    unsigned count = 3;
    ASSERT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(second.handle(), &count, rows),
              NVML_SUCCESS);
    ASSERT_EQ(count, 1u);
    EXPECT_EQ(rows[0].pid, two.pid());
    EXPECT_EQ(rows[0].gpuInstanceId, 8u);
    EXPECT_EQ(rows[0].computeInstanceId, 0u);
    count = 3;
    ASSERT_EQ(hook_nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &count, rows),
              NVML_SUCCESS);
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(rows[0].pid, one.pid());
    EXPECT_EQ(rows[0].gpuInstanceId, 7u);
    EXPECT_EQ(rows[1].pid, two.pid());
    EXPECT_EQ(rows[1].gpuInstanceId, 8u);
  });
}

}  // namespace
}  // namespace divvy::interposer::test
