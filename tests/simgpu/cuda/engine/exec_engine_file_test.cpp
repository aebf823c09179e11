// A timeline shared by processes that may die at any instruction.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>
#include <functional>
#include <vector>

#include "card/engine_file.h"
#include "scratch_dir.h"
#include "simgpu/interval_reader.h"

namespace divvy::simgpu {
namespace {

const Profile& profile() {
  return *parseMachine("h100")->cards[0];
}

struct Opened {
  Card card;
  EngineFile engine;
  bool ok;

  explicit Opened(const std::string& dir) {
    ok = card.open(dir, profile(), 0) && card.join() &&
         engine.open(card, dir, 0, {.timeslice = 200'000, .switch_cost = 10'000});
  }
};

pid_t spawn(const std::string& dir, const std::function<void(EngineFile&, std::uint32_t)>& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  Opened mine(dir);
  const std::uint32_t lane = mine.ok ? mine.engine.addLane() : kNoLane;
  if (lane == kNoLane) _exit(3);
  body(mine.engine, lane);
  _exit(0);
}

OpRef submitKernel(EngineFile& file, std::uint32_t lane, Nanos cost, OpRef dep = 0) {
  EngineLock lock(file);
  return lock.line().submit(
      lane,
      {.engine = Engine::kCompute, .kind = IntervalKind::kKernel, .cost = cost, .deps = {dep}},
      lock.now());
}

// Waits on the condition "ended", at most 20 s.
bool waitEnded(EngineFile& file, OpRef ref) {
  for (const Nanos limit = clockNow() + 20'000'000'000; clockNow() < limit;) {
    {
      EngineLock lock(file);
      if (lock.line().ended(ref)) return true;
    }
    sched_yield();
  }
  return false;
}

TEST(EngineFileTest, HoldersKilledAtRandom_TimelineRecovers) {
  const ScratchDir dir;
  Opened mine(dir.path());
  ASSERT_TRUE(mine.ok);
  const std::uint32_t lane = mine.engine.addLane();
  ASSERT_NE(lane, kNoLane);
  OpRef last = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t pid = spawn(dir.path(), [](EngineFile& file, std::uint32_t own) {
      for (OpRef previous = 0;;) {
        previous = submitKernel(file, own, 3000, previous);
        EngineLock lock(file);
        while (OpRef done = lock.line().firstDone(own)) lock.line().release(done);
      }
    });
    ASSERT_GT(pid, 0);
    for (int i = 0; i < 50 + round * 7; ++i) last = submitKernel(mine.engine, lane, 1000, last);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    ASSERT_TRUE(waitEnded(mine.engine, last));
    EngineLock lock(mine.engine);
    while (OpRef done = lock.line().firstDone(lane)) lock.line().release(done);
    EXPECT_EQ(lock.line().state().lanes[lane].in_use, 0U);
    EXPECT_EQ(lock.line().state().lanes[lane].pending_launches, 0U);
  }
}

TEST(EngineFileTest, KilledProcess_ItsWorkDisappears) {
  const ScratchDir dir;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Opened mine(dir.path());
  ASSERT_TRUE(mine.ok);
  const std::uint32_t lane = mine.engine.addLane();
  const pid_t pid = spawn(dir.path(), [&](EngineFile& file, std::uint32_t own) {
    submitKernel(file, own, 3'600'000'000'000);
    if (write(ready[1], "x", 1) != 1) _exit(4);
    for (;;) pause();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  const OpRef ours = submitKernel(mine.engine, lane, 1'000'000);
  ASSERT_TRUE(waitEnded(mine.engine, ours));
  EngineLock lock(mine.engine);
  for (std::uint64_t bits : lock.line().state().engines[0].busy) EXPECT_EQ(bits, 0U);
}

TEST(EngineFileTest, TwoProcesses_LogShowsTurns) {
  const ScratchDir dir;
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const auto body = [&](EngineFile& file, std::uint32_t own) {
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(5);
    if (!waitEnded(file, submitKernel(file, own, 20'000'000))) _exit(6);
  };
  std::vector<pid_t> children{spawn(dir.path(), body), spawn(dir.path(), body)};
  ASSERT_EQ(write(go[1], "xx", 2), 2);
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto view = readIntervals(dir.path(), 0);
  ASSERT_TRUE(view.has_value());
  std::uint64_t last_end = 0;
  int last_pid = 0;
  int turns = 0;
  for (const Interval& interval : view->intervals) {
    EXPECT_GE(interval.start_ns, last_end) << "two contexts on one compute engine at once";
    last_end = interval.end_ns;
    turns += interval.pid != last_pid;
    last_pid = interval.pid;
  }
  EXPECT_GT(turns, 20);
  for (const pid_t pid : children) {
    EXPECT_EQ(busyWithin(*view, pid, CardEngine::kCompute, 0, UINT64_MAX), 20'000'000U);
  }
}

TEST(EngineFileTest, EarlierBoot_FileStartsEmpty) {
  const ScratchDir dir;
  {
    Opened first(dir.path());
    ASSERT_TRUE(first.ok);
    submitKernel(first.engine, first.engine.addLane(), 1000);
  }
  FILE* file = fopen(engineFilePath(dir.path(), 0).c_str(), "r+");
  ASSERT_NE(file, nullptr);
  const std::uint64_t other_boot = 1;
  fseek(file, offsetof(EngineFileLayout, boot), SEEK_SET);
  fwrite(&other_boot, sizeof other_boot, 1, file);
  fclose(file);
  Opened second(dir.path());
  ASSERT_TRUE(second.ok);
  EngineLock lock(second.engine);
  EXPECT_EQ(lock.line().state().live_lanes, 0U);
  EXPECT_EQ(lock.line().state().log.next, 0U);
}

TEST(EngineFileTest, DeadProcesses_LanesAreReused) {
  const ScratchDir dir;
  Opened mine(dir.path());
  ASSERT_TRUE(mine.ok);
  for (std::uint32_t i = 0; i < kMaxLanes + 10; i += 64) {
    const pid_t pid = spawn(dir.path(), [](EngineFile& file, std::uint32_t) {
      for (int n = 1; n < 64; ++n) {
        if (file.addLane() == kNoLane) _exit(7);
      }
    });
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// `count` operations of the shortest duration; no two neighbours share a record.
void runMany(EngineFile& file, std::uint32_t lane, int count) {
  OpRef last = 0;
  EngineLock lock(file);
  for (int i = 0; i < count; ++i) {
    const IntervalKind kind = i % 2 == 0 ? IntervalKind::kKernel : IntervalKind::kMemset;
    last = lock.line().submit(
        lane, {.engine = Engine::kCompute, .kind = kind, .cost = 1, .deps = {last}}, lock.now());
  }
  lock.line().advance(lock.now() + static_cast<Nanos>(count));
  while (const OpRef done = lock.line().firstDone(lane)) lock.line().release(done);
}

TEST(EngineFileTest, RingOverflow_FollowerSeesAll) {
  const ScratchDir dir;
  IntervalFollower follower(dir.path(), 0);
  EXPECT_FALSE(follower.update());
  Opened mine(dir.path());
  ASSERT_TRUE(mine.ok);
  const std::uint32_t lane = mine.engine.addLane();
  constexpr int kBatch = 500;
  constexpr int kBatches = 160;  // more than the ring holds
  for (int batch = 0; batch < kBatches; ++batch) {
    runMany(mine.engine, lane, kBatch);
    if (batch % 7 == 0) {
      ASSERT_TRUE(follower.update());
    }
  }
  ASSERT_TRUE(follower.update());
  EXPECT_EQ(follower.view().dropped, 0U);
  EXPECT_EQ(follower.view().intervals.size(), std::size_t{kBatch * kBatches});
  EXPECT_EQ(busyWithin(follower.view(), 0, CardEngine::kCompute, 0, UINT64_MAX),
            std::uint64_t{kBatch * kBatches});
  EXPECT_GT(readIntervals(dir.path(), 0)->dropped, 0U);
}

TEST(EngineFileTest, RunningKernel_FollowerSeesItGrow) {
  const ScratchDir dir;
  Opened mine(dir.path());
  ASSERT_TRUE(mine.ok);
  const std::uint32_t lane = mine.engine.addLane();
  IntervalFollower follower(dir.path(), 0);
  const OpRef kernel = submitKernel(mine.engine, lane, 20'000'000);
  std::uint64_t seen = 0;
  while (seen == 0) {
    EngineLock(mine.engine).line();
    ASSERT_TRUE(follower.update());
    seen = busyWithin(follower.view(), 0, CardEngine::kCompute, 0, UINT64_MAX);
  }
  ASSERT_TRUE(waitEnded(mine.engine, kernel));
  ASSERT_TRUE(follower.update());
  EXPECT_EQ(busyWithin(follower.view(), 0, CardEngine::kCompute, 0, UINT64_MAX), 20'000'000U);
  EXPECT_EQ(follower.view().intervals.size(), 1U);
}

TEST(EngineFileTest, MissingFile_NoView) {
  const ScratchDir dir;
  EXPECT_FALSE(readIntervals(dir.path(), 0).has_value());
}

}  // namespace
}  // namespace divvy::simgpu
