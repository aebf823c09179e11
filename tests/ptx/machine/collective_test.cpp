// Barriers, shuffles, votes: what threads do together.
#include "machine.h"

namespace divvy::ptx {
namespace {

TEST(PtxCollective, Barrier_OrdersSharedMemory) {
  Machine machine(256);
  machine.block = {256, 1, 1};
  const Fault fault = machine.run(kernel(R"(
    .shared .align 4 .b8 tile[1024];
    mov.u32 %r1, tile;
    shl.b32 %r2, %t, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %t;
    bar.sync 0;
    mov.u32 %r4, 1020;
    sub.u32 %r4, %r4, %r2;
    add.u32 %r4, %r4, %r1;
    ld.shared.u32 %r5, [%r4];)" + storeAtThread("%r5")));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(machine.words[i], 255 - i);
}

TEST(PtxCollective, EndedThreads_BarrierGoesOn) {
  Machine machine(64);
  machine.block = {64, 1, 1};
  const Fault fault = machine.run(kernel(R"(
    setp.ge.u32 %p1, %t, 40;
    @%p1 exit;
    barrier.sync.aligned 0;
    mov.u32 %r1, 1;)" + storeAtThread("%r1")));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[39], 1U);
  EXPECT_EQ(machine.words[40], 0U);
}

TEST(PtxCollective, PartialBarrier_OrdersArriveAndSync) {
  Machine machine(64);
  machine.block = {64, 1, 1};
  const Fault fault = machine.run(kernel(R"(
    .shared .b32 box;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra consumer;
    setp.ne.u32 %p2, %t, 0;
    mov.u32 %r1, 77;
    @!%p2 st.shared.u32 [box], %r1;
    bar.arrive 3, 64;
    bra end;
  consumer:
    bar.sync 3, 64;
    ld.shared.u32 %r1, [box];
  end:)" + storeAtThread("%r1")));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[63], 77U);
}

TEST(PtxCollective, ReducingBarriers_ExactResults) {
  Machine machine(64);
  machine.block = {64, 1, 1};
  machine.run(kernel(R"(
    setp.lt.u32 %p1, %t, 20;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 1, %p1;
    bar.red.or.pred %p3, 1, !%p1;
    selp.u32 %r2, 100, 0, %p2;
    selp.u32 %r3, 1000, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;)" +
                     storeAtThread("%r1")));
  EXPECT_EQ(machine.words[0], 1020U);
  EXPECT_EQ(machine.words[63], 1020U);
}

TEST(PtxCollective, Deadlock_IsFaultWithLine) {
  Machine machine(1);
  machine.block = {64, 1, 1};
  const Fault fault = machine.run(kernel(R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bar.sync 1, 64;
    @!%p1 bar.sync 2, 64;)"));
  EXPECT_EQ(fault.kind, FaultKind::kDeadlock);
  EXPECT_EQ(fault.line, 18);
}

TEST(PtxCollective, Shuffles_ExactLanes) {
  const auto shuffled = [](const std::string& instruction) {
    Machine machine(32);
    machine.block = {32, 1, 1};
    machine.run(kernel("add.u32 %r2, %t, 100;\n" + instruction +
                       "\nselp.u32 %r3, 1000, 0, %p1;\nadd.u32 %r1, %r1, %r3;\n" +
                       storeAtThread("%r1")));
    return machine.words;
  };
  auto down = shuffled("shfl.sync.down.b32 %r1|%p1, %r2, 4, 31, -1;");
  EXPECT_EQ(down[0], 1104U);
  EXPECT_EQ(down[27], 1131U);
  EXPECT_EQ(down[28], 128U) << "its own, and false";
  auto up = shuffled("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, 0xffffffff;");
  EXPECT_EQ(up[0], 100U);
  EXPECT_EQ(up[31], 1130U);
  auto butterfly = shuffled("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;");
  EXPECT_EQ(butterfly[3], 1119U);
  auto index = shuffled("shfl.sync.idx.b32 %r1|%p1, %r2, 5, 31, -1;");
  EXPECT_EQ(index[31], 1105U);
  auto segment = shuffled("shfl.sync.idx.b32 %r1|%p1, %r2, 2, 0x181f, -1;");  // of 8 lanes
  EXPECT_EQ(segment[17], 1118U);
}

TEST(PtxCollective, DivergentPartialMasks_ExactLanes) {
  Machine machine(32);
  machine.block = {32, 1, 1};
  const Fault fault = machine.run(kernel(R"(
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra even;
    shfl.sync.bfly.b32 %r2, %t, 2, 31, 0xaaaaaaaa;
    bra join;
  even:
    shfl.sync.bfly.b32 %r2, %t, 4, 31, 0x55555555;
  join:
    bar.warp.sync -1;)" + storeAtThread("%r2")));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[1], 3U);
  EXPECT_EQ(machine.words[0], 4U);
}

TEST(PtxCollective, VotesMatchesReductions_ExactResults) {
  const auto everywhere = [](const std::string& body) {
    Machine machine(32);
    machine.block = {32, 1, 1};
    const Fault fault = machine.run(kernel("setp.lt.u32 %p1, %t, 4;\nand.b32 %r2, %t, 3;\n" + body +
                                           "\n" + storeAtThread("%r1")));
    EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
    return machine.words[5];
  };
  EXPECT_EQ(everywhere("vote.sync.ballot.b32 %r1, %p1, -1;"), 0xfU);
  EXPECT_EQ(everywhere("vote.sync.ballot.b32 %r1, !%p1, -1;"), 0xfffffff0U);
  EXPECT_EQ(everywhere("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;"), 1U);
  EXPECT_EQ(everywhere("vote.sync.all.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;"), 0U);
  EXPECT_EQ(everywhere("vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;"), 0U);
  EXPECT_EQ(everywhere("match.any.sync.b32 %r1, %r2, -1;"), 0x22222222U);
  EXPECT_EQ(everywhere("match.all.sync.b32 %r1|%p2, %r2, -1;"), 0U);
  EXPECT_EQ(everywhere("redux.sync.add.u32 %r1, %t, -1;"), 496U);
  EXPECT_EQ(everywhere("sub.u32 %r3, %t, 10; redux.sync.min.s32 %r1, %r3, -1;"), 0xfffffff6U);
  EXPECT_EQ(everywhere("redux.sync.xor.b32 %r1, %t, -1;"), 0U);
  EXPECT_EQ(everywhere("activemask.b32 %r1;"), 0xffffffffU);
  EXPECT_EQ(everywhere("elect.sync %r1|%p2, -1;"), 0U);
  EXPECT_EQ(everywhere("mov.u32 %r1, %lanemask_lt;"), 0x1fU);
}

TEST(PtxCollective, BranchTaken_ActiveMaskIsPartial) {
  Machine machine(32);
  machine.block = {32, 1, 1};
  machine.run(kernel(R"(
    mov.u32 %r1, 0;
    setp.ge.u32 %p1, %t, 5;
    @%p1 bra join;
    activemask.b32 %r1;
  join:)" + storeAtThread("%r1")));
  EXPECT_EQ(machine.words[0], 0x1fU);
  EXPECT_EQ(machine.words[6], 0U);
}

TEST(PtxCollective, SpinningThreads_LetOthersGoOn) {
  Machine machine(2);
  machine.block = {64, 1, 1};
  // A lock that every lane of a warp takes in turn.
  const Fault fault = machine.run(kernel(R"(
  again:
    atom.global.cas.b32 %r1, [%out], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra again;
    ld.volatile.global.u32 %r2, [%out+4];
    add.u32 %r2, %r2, 1;
    st.volatile.global.u32 [%out+4], %r2;
    membar.gl;
    atom.global.exch.b32 %r1, [%out], 0;)"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[1], 64U);
}

TEST(PtxCollective, CooperativeGrid_MeetsInWorkspace) {
  Machine machine(16);
  machine.grid = {16, 1, 1};
  // What cooperative_groups does: a counter behind the size of what %envreg1 and %envreg2 name.
  const Fault fault = machine.run(kernel(R"(
    mov.u32 %r1, %envreg2; mov.u32 %r2, %envreg1; mov.b64 %d1, {%r1, %r2};
    mov.u32 %r3, 0;
    mov.u32 %r6, %ctaid.x;
    mul.wide.u32 %d2, %r6, 4; add.u64 %d2, %d2, %out;
  round:
    add.u32 %r3, %r3, 16;
    atom.global.add.u32 %r4, [%d1+4], 1;
  again:
    ld.acquire.gpu.u32 %r5, [%d1+4];
    setp.lt.u32 %p1, %r5, %r3;
    @%p1 bra again;
    st.global.u32 [%d2], %r5;
    setp.lt.u32 %p2, %r3, 48;
    @%p2 bra round;)"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  for (const std::uint32_t word : machine.words) EXPECT_EQ(word, 48U);
}

TEST(PtxCollective, BlockAwaitsLaterBlocks_AllRun) {
  Machine machine(1);
  machine.grid = {8, 1, 1};
  // A barrier of the whole grid: the first block waits for all of them.
  const Fault fault = machine.run(kernel(R"(
    red.global.add.u32 [%out], 1;
  again:
    ld.acquire.gpu.global.u32 %r1, [%out];
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra again;)"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[0], 8U);
}

}  // namespace
}  // namespace divvy::ptx
