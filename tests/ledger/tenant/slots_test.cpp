// S11: who gets a slot, who does not, and whose it is.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/processes.h"
#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

class SlotsTest : public TenantTest {
 protected:
  Slot& slotAt(unsigned i) { return page().slots[i]; }

  // Takes a slot as a process of that number and start time would have.
  void occupy(unsigned i, const Owner& owner, std::uint64_t exec_id = 1) {
    slotAt(i).state = {packState(stateGeneration(slotAt(i).state.low), Phase::kLive),
                       packOwner(owner)};
    slotAt(i).exec_id = exec_id;
    page().header.owner_map[ownerBit(owner) / 64] |= 1ull << (ownerBit(owner) % 64);
  }
};

TEST_F(SlotsTest, SlotsExhausted_S11DeniesAndGoesOn) {
  for (unsigned i = 0; i < kSlotChunk; ++i) occupy(i, {100 + i, 5});
  EXPECT_EQ(account_.reserve(0, 1), Admission::kNoSlot);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kNoSlot);
  EXPECT_EQ(faults(FaultCode::kSlotsExhausted), 2u);
  EXPECT_EQ(account_.total(0), 0u);
  account_.release(0, 1);
  EXPECT_EQ(faults(FaultCode::kUnclaimedRelease), 1u);
  // One becomes free: the same process goes on.
  ASSERT_EQ(ledger_.reap(7, 0)->outcome, ReapOutcome::kFreed);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kGranted);
  EXPECT_EQ(account_.slot(), 7u);
}

TEST_F(SlotsTest, GrowthTo4096Slots_S11ThenDenies) {
  for (unsigned ready = kSlotChunk; ready < kMaxSlots; ready += kSlotChunk) {
    for (unsigned i = ready - kSlotChunk; i < ready; ++i) occupy(i, {100 + i, 5});
    const Result<unsigned> free = ledger_.ensureFreeSlots(1);
    ASSERT_TRUE(free) << free.error().message();
    ASSERT_EQ(*free, kSlotChunk);
  }
  EXPECT_EQ(account_.pages().slotsReady(), kMaxSlots);
  for (unsigned i = kMaxSlots - kSlotChunk; i < kMaxSlots; ++i) occupy(i, {100 + i, 5});
  EXPECT_EQ(*ledger_.ensureFreeSlots(1), 0u);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kNoSlot);
  EXPECT_EQ(snapshot().slots.size(), kMaxSlots);
  ASSERT_EQ(ledger_.reap(kMaxSlots - 1, 0)->outcome, ReapOutcome::kFreed);
  EXPECT_EQ(account_.reserve(0, kCeiling), Admission::kGranted);
  EXPECT_EQ(account_.slot(), kMaxSlots - 1);
}

TEST_F(SlotsTest, ReusedPid_S11IsNotOldProcess) {
  const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
  ASSERT_TRUE(self);
  EXPECT_TRUE(ownerAlive(*self));
  EXPECT_FALSE(ownerAlive({self->pid, self->start - 1}));
  EXPECT_TRUE(ownerAlive({self->pid, 0}));  // start time unknown: the number decides
  EXPECT_FALSE(ownerAlive({0, 0}));
}

// Running out of descriptors must not look like everybody's death.
TEST_F(SlotsTest, NoDescriptors_ProcessIsNotDead) {
  const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
  ASSERT_TRUE(self);
  const pid_t child = spawn([&] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    const Result<std::uint32_t> found = findProcess(*self);
    if (found || found.error().code() != ErrorCode::kIo) return 1;
    return ownerAlive(*self) ? 0 : 2;
  });
  EXPECT_EQ(waitFor(child), 0);
}

// A tenant may make pid namespaces of its own; the slot then holds a number that means somebody
// else, or nobody, to the agent.
TEST_F(SlotsTest, NestedPidNamespace_ProcessIsFound) {
  constexpr int kNoNamespaces = 77;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t outer = spawn([&]() -> int {
    const int spaces = geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID;
    if (unshare(spaces) != 0) return kNoNamespaces;
    return waitFor(spawn([&]() -> int {
      // /proc still shows the outer namespace, as in a sandbox that does not mount its own.
      const Admission got = account_.reserve(0, 10);
      (void)!write(pipe_ends[1], &got, sizeof got);
      for (;;) pause();
    }));
  });
  close(pipe_ends[1]);
  Admission got = Admission::kBroken;
  if (read(pipe_ends[0], &got, sizeof got) != static_cast<ssize_t>(sizeof got)) {
    EXPECT_EQ(WEXITSTATUS(waitFor(outer)), kNoNamespaces);
    GTEST_SKIP() << "this sandbox allows no pid namespaces";
  }
  EXPECT_EQ(got, Admission::kGranted);
  const SlotSnapshot slot = snapshot().slots.at(0);
  EXPECT_EQ(slot.owner.pid, 1u);
  const Result<std::uint32_t> found = findProcess(slot.owner);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_GT(*found, 1u);
  EXPECT_NE(*found, static_cast<std::uint32_t>(outer));
  kill(static_cast<pid_t>(*found), SIGKILL);
  waitFor(outer);
  EXPECT_FALSE(ownerAlive(slot.owner));
  close(pipe_ends[0]);
}

// This machine's own, and how often something of them was read.
class CountedProcesses final : public Processes {
 public:
  explicit CountedProcesses(unsigned* reads) : reads_(reads) {}
  std::string folder() const override {
    ++*reads_;
    return "/proc";
  }
  Fd open(int pid) const override { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }
  Result<Peer> peer(int) const override { return Error{ErrorCode::kUnavailable, "not here"}; }
  int self() const override { return getpid(); }
  bool direct() const override { return true; }

 private:
  unsigned* reads_;
};

// Regression: a report with owners who are nobody had the agent read all of /proc for each slot,
// and nobody else was served for seconds.
TEST_F(SlotsTest, ThousandUnknownOwners_OneProcScan) {
  constexpr unsigned kOwners = 1000;
  constexpr std::uint32_t kBeyond = (1u << 24) - 1;  // of all numbers that a kernel gives
  const pid_t child = spawn([]() -> int {
    unsigned reads = 0;
    const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
    useProcesses(std::make_unique<CountedProcesses>(&reads));
    ProcessLookup look;
    if (const auto found = look.find({kBeyond, 1}); !found || *found != 0) return 1;
    const unsigned once = reads;
    for (unsigned i = 1; i < kOwners; ++i)
      if (const auto found = look.find({kBeyond - i, i}); !found || *found != 0) return 2;
    // Of each only whether the one of its number is there.
    if (reads > once + kOwners) return 3;
    const auto own = look.find(*self);
    if (!own || static_cast<pid_t>(*own) != getpid()) return 4;
    // The control: who is looked for by himself costs a look at all.
    reads = 0;
    if (const auto found = findProcess({kBeyond, 1}); !found || *found != 0) return 5;
    return reads > 2 ? 0 : 6;
  });
  EXPECT_EQ(waitFor(child), 0);
}

TEST_F(SlotsTest, Zombie_DeadUnlessThreadsLive) {
  const pid_t child = spawn([] { return 0; });
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const Result<Owner> zombie = readOwner(static_cast<std::uint32_t>(child));
  ASSERT_TRUE(zombie);
  EXPECT_FALSE(ownerAlive(*zombie));
  waitFor(child);

  // The leader ends, a thread lives on: the process holds its memory.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t leaderless = spawn([&]() -> int {
    std::thread([&] {
      char byte;
      (void)!read(pipe_ends[0], &byte, 1);
      _exit(0);
    }).detach();
    close(pipe_ends[1]);
    syscall(SYS_exit, 0);
    return 0;
  });
  close(pipe_ends[0]);
  const auto number = static_cast<std::uint32_t>(leaderless);
  const auto state = [&] {
    FILE* file = fopen(("/proc/" + std::to_string(leaderless) + "/stat").c_str(), "r");
    char found = '?';
    if (file != nullptr) {
      (void)!fscanf(file, "%*d (%*[^)]) %c", &found);
      fclose(file);
    }
    return found;
  };
  for (int i = 0; i < 100000 && state() != 'Z'; ++i) std::this_thread::yield();
  EXPECT_EQ(state(), 'Z');
  EXPECT_TRUE(ownerAlive(*readOwner(number)));
  close(pipe_ends[1]);
  waitFor(leaderless);
}

TEST_F(SlotsTest, ThreadsClaimAtOnce_OneSlot) {
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      waiting.fetch_add(1);
      while (waiting.load() < 8) std::this_thread::yield();
      EXPECT_EQ(account_.reserve(0, 10), Admission::kGranted);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ReportSnapshot seen = snapshot();
  ASSERT_EQ(seen.slots.size(), 1u);
  EXPECT_EQ(seen.slots[0].used[0].count, 80u);
}

TEST_F(SlotsTest, ForkedChild_ClaimsOwnSlot) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  const pid_t child = spawn([&] {
    if (account_.slot() != kMaxSlots) return 1;
    account_.release(0, 100);  // its parent's; nothing of its own
    if (account_.total(0) != 100) return 2;
    if (account_.reserve(0, 50) != Admission::kGranted) return 3;
    if (account_.processUsed(account_.slot(), 0) != 50) return 4;
    return account_.slot() == 0 ? 5 : 0;
  });
  EXPECT_EQ(waitFor(child), 0);
  EXPECT_EQ(account_.slot(), 0u);
  EXPECT_EQ(account_.total(0), 150u);
}

// Forks made past libc run no pthread_atfork handler.
TEST_F(SlotsTest, RawForkChild_ClaimsOwnSlot) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    const bool good = account_.slot() == kMaxSlots &&
                      account_.reserve(0, 50) == Admission::kGranted && account_.slot() == 1;
    syscall(SYS_exit_group, good ? 0 : 1);
  }
  EXPECT_EQ(waitFor(child), 0);
}

// B5: another thread is inside a lane, or inside all of them, when the process forks.
TEST_F(SlotsTest, ForkWhileLaneHeld_ChildDoesNotHang) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        if (account_.reserve(0, 10) == Admission::kGranted) account_.release(0, 10);
        if (account_.reserve(0, 100) == Admission::kGranted) account_.release(0, 100);
      }
    });
  }
  for (unsigned i = 0; i < 200 / kSlowdown; ++i) {
    const pid_t child = spawn([&] {
      alarm(20);  // a hang becomes a failure
      return account_.reserve(0, 1) == Admission::kGranted ? 0 : 1;
    });
    ASSERT_EQ(waitFor(child), 0);
    for (const SlotSnapshot& slot : snapshot().slots) {
      if (slot.owner.pid == static_cast<std::uint32_t>(child)) {
        ASSERT_EQ(ledger_.reap(slot.slot, slot.generation)->refunded[0].count, 1u);
      }
    }
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(account_.total(0), 0u);
}

TEST_F(SlotsTest, ManyForks_F14LeaveNoSlots) {
  ASSERT_EQ(account_.reserve(0, 10), Admission::kGranted);
  for (unsigned i = 0; i < 300 / kSlowdown; ++i) ASSERT_EQ(waitFor(spawn([] { return 0; })), 0);
  EXPECT_EQ(snapshot().slots.size(), 1u);
}

// exec keeps pid, start time and pidfd: to the agent the process never died.
TEST_F(SlotsTest, Exec_EarlierImagesBytesAreReclaimed) {
  const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
  ASSERT_TRUE(self);
  occupy(0, *self, 12345);
  Lane& lane = slotAt(0).lanes[2];
  lane.used[0] = 70;
  lane.spare[0].low = 5;
  page().devices[0].total.low = 75;
  ASSERT_EQ(account_.reserve(0, kCeiling), Admission::kGranted);
  EXPECT_EQ(account_.slot(), 0u);
  EXPECT_EQ(stateGeneration(slotAt(0).state.low), 1u);
  EXPECT_EQ(account_.processUsed(0, 0), kCeiling);
}

TEST_F(SlotsTest, ClaimedBeforeExec_FoundByLaterImage) {
  const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
  ASSERT_TRUE(self);
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  slotAt(0).exec_id ^= 1;  // as if it had been claimed before exec
  Account later;
  mustAttach(dir(), later);
  ASSERT_EQ(later.reserve(0, kCeiling), Admission::kGranted);
  EXPECT_EQ(stateGeneration(slotAt(0).state.low), 1u);
}

TEST_F(SlotsTest, NoOwnerMap_SlotsAreSearched) {
  const Result<Owner> self = readOwner(static_cast<std::uint32_t>(getpid()));
  ASSERT_TRUE(self);
  occupy(9, *self, 12345);
  page().header.id.features &= ~kFeatureOwnerMap;
  std::ranges::fill(page().header.owner_map, 0);
  ASSERT_EQ(account_.reserve(0, 1), Admission::kGranted);
  EXPECT_EQ(stateGeneration(slotAt(9).state.low), 1u);
}

TEST_F(SlotsTest, AnyHint_FindsOnlyFreeSlot) {
  for (unsigned i = 0; i < kSlotChunk; ++i) occupy(i, {100 + i, 5});
  slotAt(3).state = {packState(1, Phase::kFree), 0};
  page().header.claim_hint = UINT32_MAX;
  ASSERT_EQ(account_.reserve(0, 1), Admission::kGranted);
  EXPECT_EQ(account_.slot(), 3u);
}

TEST_F(SlotsTest, SecondLibraryCopy_OwnSlot) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  Account copy;
  mustAttach(dir(), copy);
  ASSERT_EQ(copy.reserve(0, 50), Admission::kGranted);
  EXPECT_EQ(copy.slot(), 1u);
  EXPECT_EQ(account_.total(0), 150u);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kGranted);
}

TEST_F(SlotsTest, ReapedWhileAlive_ProcessStops) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  ASSERT_EQ(ledger_.reap(0, 0)->outcome, ReapOutcome::kFreed);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kBroken);
  account_.release(0, 100);
  EXPECT_EQ(account_.total(0), 0u);
  EXPECT_EQ(faults(FaultCode::kSlotLost), 2u);
}

TEST_F(SlotsTest, LaneWithoutSequences_RefusesAndGivesBack) {
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  for (Lane& lane : slotAt(0).lanes) lane.seq = lane.done = kLastTenantSeq;
  EXPECT_EQ(account_.reserve(0, 1), Admission::kBroken);
  EXPECT_EQ(faults(FaultCode::kLaneRetired), 1u);
  account_.release(0, 60);
  EXPECT_EQ(account_.total(0), 40u);
  ASSERT_EQ(ledger_.reap(0, 0)->outcome, ReapOutcome::kFreed);
  EXPECT_EQ(account_.total(0), 0u);
}

TEST_F(SlotsTest, AdoptSlot_HostPidForItsGenerationOnly) {
  ASSERT_EQ(account_.reserve(0, 1), Admission::kGranted);
  const auto pid = static_cast<std::uint32_t>(getpid());
  EXPECT_TRUE(*ledger_.claimedBy(0, 0, pid));
  EXPECT_FALSE(*ledger_.claimedBy(0, 0, pid + 1));
  EXPECT_FALSE(*ledger_.claimedBy(0, 1, pid));
  EXPECT_FALSE(*ledger_.claimedBy(1, 0, pid));
  EXPECT_FALSE(*ledger_.claimedBy(kMaxSlots, 0, pid));
  ASSERT_TRUE(ledger_.adoptSlot(0, 0, 4242));
  EXPECT_EQ(snapshot().slots[0].host_pid, 4242u);
  unsigned seen = 0;
  account_.forEachLiveSlot([&](const LiveProcess& process) {
    ++seen;
    EXPECT_EQ(process.slot, 0u);
    EXPECT_EQ(process.host_pid, 4242u);
    EXPECT_EQ(process.owner.pid, static_cast<std::uint32_t>(getpid()));
  });
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(ledger_.adoptSlot(0, 1, 4243).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(ledger_.adoptSlot(kMaxSlots, 0, 1).error().code(), ErrorCode::kNotFound);
  ASSERT_EQ(ledger_.reap(0, 0)->outcome, ReapOutcome::kFreed);
  occupy(0, {77, 5});
  EXPECT_EQ(snapshot().slots[0].host_pid, 0u);
}

}  // namespace
}  // namespace divvy::ledger
