#include "card/card.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

#include "scratch_dir.h"
#include "simgpu/card_reader.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;

const Profile& smallCard() {
  return *parseMachine("rtx4070")->cards.front();
}

// A child process on a card of its own opening; `ready` and `go` are how test and child meet.
class Child {
 public:
  // `contained`: in a namespace of its own, where it has the number 1.
  Child(const std::string& dir, const std::function<void(Card&, Child&)>& body,
        bool contained = false) {
    EXPECT_EQ(pipe(to_parent_), 0);
    EXPECT_EQ(pipe(to_child_), 0);
    pid_ = contained ? static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0))
                     : fork();
    if (pid_ != 0) return;
    Card card;
    if (!card.open(dir, smallCard(), 0) || !card.join()) _exit(3);
    body(card, *this);
    _exit(0);
  }
  ~Child() {
    // Where none could be made its number is -1, which to kill() means everybody.
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) join();
    for (const int fd : {to_parent_[0], to_parent_[1], to_child_[0], to_child_[1]}) close(fd);
  }

  void signal() { EXPECT_EQ(write(to_parent_[1], "r", 1), 1); }  // child: I am here
  void pause() {                                                 // child: wait for the test
    char c;
    if (read(to_child_[0], &c, 1) != 1) _exit(4);
  }
  void await() {  // test: until signal()
    char c;
    ASSERT_EQ(read(to_parent_[0], &c, 1), 1);
  }
  void resume() { ASSERT_EQ(write(to_child_[1], "g", 1), 1); }
  void killNow() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    // Left as a zombie on purpose: a dead process holds nothing, reaped or not.
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
  }
  int join() {
    if (joined_) return 0;
    joined_ = true;
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  int to_parent_[2]{};
  int to_child_[2]{};
  pid_t pid_ = 0;
  bool joined_ = false;
};

TEST(Card, FullCapacity_ExactToTheByte) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  const std::uint64_t capacity = smallCard().usableBytes();
  EXPECT_TRUE(card.charge(Charge::kPlain, capacity - 1));
  EXPECT_FALSE(card.charge(Charge::kPlain, 2));
  EXPECT_TRUE(card.charge(Charge::kVmm, 1));
  EXPECT_FALSE(card.charge(Charge::kPlain, 1));
  EXPECT_FALSE(card.charge(Charge::kPlain, UINT64_MAX));
  EXPECT_EQ(card.used(), capacity);
  card.refund(Charge::kPlain, capacity - 1);
  EXPECT_EQ(card.used(), 1U);
}

TEST(Card, Peak_OnlyLivingProcessesCounted) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  EXPECT_TRUE(card.charge(Charge::kPlain, 40 * kMiB));
  card.refund(Charge::kPlain, 30 * kMiB);
  {
    Child child(dir.path(), [](Card& own, Child& self) {
      own.charge(Charge::kPlain, 100 * kMiB);
      self.signal();
      self.pause();
    });
    child.await();
    child.killNow();
    // The dead one's 100 MiB are not yet swept when these are charged; they are no part of a peak.
    EXPECT_TRUE(card.charge(Charge::kVmm, 60 * kMiB));
  }
  const std::optional<CardView> view = readCard(dir.path(), 0);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->used, 70 * kMiB);
  EXPECT_EQ(view->peak, 110 * kMiB);
}

TEST(Card, KilledProcess_ZombieHoldsNothing) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  Child child(dir.path(), [](Card& own, Child& self) {
    own.charge(Charge::kPlain, 100 * kMiB);
    own.charge(Charge::kContext, 7);
    self.signal();
    self.pause();
  });
  child.await();
  EXPECT_EQ(card.used(), 100 * kMiB + 7);
  const auto view = readCard(dir.path(), 0);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->processes.size(), 2U);
  EXPECT_EQ(view->processes[1].pid, child.pid());
  EXPECT_EQ(view->processes[1].bytes, 100 * kMiB + 7);
  child.killNow();
  EXPECT_EQ(card.used(), 0U);
}

// In containers all are process 1, and two may begin at one tick: here /proc is the host's, and
// says so of both.
TEST(Card, SamePidInNamespaces_AreDistinct) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  const auto body = [](Card& own, Child& self) {
    if (getpid() != 1) _exit(5);
    own.charge(Charge::kPlain, 100 * kMiB);
    self.signal();
    self.pause();
  };
  Child first(dir.path(), body, true);
  if (first.pid() < 0) GTEST_SKIP() << "no right to make namespaces";
  first.await();
  Child second(dir.path(), body, true);
  second.await();
  EXPECT_EQ(card.used(), 200 * kMiB);
  first.killNow();
  EXPECT_EQ(card.used(), 100 * kMiB);
}

TEST(Card, DeadProcessHoldsAll_ChargeReclaimsFirst) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  Child child(dir.path(), [](Card& own, Child& self) {
    own.charge(Charge::kPlain, own.capacity());
    self.signal();
    self.pause();
  });
  child.await();
  EXPECT_FALSE(card.charge(Charge::kPlain, 1));
  child.killNow();
  EXPECT_TRUE(card.charge(Charge::kPlain, card.capacity()));
}

TEST(Card, KilledHoldingLock_UsedIsRecomputed) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  ASSERT_TRUE(card.charge(Charge::kPlain, 5 * kMiB));
  Child child(dir.path(), [](Card& own, Child& self) {
    own.charge(Charge::kPlain, kMiB);
    CardLock lock(own);
    own.file().used = 12345;  // half of a change
    own.self()->bytes[0] = 99;
    self.signal();
    self.pause();
  });
  child.await();
  child.killNow();
  EXPECT_EQ(card.used(), 5 * kMiB);
  EXPECT_TRUE(card.charge(Charge::kPlain, kMiB));
  EXPECT_EQ(card.used(), 6 * kMiB);
}

TEST(Card, ForkedChild_NeitherKeepsNorReturnsBytes) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  Child child(dir.path(), [](Card& own, Child& self) {
    own.charge(Charge::kPlain, 3 * kMiB);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      self.pause();
      _exit(0);
    }
    self.signal();
    raise(SIGSTOP);
  });
  child.await();
  EXPECT_EQ(card.used(), 3 * kMiB);
  child.killNow();
  EXPECT_EQ(card.used(), 0U) << "the surviving grandchild must not keep the record alive";
  child.resume();
}

TEST(Card, ExportedBlock_LivesUntilLastHolder) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  ASSERT_TRUE(card.join());
  ASSERT_TRUE(card.charge(Charge::kVmm, 2 * kMiB));
  const std::uint64_t id = card.exportBlock(Charge::kVmm, 2 * kMiB);
  ASSERT_NE(id, 0U);
  EXPECT_EQ(card.used(), 2 * kMiB);
  Child child(dir.path(), [id](Card& own, Child& self) {
    if (!own.holdBlock(id)) _exit(5);
    self.signal();
    self.pause();
  });
  child.await();
  EXPECT_EQ(card.used(), 2 * kMiB) << "shared memory is counted once";
  card.dropBlock(id);
  EXPECT_EQ(card.used(), 2 * kMiB) << "the importer still holds it";
  EXPECT_FALSE(card.holdBlock(id + 1));
  child.killNow();
  EXPECT_EQ(card.used(), 0U);
  EXPECT_FALSE(card.holdBlock(id));
}

TEST(Card, SixtyFourRacingProcesses_WithinCapacity) {
  ScratchDir dir;
  Card card;
  ASSERT_TRUE(card.open(dir.path(), smallCard(), 0));
  std::vector<std::unique_ptr<Child>> children;
  constexpr int kProcesses = 64;
  const std::uint64_t piece = smallCard().usableBytes() / 100;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(std::make_unique<Child>(dir.path(), [piece](Card& own, Child& self) {
      int held = 0;
      for (int round = 0; round < 200; ++round) {
        if (own.charge(Charge::kPlain, piece)) ++held;
        if (held > 3) own.refund(Charge::kPlain, piece), --held;
      }
      self.signal();
      self.pause();
    }));
  }
  for (auto& child : children) child->await();
  const CardView view = card.view();
  EXPECT_LE(view.used, view.capacity);
  EXPECT_EQ(view.used % piece, 0U);
  EXPECT_EQ(view.processes.size(), static_cast<std::size_t>(kProcesses));
  EXPECT_EQ(card.file().used, view.used) << "the cached sum equals the recomputed one";
}

TEST(Card, BusyTime_SplitIntoBuckets) {
  ProcessRecord record{};
  addBusyLocked(record, 10 * kBusyBucketNs + 5, 12 * kBusyBucketNs + 7, false);
  EXPECT_EQ(record.busy[10].compute_ns, kBusyBucketNs - 5);
  EXPECT_EQ(record.busy[11].compute_ns, kBusyBucketNs);
  EXPECT_EQ(record.busy[12].compute_ns, 7U);
  addBusyLocked(record, (10 + kBusyBuckets) * kBusyBucketNs,
                (10 + kBusyBuckets) * kBusyBucketNs + 3, true);
  EXPECT_EQ(record.busy[10].compute_ns, 0U) << "a window that came round again starts at zero";
  EXPECT_EQ(record.busy[10].copy_ns, 3U);
}

TEST(Card, MissingCard_ReadReturnsNothing) {
  ScratchDir dir;
  EXPECT_FALSE(readCard(dir.path(), 0));
  EXPECT_FALSE(readCard(dir.path() + "/nowhere", 0));
}

}  // namespace
}  // namespace divvy::simgpu
