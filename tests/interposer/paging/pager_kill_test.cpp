// P2.2: a process may be killed at every call that its mover makes. Nothing but that process is
// lost: its bytes go back to the card and to the share, and those of its neighbour, of the same
// tenant and on the same card, stay what they were.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "ledger/swap_pages.h"
#include "ledger/tenant_ledger.h"
#include "swap_fixture.h"

namespace divvy::interposer {
namespace {

constexpr char kVictim[] = "DIVVY_TEST_VICTIM";
constexpr std::uint64_t kChunk = 256 << 10;
constexpr std::uint64_t kBytes = 4 * kChunk;  // one more than are under way
constexpr std::uint64_t kNeighbours = 6 * kChunk;

// SYMBOL:CALL. The block itself is made by four of each that makes memory.
constexpr const char* kPoints[] = {"cuCtxSynchronize:1",
                                   "cuCtxSynchronize:2",
                                   "cuStreamCreate:1",
                                   "cuStreamCreate:2",
                                   "cuMemHostRegister_v2:1",
                                   "cuMemHostRegister_v2:4",
                                   "cuMemcpyDtoHAsync_v2:1",
                                   "cuMemcpyDtoHAsync_v2:2",
                                   "cuMemcpyDtoHAsync_v2:4",
                                   "cuEventCreate:1",
                                   "cuEventCreate:3",
                                   "cuEventRecord:1",
                                   "cuEventRecord:3",
                                   "cuEventRecord:4",
                                   "cuEventRecord:5",
                                   "cuEventRecord:8",
                                   "cuEventQuery:1",
                                   "cuEventQuery:3",
                                   "cuEventQuery:9",
                                   "cuMemUnmap:1",
                                   "cuMemUnmap:2",
                                   "cuMemUnmap:4",
                                   "cuMemRelease:1",
                                   "cuMemRelease:2",
                                   "cuMemRelease:4",
                                   "cuEventDestroy_v2:1",
                                   "cuStreamDestroy_v2:1",
                                   "cuStreamDestroy_v2:2",
                                   "cuMemCreate:5",
                                   "cuMemCreate:6",
                                   "cuMemCreate:8",
                                   "cuMemMap:5",
                                   "cuMemMap:8",
                                   "cuMemSetAccess:5",
                                   "cuMemSetAccess:8",
                                   "cuMemcpyHtoDAsync_v2:1",
                                   "cuMemcpyHtoDAsync_v2:2",
                                   "cuMemcpyHtoDAsync_v2:4"};

// Of one that comes back in part, the rest of it to the host, and then all of it: the first of each
// call that is about that, one with copies under way, and the last.
constexpr const char* kHostPoints[] = {"cuMemCreate:6",
                                       "cuMemCreate:8",
                                       "cuMemMap:6",
                                       "cuMemMap:7",
                                       "cuMemMap:8",
                                       "cuMemSetAccess:6",
                                       "cuMemSetAccess:8",
                                       "cuMemcpyHtoDAsync_v2:2",
                                       "cuMemcpyHtoDAsync_v2:3",
                                       "cuMemcpyHtoDAsync_v2:4",
                                       "cuEventRecord:6",
                                       "cuEventRecord:7",
                                       "cuEventRecord:8",
                                       "cuMemcpyDtoHAsync_v2:5",
                                       "cuMemcpyDtoHAsync_v2:6",
                                       "cuMemcpyDtoHAsync_v2:7",
                                       "cuMemUnmap:5",
                                       "cuMemUnmap:6",
                                       "cuMemUnmap:7",
                                       "cuMemRelease:5",
                                       "cuMemRelease:6",
                                       "cuMemRelease:7",
                                       "cuMemCreate:9",
                                       "cuMemCreate:11",
                                       "cuMemMap:9",
                                       "cuMemcpyHtoDAsync_v2:5",
                                       "cuMemcpyHtoDAsync_v2:7"};

// Another process of the tenant, as the agent sees it.
class Victim {
 public:
  Victim(const std::string& dir, const char* point) : dir_(dir) {
    pages_ = std::make_unique<ledger::ResidencyPages>(ledger::ResidencyPages::open(dir).value());
    ledger::TenantPages pages;
    EXPECT_EQ(ledger::TenantPages::open(dir.c_str(), &pages), ledger::OpenStatus::kOk);
    EXPECT_TRUE(account_.attach(pages));
    const std::string faults = std::string("SIMGPU_FAULTS=strict-unmap=any,kill-at=") + point;
    std::vector<std::string> entries = {faults, std::string(kVictim) + "=1"};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (std::string(*entry).rfind("SIMGPU_FAULTS=", 0) != 0) entries.emplace_back(*entry);
    }
    std::vector<char*> variables;
    for (std::string& entry : entries) variables.push_back(entry.data());
    variables.push_back(nullptr);
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string filter =
        std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    char* arguments[] = {self.data(), filter.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, self.c_str(), nullptr, nullptr, arguments, variables.data()), 0);
  }
  ~Victim() {
    if (dead()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  pid_t pid() const { return pid_; }
  bool dead() {
    if (!dead_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) dead_ = true;
    return dead_;
  }
  bool killed() const { return dead_ && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

  // False: it has no slot yet.
  bool allow(std::uint64_t bytes, std::uint32_t flags = 0) {
    if (!find()) return false;
    ledger::ResidencyOrder order;
    const auto now = shown();
    order.allowed.fill(bytes + (now ? ledger::pinnedNow(account_, slot_, 0, now->device[0]) : 0));
    order.most.fill(std::uint64_t{1} << 40);
    order.host_allowed = kGiB;
    order.flags = flags;
    pages_->order(slot_, generation_, order);
    return true;
  }
  std::optional<ledger::SwapSample> shown() {
    ledger::SwapSample sample;
    if (!find() || !pages_->read(slot_, generation_, &sample)) return {};
    return sample;
  }
  unsigned slot() const { return slot_; }
  std::uint64_t generation() const { return generation_; }

 private:
  bool find() {
    if (found_) return true;
    account_.forEachLiveSlot([&](const ledger::LiveProcess& process) {
      if (process.owner.pid != static_cast<std::uint32_t>(pid_)) return;
      slot_ = process.slot;
      const auto& slot = account_.pages().report().slots[process.slot];
      generation_ = ledger::stateGeneration(slot.state.low);
      found_ = true;
    });
    return found_;
  }

  std::string dir_;
  std::unique_ptr<ledger::ResidencyPages> pages_;
  ledger::Account account_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool dead_ = false;
  bool found_ = false;
  unsigned slot_ = 0;
  std::uint64_t generation_ = 0;
};

class PagerKillTest : public SwapTest {
 protected:
  // Uses its memory until it is killed; ends by itself when nobody does that.
  static void beVictim() {
    ::alarm(100);
    makeReady();
    const CUdeviceptr block = filled(kBytes, 2);
    while (!HasFailure()) EXPECT_TRUE(holds(block, kBytes, 2));
    ::_exit(7);
  }

  // Takes its memory and gives it back until it is dead.
  static void swapUntilDead(Victim& victim, bool with_host) {
    ASSERT_TRUE(eventually([&] { return victim.allow(kEverything) || victim.dead(); }));
    const auto shows = [&](auto condition) {
      ASSERT_TRUE(eventually([&] {
        const auto now = victim.shown();
        return victim.dead() || (now && condition(*now));
      }));
    };
    shows([](const auto& now) { return now.device[0].mapped == kBytes; });
    for (int round = 0; round < 5 && !victim.dead(); ++round) {
      victim.allow(0);
      shows([](const auto& now) { return now.device[0].mapped == 0; });
      if (with_host) {
        victim.allow(kChunk, ledger::kMayHostMap);
        shows([](const auto& now) {
          constexpr std::uint32_t kThere = ledger::kSwapReady | ledger::kSwapHostMapped;
          return (now.state & kThere) == kThere;
        });
      }
      victim.allow(kEverything);
      shows([](const auto& now) {
        return now.device[0].mapped == kBytes && (now.state & ledger::kSwapReady) != 0;
      });
    }
    ASSERT_TRUE(eventually([&] { return victim.dead(); })) << "no such call was made";
  }

  static void killOne(const char* point, bool with_host, ledger::TenantLedger& agent,
                      CUdeviceptr own) {
    Victim victim(tenantDir(), point);
    allow(0);  // the neighbour's memory is on the move as well
    swapUntilDead(victim, with_host);
    ASSERT_TRUE(victim.killed());
    const auto reaped = agent.reap(victim.slot(), victim.generation());
    ASSERT_TRUE(reaped) << reaped.error().message();
    EXPECT_NE(reaped->outcome, ledger::ReapOutcome::kRetired);
    allow(kEverything);
    EXPECT_TRUE(holds(own, kNeighbours, 1));
    EXPECT_EQ(bookedByAll(), booked()) << "the card has what the dead one had";
    EXPECT_EXACT();
  }

  template <std::size_t kCount>
  void killAll(const char* const (&points)[kCount], bool with_host);
};

template <std::size_t kCount>
void PagerKillTest::killAll(const char* const (&points)[kCount], bool with_host) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swap";
  tenancy.swap_chunk = kChunk;
  if (outside(tenancy)) return;
  if (std::getenv(kVictim) != nullptr) return beVictim();
  terms().lease_ms = 3'600'000;
  makeSwappable();
  auto agent = ledger::TenantLedger::adopt(tenantDir());
  ASSERT_TRUE(agent) << agent.error().message();
  const CUdeviceptr own = filled(kNeighbours, 1);
  for (const char* point : points) {
    SCOPED_TRACE(point);
    killOne(point, with_host, *agent, own);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(takenUnderWork(), 0u);
}

TEST_F(PagerKillTest, KilledAtEveryPagerCall_OnlyVictimLost) {
  killAll(kPoints, false);
}

TEST_F(PagerKillTest, KilledWithMemoryAtHost_OnlyVictimLost) {
  killAll(kHostPoints, true);
}

}  // namespace
}  // namespace divvy::interposer
