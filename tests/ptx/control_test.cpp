// Branches, loops, calls, ends and faults.
#include "machine.h"

namespace divvy::ptx {
namespace {

TEST(PtxControl, DivergingThreads_LoopAndRejoin) {
  Machine machine(64);
  machine.block = {32, 2, 1};
  const Fault fault = machine.run(kernel(R"(
    mov.u32 %r1, %tid.y;
    shl.b32 %r1, %r1, 5;
    add.u32 %t, %t, %r1;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    and.b32 %r4, %t, 1;
    setp.eq.u32 %p1, %r4, 0;
    @%p1 bra even;
  loop:
    setp.ge.u32 %p2, %r2, %t;
    @%p2 bra done;
    add.u32 %r3, %r3, %r2;
    add.u32 %r2, %r2, 1;
    bra.uni loop;
  even:
    @!%p1 trap;
    mov.u32 %r3, 1000;
  done:)" + storeAtThread("%r3")));
  EXPECT_EQ(fault.kind, FaultKind::kNone);
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(machine.words[i], i % 2 == 0 ? 1000 : i * (i - 1) / 2) << i;
  }
}

TEST(PtxControl, BranchTable_JumpsByIndex) {
  Machine machine(4);
  machine.block = {4, 1, 1};
  machine.run(kernel(R"(
    mov.u32 %r1, 0;
    ts: .branchtargets a, b, c, a;
    brx.idx %t, ts;
  a: add.u32 %r1, %r1, 1;
  b: add.u32 %r1, %r1, 10;
  c: add.u32 %r1, %r1, 100;)" +
                     storeAtThread("%r1")));
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{111, 110, 100, 111}));
}

// Structures by value, arrays, and a structure returned.
constexpr const char* kPair = R"(
.func (.param .align 8 .b8 func_retval0[16]) swap(.param .align 8 .b8 swap_param_0[16],
    .param .b32 swap_param_1)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.b64 %rd1, [swap_param_0];
  ld.param.b64 %rd2, [swap_param_0+8];
  ld.param.b32 %r1, [swap_param_1];
  cvt.u64.u32 %rd3, %r1;
  add.s64 %rd1, %rd1, %rd3;
  st.param.b64 [func_retval0], %rd2;
  st.param.b64 [func_retval0+8], %rd1;
  ret;
}
)";

TEST(PtxControl, StructureParameters_PassedByValue) {
  Machine machine(4);
  const Fault fault = machine.run(kernel(R"(
    mov.b64 %d1, 5; mov.b64 %d2, 9; mov.b32 %r1, 100;
    { // callseq 0, 0
    .param .align 16 .b8 param0[16];
    .param .b32 param1;
    .param .align 8 .b8 retval0[16];
    st.param.v2.b64 [param0], {%d1, %d2};
    st.param.b32 [param1], %r1;
    call.uni (retval0), swap, (param0, param1);
    ld.param.b64 %d3, [retval0];
    ld.param.b64 %d4, [retval0+8];
    } // callseq 0
    st.global.b64 [%out], %d3;
    st.global.b64 [%out+8], %d4;)",
                                         kPair));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{9, 0, 105, 0}));
}

constexpr const char* kFactorial = R"(
.func (.reg .b32 %result) factorial(.reg .b32 %n)
{
  .reg .pred %p; .reg .b32 %a, %b;
  mov.b32 %result, 1;
  setp.le.u32 %p, %n, 1;
  @%p ret;
  sub.u32 %a, %n, 1;
  call (%b), factorial, (%a);
  mul.lo.u32 %result, %n, %b;
}
)";

TEST(PtxControl, RecursionWithRegisters_Computes) {
  Machine machine(8);
  machine.block = {8, 1, 1};
  const Fault fault =
      machine.run(kernel("call (%r1), factorial, (%t);\n" + storeAtThread("%r1"), kFactorial));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{1, 1, 2, 6, 24, 120, 720, 5040}));
}

TEST(PtxControl, EndlessRecursion_StackOverflow) {
  Machine machine(1);
  const Fault fault = machine.run(
      kernel("call forever;", ".func forever() { .local .b8 l[64]; call forever; ret; }\n"));
  EXPECT_EQ(fault.kind, FaultKind::kStackOverflow);
}

constexpr const char* kTable = R"(
.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) square(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.s32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.global .align 8 .u64 table[2] = {twice, square};
.global .align 8 .u64 pointer = generic(table)+8;
)";

TEST(PtxControl, CallByAddress_ReachesFunction) {
  Machine machine(2, 0);
  machine.block = {2, 1, 1};
  const std::string body = R"(
    mul.wide.u32 %d1, %t, 8;
    mov.u64 %d2, table;
    add.u64 %d2, %d2, %d1;
    ld.global.u64 %d3, [%d2];
    {
    .param .b32 param0; .param .b32 retval0;
    st.param.b32 [param0], 7;
    prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (retval0), %d3, (param0), prototype_0;
    ld.param.b32 %r1, [retval0];
    })";
  const Fault fault = machine.run(kernel(body + storeAtThread("%r1"), kTable));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{14, 49}));

  const Fault wild = machine.run(kernel("mov.u64 %d1, 4096; call %d1, ();"));
  EXPECT_EQ(wild.kind, FaultKind::kIllegalCall);
}

TEST(PtxControl, AddressesInVariables_AreResolved) {
  Machine machine(2);
  const Fault fault = machine.run(kernel(R"(
    ld.global.u64 %d1, [pointer];
    ld.u64 %d2, [%d1];
    mov.u64 %d3, square;
    setp.eq.u64 %p1, %d2, %d3;
    selp.u32 %r1, 1, 0, %p1;
    st.global.u32 [%out], %r1;)",
                                         kTable));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.words[0], 1U);
}

TEST(PtxControl, Faults_SayKindLineAndAddress) {
  Machine machine(4);
  Fault fault = machine.run(kernel("\ntrap;"));
  EXPECT_EQ(fault.kind, FaultKind::kTrap);
  EXPECT_EQ(fault.line, 17);
  fault = machine.run(kernel("st.global.u32 [%out+16], %t;"));
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  EXPECT_EQ(fault.address, kBase + 16);
  fault = machine.run(kernel("ld.global.u32 %r1, [%out+2];"));
  EXPECT_EQ(fault.kind, FaultKind::kMisaligned);
  fault = machine.run(kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%out+8];"));
  EXPECT_EQ(fault.kind, FaultKind::kMisaligned);
  fault = machine.run(kernel("mov.u64 %d1, 0; ld.u8 %r1, [%d1];"));
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  fault = machine.run(kernel(".shared .b32 s; mov.u32 %r1, s; st.shared.u32 [%r1+4], %r1;"));
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
}

TEST(PtxControl, VprintfAndAssert_PrintTheirText) {
  Machine machine(1);
  const std::string before = R"(
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,
                            .param .b64 e) .noreturn;
.global .align 1 .b8 text[22] = {37, 100, 32, 37, 115, 32, 37, 46, 50, 102, 32, 37, 108, 108, 117,
                                 37, 37, 10, 0};
.global .align 1 .b8 word[3] = {104, 105, 0};
)";
  const std::string body = R"(
    .local .align 8 .b8 __local_depot0[32];
    mov.b64 %d1, __local_depot0;
    cvta.local.u64 %d2, %d1;
    mov.u32 %r1, -5; st.local.u32 [%d1], %r1;
    mov.u64 %d3, word; cvta.global.u64 %d3, %d3; st.local.u64 [%d1+8], %d3;
    mov.b64 %d4, 0d4004000000000000; st.local.u64 [%d1+16], %d4;
    mov.u64 %d5, 12345678901; st.local.u64 [%d1+24], %d5;
    mov.u64 %d6, text; cvta.global.u64 %d6, %d6;
    {
    .param .b64 param0; .param .b64 param1; .param .b32 retval0;
    st.param.b64 [param0], %d6;
    st.param.b64 [param1], %d2;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r2, [retval0];
    }
    st.global.u32 [%out], %r2;)";
  Fault fault = machine.run(kernel(body, before));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.text();
  EXPECT_EQ(machine.printed, "-5 hi 2.50 12345678901%\n");
  EXPECT_EQ(machine.words[0], 4U);
  fault = machine.run(kernel(R"(
    mov.u64 %d1, word; mov.u32 %r1, 12; mov.u64 %d2, 1;
    { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %d1; st.param.b64 [p1], %d1; st.param.b32 [p2], %r1;
    st.param.b64 [p3], %d1; st.param.b64 [p4], %d2;
    call.uni __assertfail, (p0, p1, p2, p3, p4); })",
                             before));
  EXPECT_EQ(fault.kind, FaultKind::kAssert);
  EXPECT_NE(
      machine.printed.find("hi:12: hi: block: [0,0,0], thread: [0,0,0] Assertion `hi` failed"),
      std::string::npos)
      << machine.printed;
}

}  // namespace
}  // namespace divvy::ptx
