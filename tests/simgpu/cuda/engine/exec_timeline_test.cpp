// The pure timeline: order, slices, waits, bounds. No clock, no file, no process.
#include "exec_timeline_fixture.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace divvy::simgpu {
namespace {

TEST_F(TimelineTest, ReadyKernel_EndsAfterItsCost) {
  const std::uint32_t a = lane(1);
  pass(500);
  const OpRef k = kernel(a, 1000);
  pass(10'000'000);
  EXPECT_EQ(startOf(k), 500U);
  EXPECT_EQ(endOf(k), 1500U);
}

TEST_F(TimelineTest, LateLook_KernelNotStretched) {
  const std::uint32_t a = lane(1);
  const OpRef k1 = kernel(a, 1'000'000);
  const OpRef k2 = kernel(a, 1'000'000, {k1});
  pass(33'000'000);
  EXPECT_EQ(endOf(k1), 1'000'000U);
  EXPECT_EQ(endOf(k2), 2'000'000U);
}

TEST_F(TimelineTest, Engines_RunSideBySide) {
  const std::uint32_t a = lane(1);
  const OpRef k = kernel(a, 1000);
  const OpRef in = copy(a, Engine::kCopyIn, 1000, 64);
  const OpRef out = copy(a, Engine::kCopyOut, 1000, 64);
  pass(1000);
  EXPECT_TRUE(done(k) && done(in) && done(out));
}

TEST_F(TimelineTest, Dependency_WaitsAcrossEnginesAndLanes) {
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(1);
  const OpRef in = copy(a, Engine::kCopyIn, 700, 64);
  const OpRef k = kernel(b, 300, {in});
  pass(10'000);
  EXPECT_EQ(startOf(k), 700U);
  EXPECT_EQ(endOf(k), 1000U);
}

TEST_F(TimelineTest, Marker_StampedWithPredecessorsEnd) {
  const std::uint32_t a = lane(1);
  const OpRef k = kernel(a, 12'345);
  const OpRef m1 = marker(a, {k});
  const OpRef m2 = marker(a, {m1});
  pass(1'000'000);
  const OpRef m3 = marker(a, {m2});
  EXPECT_EQ(endOf(m1), 12'345U);
  EXPECT_EQ(endOf(m2), 12'345U);
  EXPECT_EQ(endOf(m3), 1'000'000U) << "an idle stream's event is stamped when it is recorded";
}

TEST_F(TimelineTest, ChainOf2000Markers_Completes) {
  const std::uint32_t a = lane(1);
  OpRef last = kernel(a, 1000);
  for (int i = 0; i < 2000; ++i) last = marker(a, {last});
  pass(1000);
  EXPECT_TRUE(done(last));
}

TEST_F(TimelineTest, UrgentKernel_PreemptsInItsContext) {
  const std::uint32_t a = lane(1);
  const OpRef low = kernel(a, 1000);
  pass(400);
  const OpRef high = kernel(a, 100, {}, -1);
  pass(10'000);
  EXPECT_EQ(endOf(high), 500U);
  EXPECT_EQ(endOf(low), 1100U);
}

TEST_F(TimelineTest, TwoContexts_AlternateSlices) {
  reset({.timeslice = kSlice, .switch_cost = 0});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  const OpRef ka = kernel(a, 10 * kSlice);
  const OpRef kb = kernel(b, 10 * kSlice);
  pass(20 * kSlice);
  EXPECT_EQ(endOf(ka), 19 * kSlice);
  EXPECT_EQ(endOf(kb), 20 * kSlice);
  const auto records = log();
  ASSERT_EQ(records.size(), 20U);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].pid, i % 2 + 1);
    EXPECT_EQ(records[i].start_ns, kStart + i * kSlice);
    EXPECT_EQ(records[i].end_ns, kStart + (i + 1) * kSlice);
  }
}

TEST_F(TimelineTest, ContextSwitch_ChargedToNoProcess) {
  reset({.timeslice = 1'000'000, .switch_cost = 50'000});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  kernel(a, 10'000'000);
  kernel(b, 10'000'000);
  pass(10'500'000);
  const auto sums = computeByPid();
  EXPECT_EQ(sums.at(1), 5'000'000U);
  EXPECT_EQ(sums.at(2), 5'000'000U);
  EXPECT_EQ(state()->engines[0].busy_ns, 10'000'000U);
}

TEST_F(TimelineTest, IdleContext_IsSkipped) {
  reset({.timeslice = kSlice, .switch_cost = 100'000});
  const std::uint32_t a = lane(1);
  lane(2);
  const OpRef k = kernel(a, 5 * kSlice + 1);
  pass(6 * kSlice);
  EXPECT_EQ(endOf(k), 5 * kSlice + 1);
  EXPECT_EQ(state()->engines[0].switches, 0U);
}

TEST_F(TimelineTest, Newcomer_WaitsForRunningSlice) {
  reset({.timeslice = kSlice, .switch_cost = 0});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  kernel(a, 100 * kSlice);
  pass(3 * kSlice + kSlice / 4);
  const OpRef k = kernel(b, 1000);
  pass(2 * kSlice);
  EXPECT_EQ(startOf(k), 4 * kSlice);
}

TEST_F(TimelineTest, Timeslice_IsSettablePerContext) {
  reset({.timeslice = kSlice, .switch_cost = 0});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  state()->lanes[a].timeslice = 3'000'000;
  state()->lanes[b].timeslice = 1'000'000;
  kernel(a, 1'000'000'000);
  kernel(b, 1'000'000'000);
  pass(400'000'000);
  const auto sums = computeByPid();
  EXPECT_EQ(sums.at(1), 300'000'000U);
  EXPECT_EQ(sums.at(2), 100'000'000U);
}

TEST_F(TimelineTest, BothDirections_SlowedByDuplexFactor) {
  reset({.duplex_permille = 800});
  const std::uint32_t a = lane(1);
  const OpRef in = copy(a, Engine::kCopyIn, 1000, 64);
  const OpRef out = copy(a, Engine::kCopyOut, 2000, 64);
  pass(10'000);
  EXPECT_EQ(endOf(in), 1250U);
  EXPECT_EQ(endOf(out), 2250U);
}

TEST_F(TimelineTest, HostFunction_EndsWhenOwnerSays) {
  const std::uint32_t a = lane(1);
  const OpRef k = kernel(a, 1000);
  const OpRef h = host(a, {k});
  const OpRef after = kernel(a, 10, {h});
  EXPECT_FALSE(line().finish(h, now_, now_)) << "not begun";
  pass(5000);
  EXPECT_EQ(line().firstBegun(a, ListId::kHost), h);
  now_ += 2000;
  EXPECT_TRUE(line().finish(h, now_, now_));
  pass(100);
  EXPECT_EQ(endOf(h), 7000U);
  EXPECT_EQ(startOf(after), 7000U);
}

TEST_F(TimelineTest, SpinningKernel_SharesEngineInSlices) {
  reset({.timeslice = kSlice, .switch_cost = 0});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  const OpRef spin =
      put(a, {.engine = Engine::kCompute, .kind = IntervalKind::kKernel, .owner_ends = true}, {});
  const OpRef beside = kernel(a, 1000);
  kernel(b, 100 * kSlice);
  pass(4 * kSlice + 10);
  EXPECT_EQ(endOf(beside), 1000U);
  EXPECT_EQ(computeByPid().at(1), 2 * kSlice + 10);
  pass(kSlice);
  EXPECT_FALSE(line().finish(spin, now_, now_)) << "a context that is switched out sees nothing";
  pass(kSlice);
  EXPECT_TRUE(line().finish(spin, now_, now_));
}

TEST_F(TimelineTest, LaunchQueue_Holds1024) {
  const std::uint32_t a = lane(1);
  for (std::uint32_t i = 0; i < kMaxPendingLaunches; ++i) ASSERT_NE(kernel(a, 1000), 0U);
  EXPECT_EQ(kernel(a, 1000), 0U);
  EXPECT_FALSE(line().hasRoom(a, IntervalKind::kKernel));
  EXPECT_TRUE(line().hasRoom(a, IntervalKind::kCopyIn));
  pass(1000);
  EXPECT_NE(kernel(a, 1000), 0U) << "one ended, one fits";
}

TEST_F(TimelineTest, DroppedLane_ItsWorkIsGone) {
  reset({.timeslice = kSlice, .switch_cost = 0});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  kernel(a, 1'000'000'000);
  const OpRef k = kernel(b, 1000);
  pass(kSlice / 2);
  line().dropLane(a);
  pass(1000);
  EXPECT_TRUE(done(k));
  EXPECT_EQ(endOf(k), kSlice / 2 + 1000);
}

TEST_F(TimelineTest, DroppedLane_WaitersResolve) {
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(1);
  const OpRef h = host(a);
  const OpRef waits = kernel(b, 1000, {h});
  pass(500);
  line().dropLane(a);
  pass(1000);
  EXPECT_EQ(endOf(waits), 1500U);
}

TEST_F(TimelineTest, DroppedWaiter_LeavesNoTrace) {
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(1);
  const OpRef h = host(a);
  kernel(b, 1000, {h});
  line().dropLane(b);
  const std::uint32_t c = lane(2);
  const OpRef other = host(c);
  const OpRef fresh = kernel(c, 1000, {other});  // takes the slot of the one dropped
  ASSERT_TRUE(line().finish(h, now_, now_));
  pass(2000);
  EXPECT_FALSE(done(fresh));
}

TEST_F(TimelineTest, CancelledWork_EndsNowInOrder) {
  const std::uint32_t a = lane(1);
  const OpRef k = kernel(a, 1'000'000);
  const OpRef m = marker(a, {k});
  pass(10);
  line().cancelPending(a, now_);
  EXPECT_EQ(endOf(k), 10U);
  EXPECT_EQ(endOf(m), 10U);
  EXPECT_EQ(line().firstDone(a), k);
}

TEST_F(TimelineTest, EndBound_FollowsCostsUntilOwnerEnds) {
  const std::uint32_t a = lane(1);
  const OpRef k = kernel(a, 1000);
  const OpRef k2 = kernel(a, 500, {k});
  const OpRef h = host(a, {k2});
  const OpRef after = kernel(a, 1, {h});
  EXPECT_EQ(line().endBound(k2), kStart + 1500);
  EXPECT_EQ(line().attentionBound(a), kStart + 1500) << "when the host function can begin";
  EXPECT_EQ(line().endBound(h), kNever);
  EXPECT_EQ(line().endBound(after), kNever);
  pass(2000);
  EXPECT_LE(line().attentionBound(a), now_);
  line().noticed(h);
  EXPECT_EQ(line().attentionBound(a), kNever);
}

TEST_F(TimelineTest, EndBound_CountsNeighboursSlice) {
  reset({.timeslice = kSlice, .switch_cost = 1000});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  kernel(a, 10 * kSlice);
  const OpRef k = kernel(b, 500);
  pass(100);
  EXPECT_EQ(line().endBound(k), kStart + kSlice + 1000 + 500);
  pass(kSlice + 1400);
  EXPECT_TRUE(done(k)) << "and it was exact";
}

TEST_F(TimelineTest, NeighbourRunsOut_EndBoundIsEarly) {
  reset({.timeslice = kSlice, .switch_cost = 1000});
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  kernel(a, 300);
  const OpRef k = kernel(b, 500);
  EXPECT_EQ(line().endBound(k), kStart + 300 + 1000 + 500);
  pass(1800);
  EXPECT_TRUE(done(k));
}

TEST_F(TimelineTest, AdjoiningKernels_OneRecord) {
  const std::uint32_t a = lane(1);
  for (int i = 0; i < 100; ++i) kernel(a, 1000);
  pass(100'000);
  ASSERT_EQ(log().size(), 1U);
  EXPECT_EQ(log()[0].ops, 100U);
  EXPECT_EQ(log()[0].end_ns - log()[0].start_ns, 100'000U);
}

TEST_F(TimelineTest, Completions_InOrderAndSlotsReused) {
  const std::uint32_t a = lane(1);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 1000; ++i) ASSERT_NE(kernel(a, 10), 0U);
    pass(10'000);
    std::uint64_t order = 0;
    for (OpRef ref = line().firstDone(a); ref != 0; ref = line().firstDone(a)) {
      EXPECT_GT(line().doneOrder(ref), order);
      order = line().doneOrder(ref);
      line().release(ref);
      EXPECT_TRUE(line().view(ref).released);
    }
  }
  EXPECT_EQ(state()->lanes[a].in_use, 0U);
}

// Random work on random lanes, looked at at random times: conservation and no overlap.
TEST_F(TimelineTest, RandomWork_NoOverlapNoLoss) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    reset({.timeslice = 50'000, .switch_cost = random() % 2000});
    std::vector<std::uint32_t> lanes;
    for (std::uint32_t i = 0; i < 5; ++i) lanes.push_back(lane(i));
    std::array<Nanos, kEngineCount> asked{};
    std::vector<OpRef> all{0};
    for (int i = 0; i < 800; ++i) {
      const auto e = random() % kEngineCount;
      const Nanos cost = 1 + random() % 30'000;
      asked[e] += cost;
      all.push_back(put(lanes[random() % 5], {.engine = static_cast<Engine>(e), .cost = cost},
                        {all[random() % all.size()], all[random() % all.size()]}));
      if (random() % 4 == 0) pass(random() % 40'000);
    }
    pass(1'000'000'000);
    for (OpRef ref : all) EXPECT_TRUE(done(ref));
    auto records = log();
    for (std::uint8_t e = 0; e < kEngineCount; ++e) {
      EXPECT_EQ(state()->engines[e].busy_ns, asked[e]);
      Nanos last = 0;
      std::stable_sort(records.begin(), records.end(),
                       [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
      for (const IntervalRecord& r : records) {
        if (r.engine != e) continue;
        EXPECT_GE(r.start_ns, last);
        last = r.end_ns;
      }
    }
  }
}

// A holder that dies leaves derived data in any state; recovery must not need it.
TEST_F(TimelineTest, CorruptedDerivedData_IsRebuilt) {
  std::mt19937_64 random(11);
  const std::uint32_t a = lane(1);
  const std::uint32_t b = lane(2);
  std::vector<OpRef> all{0};
  const OpRef h = host(a);
  for (int i = 0; i < 300; ++i) {
    all.push_back(kernel(random() % 2 == 0 ? a : b, 1000 + random() % 1000,
                         {all[random() % all.size()], random() % 10 == 0 ? h : 0}));
  }
  pass(50'000);
  for (std::uint32_t l : {a, b}) {
    Lane& record = state()->lanes[l];
    std::memset(static_cast<void*>(record.lists.data()), 0x11, sizeof record.lists);
    record.oldest = record.newest = record.free_head = 7;
    record.in_use = record.pending_launches = 99;
    for (Op& op : state()->ops[l]) {
      op.prev = op.next = op.older = op.newer = 13;
      op.first_edge = 17;
      op.edge_next.fill(19);
      op.unresolved = 3;
    }
  }
  for (EngineState& engine : state()->engines) engine.busy.fill(~0ULL);
  state()->log.generation.fetch_add(1);
  line().recover();
  EXPECT_EQ(state()->log.generation % 2, 0U);
  pass(1'000);
  ASSERT_TRUE(line().finish(h, now_, now_));
  pass(10'000'000);
  for (OpRef ref : all) EXPECT_TRUE(done(ref));
  for (std::uint32_t l : {a, b}) {
    while (line().firstDone(l) != 0) line().release(line().firstDone(l));
    EXPECT_EQ(state()->lanes[l].in_use, 0U);
    EXPECT_EQ(state()->lanes[l].pending_launches, 0U);
  }
}

}  // namespace
}  // namespace divvy::simgpu
