// State spaces, vectors and atomics.
#include "machine.h"

namespace divvy::ptx {
namespace {

TEST(PtxMemory, WidthsAndSigns_ExactWords) {
  Machine machine(8);
  machine.words[0] = 0x8081ff80;
  machine.run(kernel(R"(
    ld.global.s8 %r1, [%out];
    ld.global.u8 %r2, [%out];
    ld.global.s16 %r3, [%out];
    ld.global.s8 %h1, [%out+1];
    cvt.u32.u16 %r4, %h1;
    ld.global.s32 %d1, [%out];
    mov.b64 {%r5, %r6}, %d1;
    st.global.v4.u32 [%out+16], {%r1, %r2, %r3, %r4};
    st.global.v2.b32 [%out+8], {%r5, %r6};
    st.global.u8 [%out+5], %r1;)"));
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{0x8081ff80, 0x8000, 0x8081ff80, 0xffffffff,
                                                       0xffffff80, 0x80, 0xffffff80, 0xffff}));
}

TEST(PtxMemory, GenericAddresses_ReachEachSpace) {
  Machine machine(4);
  machine.dynamic_shared = 16;
  const Fault fault = machine.run(kernel(R"(
    .shared .align 4 .b32 own;
    .local .align 4 .b8 depot[16];
    mov.u64 %d1, own; cvta.shared.u64 %d2, %d1;
    mov.u32 %r1, 11; st.u32 [%d2], %r1; ld.shared.u32 %r2, [own];
    mov.u64 %d3, depot; cvta.local.u64 %d4, %d3;
    mov.u32 %r1, 22; st.u32 [%d4+8], %r1; ld.local.u32 %r3, [depot+8];
    mov.u64 %d5, constant; cvta.const.u64 %d5, %d5; ld.u32 %r4, [%d5+4];
    mov.u64 %d6, dynamic; cvta.shared.u64 %d6, %d6;
    st.u32 [%d6+12], %r4; ld.shared.u32 %r5, [dynamic+12];
    cvta.to.shared.u64 %d7, %d6;
    isspacep.shared %p1, %d6; isspacep.local %p2, %d4; isspacep.global %p3, %out;
    isspacep.global %p4, %d6;
    and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3; not.pred %p4, %p4; and.pred %p1, %p1, %p4;
    mov.u64 %d8, k_out; cvta.param.u64 %d8, %d8; ld.u64 %d9, [%d8];
    setp.ne.and.u64 %p1, %d9, 0, %p1;
    @!%p1 trap;
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5};)",
                                         ".extern .shared .align 16 .b8 dynamic[];\n"
                                         ".const .align 4 .u32 constant[2] = {32, 33};\n"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{11, 22, 33, 33}));
}

TEST(PtxMemory, LocalAndShared_PerThreadAndBlock) {
  Machine machine(64);
  machine.block = {32, 1, 1};
  machine.grid = {2, 1, 1};
  machine.run(kernel(R"(
    .shared .b32 counter;
    .local .align 4 .b8 depot[4];
    mov.u32 %r1, %ctaid.x;
    shl.b32 %r2, %r1, 5;
    add.u32 %t, %t, %r2;
    st.local.u32 [depot], %t;
    atom.shared.add.u32 %r3, [counter], 1;
    bar.sync 0;
    ld.local.u32 %r4, [depot];
    ld.shared.u32 %r5, [counter];
    add.u32 %r4, %r4, %r5;)" +
                     storeAtThread("%r4")));
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(machine.words[i], i + 32);
}

// Every operation on the same word by one thread: old value and new value.
std::pair<std::uint64_t, std::uint64_t> atomically(const std::string& operation, bool wide,
                                                   std::uint64_t before) {
  Machine machine(8);
  std::memcpy(machine.words.data(), &before, 8);
  const std::string reg = wide ? "%d1" : "%r1";
  const Fault fault = machine.run(
      kernel("mov.b32 %r2, 5; mov.b64 %d2, 5; mov.b32 %r3, 9; mov.b64 %d3, 9;\n"
             "atom.global." +
             operation + "\nst.global.b" + (wide ? "64" : "32") + " [%out+8], " + reg + ";"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << operation;
  std::uint64_t values[2];
  std::memcpy(values, machine.words.data(), 16);
  return {values[1], values[0]};
}

TEST(PtxMemory, AtomicOperations_ExactResults) {
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(atomically("add.u32 %r1, [%out], %r2;", false, 7), (Pair{7, 12}));
  EXPECT_EQ(atomically("add.u64 %d1, [%out], %d2;", true, ~0ULL), (Pair{~0ULL, 4}));
  EXPECT_EQ(atomically("min.s32 %r1, [%out], %r2;", false, 0xffffffff),
            (Pair{0xffffffff, 0xffffffff}));
  EXPECT_EQ(atomically("min.u32 %r1, [%out], %r2;", false, 0xffffffff), (Pair{0xffffffff, 5}));
  EXPECT_EQ(atomically("max.s64 %d1, [%out], %d2;", true, ~0ULL), (Pair{~0ULL, 5}));
  EXPECT_EQ(atomically("and.b32 %r1, [%out], %r2;", false, 4), (Pair{4, 4}));
  EXPECT_EQ(atomically("or.b64 %d1, [%out], %d2;", true, 8), (Pair{8, 13}));
  EXPECT_EQ(atomically("xor.b32 %r1, [%out], %r2;", false, 1), (Pair{1, 4}));
  EXPECT_EQ(atomically("exch.b64 %d1, [%out], %d2;", true, 1), (Pair{1, 5}));
  EXPECT_EQ(atomically("cas.b32 %r1, [%out], %r2, %r3;", false, 5), (Pair{5, 9}));
  EXPECT_EQ(atomically("cas.b64 %d1, [%out], %d2, %d3;", true, 6), (Pair{6, 6}));
  EXPECT_EQ(atomically("inc.u32 %r1, [%out], %r2;", false, 4), (Pair{4, 5}));
  EXPECT_EQ(atomically("inc.u32 %r1, [%out], %r2;", false, 5), (Pair{5, 0}));
  EXPECT_EQ(atomically("dec.u32 %r1, [%out], %r2;", false, 0), (Pair{0, 5}));
  EXPECT_EQ(atomically("dec.u32 %r1, [%out], %r2;", false, 3), (Pair{3, 2}));
  EXPECT_EQ(atomically("add.f32 %r1, [%out], 0f3F800000;", false, 0x40000000),
            (Pair{0x40000000, 0x40400000}));
  EXPECT_EQ(atomically("add.f32 %r1, [%out], 0f00000001;", false, 1), (Pair{1, 0})) << "flushed";
  EXPECT_EQ(atomically("add.f64 %d1, [%out], 0d3FF0000000000000;", true, 0x4000000000000000),
            (Pair{0x4000000000000000, 0x4008000000000000}));
  EXPECT_EQ(atomically("add.noftz.f16x2 %r1, [%out], %r2;", false, 0x3c003c00),
            (Pair{0x3c003c00, 0x3c003c00}));
}

TEST(PtxMemory, AtomicsAcrossBlocks_AddUp) {
  Machine machine(2);
  machine.block = {96, 1, 1};
  machine.grid = {3, 5, 2};
  const Fault fault = machine.run(kernel(R"(
    red.global.add.u32 [%out], 1;
    mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    red.relaxed.gpu.global.max.u32 [%out+4], %r1;)"));
  EXPECT_EQ(fault.kind, FaultKind::kNone);
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{96 * 30, 9}));
}

TEST(PtxMemory, AsyncCopy_ArrivesAfterWait) {
  Machine machine(8);
  machine.words[0] = 1;
  machine.words[1] = 2;
  const Fault fault = machine.run(kernel(R"(
    .shared .align 16 .b8 tile[16];
    mov.u32 %r1, tile;
    cp.async.ca.shared.global [%r1], [%out], 8;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.v2.u32 {%r2, %r3}, [tile];
    st.global.v2.u32 [%out+8], {%r3, %r2};)"));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[2], 2U);
  EXPECT_EQ(machine.words[3], 1U);
}

}  // namespace
}  // namespace divvy::ptx
