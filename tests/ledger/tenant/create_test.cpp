#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

std::size_t entries(const std::filesystem::path& dir) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir), {}));
}

TEST(TenantLedger, Create_ClosedDirectoryPreallocatedFiles) {
  PrivateDir dir;
  TenantLedger ledger = mustCreate(dir.path() / "t", specWith(1000));
  struct stat info {};
  ASSERT_EQ(stat((dir.path() / "t").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((dir.path() / "t/control").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  ASSERT_EQ(stat((dir.path() / "t/report").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  EXPECT_EQ(static_cast<std::size_t>(info.st_size), sizeof(ReportPage));
  EXPECT_GE(static_cast<std::size_t>(info.st_blocks) * 512, kSlotChunk * sizeof(Slot));
  EXPECT_LT(static_cast<std::size_t>(info.st_blocks) * 512, sizeof(ReportPage) / 2);
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(TenantLedger, Adopt_FindsWhatCreateWrote) {
  PrivateDir dir;
  TenantSpec spec = specWith(1000, 2);
  spec.name = "a name";
  spec.devices[1].uuid = "MIG-4711";
  spec.devices[1].pci_bus_id = "00000000:3B:00.0";  // fills its field
  spec.devices[1].guarantee = {500};
  spec.devices[1].headroom = {7};
  spec.devices[1].context = {300};
  spec.devices[1].cores_guarantee = 20;
  spec.devices[1].cores_ceiling = 60;
  spec.context_overhead_outside = true;
  spec.pressure_policy = kPressureSwap;
  spec.generation = 9;
  spec.driver_path = "/usr/lib/libcuda.so.1";
  spec.agent_socket = "/run/divvy/register.sock";
  (void)mustCreate(dir.path() / "t", spec);
  Result<TenantLedger> ledger = TenantLedger::adopt(dir.path() / "t");
  ASSERT_TRUE(ledger);
  const TenantSpec& found = ledger->spec();
  EXPECT_EQ(found.id, spec.id);
  EXPECT_EQ(found.devices[1].pci_bus_id, spec.devices[1].pci_bus_id);
  EXPECT_EQ(found.name, spec.name);
  EXPECT_TRUE(found.context_overhead_outside);
  EXPECT_TRUE(found.charges_contexts);
  EXPECT_EQ(found.pressure_policy, kPressureSwap);
  EXPECT_EQ(found.generation, 9u);
  EXPECT_EQ(found.driver_path, spec.driver_path);
  EXPECT_EQ(found.agent_socket, spec.agent_socket);
  ASSERT_EQ(found.devices.size(), 2u);
  EXPECT_EQ(found.devices[1].uuid, "MIG-4711");
  EXPECT_EQ(found.devices[1].guarantee.count, 500u);
  EXPECT_EQ(found.devices[1].headroom.count, 7u);
  EXPECT_EQ(found.devices[1].context.count, 300u);
  EXPECT_EQ(found.devices[1].cores_guarantee, 20u);
  EXPECT_EQ(found.devices[1].cores_ceiling, 60u);
}

TEST(TenantLedger, AgentGone_LimitsSurvive) {
  PrivateDir dir;
  Account account;
  {
    TenantLedger ledger = mustCreate(dir.path() / "t", specWith(1000));
    ASSERT_TRUE(ledger.setMemory(0, {100}, {700}));
    ASSERT_TRUE(ledger.setCores(0, 10, 20));
    mustAttach(dir.path() / "t", account);
    ASSERT_EQ(account.reserve(0, 600), Admission::kGranted);
  }
  // No agent: admission goes on, with the limits as they are.
  EXPECT_EQ(account.reserve(0, 101), Admission::kOverLimit);
  EXPECT_EQ(account.reserve(0, 50), Admission::kGranted);
  Result<TenantLedger> next = TenantLedger::adopt(dir.path() / "t");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->spec().devices[0].ceiling.count, 700u);
  EXPECT_EQ(next->spec().devices[0].cores_ceiling, 20u);
  EXPECT_EQ(next->readReport()->devices[0].total.count, 650u);
  ASSERT_EQ(next->reap(account.slot(), 0)->refunded[0].count, 650u);
}

TEST(TenantLedger, WrongSpec_UsageErrorNamesAccepted) {
  struct Wrong {
    const char* says;
    void (*change)(TenantSpec&);
  };
  const Wrong table[] = {
      {"tenant id", [](TenantSpec& s) { s.id = ""; }},
      {"tenant id", [](TenantSpec& s) { s.id = "../x"; }},
      {"tenant id", [](TenantSpec& s) { s.id = std::string(32, 'a'); }},
      {"tenant name", [](TenantSpec& s) { s.name = std::string(64, 'a'); }},
      {"1 to 16 devices", [](TenantSpec& s) { s.devices.clear(); }},
      {"1 to 16 devices", [](TenantSpec& s) { s.devices.resize(17, s.devices[0]); }},
      {"1 to 4096 slots", [](TenantSpec& s) { s.slots = 0; }},
      {"1 to 4096 slots", [](TenantSpec& s) { s.slots = 4097; }},
      {"device UUID", [](TenantSpec& s) { s.devices[0].uuid = ""; }},
      {"device UUID", [](TenantSpec& s) { s.devices[0].uuid = std::string(48, 'a'); }},
      {"PCI bus id", [](TenantSpec& s) { s.devices[0].pci_bus_id = std::string(17, 'a'); }},
      {"memory ceiling", [](TenantSpec& s) { s.devices[0].ceiling = {0}; }},
      {"memory ceiling", [](TenantSpec& s) { s.devices[0].ceiling = {UINT64_MAX}; }},
      {"above its ceiling", [](TenantSpec& s) { s.devices[0].guarantee = {1001}; }},
      {"cores", [](TenantSpec& s) { s.devices[0].cores_ceiling = 101; }},
      {"driver path", [](TenantSpec& s) { s.driver_path = std::string(256, 'a'); }},
      {"registration socket", [](TenantSpec& s) { s.agent_socket = std::string(108, 'a'); }},
  };
  PrivateDir dir;
  for (const Wrong& row : table) {
    TenantSpec spec = specWith(1000);
    row.change(spec);
    const Result<TenantLedger> made = TenantLedger::create(dir.path() / "t", spec);
    ASSERT_FALSE(made) << row.says;
    EXPECT_EQ(made.error().code(), ErrorCode::kUsage) << row.says;
    EXPECT_NE(made.error().message().find(row.says), std::string::npos) << made.error().message();
  }
  EXPECT_EQ(entries(dir.path()), 0u);
}

TEST(TenantLedger, ExistingDirectory_IsLeftAlone) {
  PrivateDir dir;
  (void)mustCreate(dir.path() / "t", specWith(1000));
  const Result<TenantLedger> again = TenantLedger::create(dir.path() / "t", specWith(2000));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(entries(dir.path()), 1u);
  EXPECT_EQ(TenantLedger::adopt(dir.path() / "t")->spec().devices[0].ceiling.count, 1000u);
}

TEST(TenantLedger, MissingParent_IsIoError) {
  PrivateDir dir;
  const Result<TenantLedger> made = TenantLedger::create(dir.path() / "no" / "t", specWith(1000));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kIo);
  EXPECT_NE(made.error().message().find("No such file"), std::string::npos);
}

// F19. A limit on file sizes stands for the full disk: it fails at the same calls.
TEST(TenantLedger, FullDisk_F19LeavesNothing) {
  PrivateDir dir;
  const pid_t child = spawn([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &small);
    const Result<TenantLedger> made = TenantLedger::create(dir.path() / "t", specWith(1000));
    return !made && made.error().code() == ErrorCode::kIo ? 0 : 1;
  });
  EXPECT_EQ(waitFor(child), 0);
  EXPECT_EQ(entries(dir.path()), 0u);
}

// A tmpfs of that size on `dir`, seen by this (forked) process alone. False where the sandbox
// allows no mounts.
bool mountSmall(const std::filesystem::path& dir, const char* size) {
  const int spaces = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
  return unshare(spaces) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", dir.c_str(), "tmpfs", 0, size) == 0;
}

TEST(TenantLedger, GrowthOnFullDisk_KeepsSlots) {
  constexpr int kNoMounts = 77;
  PrivateDir dir;
  const pid_t child = spawn([&] {
    if (!mountSmall(dir.path(), "size=300k")) return kNoMounts;
    TenantSpec spec = specWith(1000);
    Result<TenantLedger> ledger = TenantLedger::create(dir.path() / "t", spec);
    if (!ledger) return 1;
    const Result<unsigned> more = ledger->ensureFreeSlots(4 * kSlotChunk);
    if (more || more.error().code() != ErrorCode::kIo) return 2;
    const Result<unsigned> free = ledger->ensureFreeSlots(1);
    if (!free || *free < kSlotChunk) return 3;
    Account account;
    mustAttach(dir.path() / "t", account);
    if (account.reserve(0, 1000) != Admission::kGranted) return 4;
    // And no second tenant fits; nothing of it remains.
    spec.slots = 4 * kSlotChunk;
    if (TenantLedger::create(dir.path() / "u", spec)) return 5;
    return entries(dir.path()) == 1 ? 0 : 6;
  });
  const int status = waitFor(child);
  if (WEXITSTATUS(status) == kNoMounts) GTEST_SKIP() << "this sandbox allows no mounts";
  EXPECT_EQ(status, 0);
}

TEST(TenantLedger, WrongLimits_AreUsageErrors) {
  PrivateDir dir;
  TenantLedger ledger = mustCreate(dir.path() / "t", specWith(1000));
  EXPECT_EQ(ledger.setMemory(1, {1}, {1}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.setMemory(0, {0}, {0}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.setMemory(0, {2}, {1}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.setMemory(0, {0}, {UINT64_MAX}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.setCores(0, 20, 10).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.setHeadroom(7, {1}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(ledger.spec().devices[0].ceiling.count, 1000u);
}

}  // namespace
}  // namespace divvy::ledger
