// Integer instructions, against values worked out by hand from the PTX ISA's descriptions.
#include "machine.h"

namespace divvy::ptx {
namespace {

constexpr std::uint64_t kMin32 = 0x80000000;
constexpr std::uint64_t kMin64 = 0x8000000000000000;

TEST(PtxInteger, AddSubtractMultiply_ExactResults) {
  check({
      {"add.s32 %r0, %r2, %r3;", {0x7fffffff, 1}, 0x80000000},
      {"add.sat.s32 %r0, %r2, %r3;", {0x7fffffff, 1}, 0x7fffffff},
      {"add.sat.s32 %r0, %r2, %r3;", {kMin32, 0xffffffff}, kMin32},
      {"sub.sat.s32 %r0, %r2, %r3;", {0, kMin32}, 0x7fffffff},
      {"add.u16 %h0, %h2, %h3;", {0xffff, 2}, 1},
      {"add.s64 %d0, %d2, -5;", {3}, 0xfffffffffffffffe},
      {"sub.u32 %r0, %r2, %r3;", {1, 2}, 0xffffffff},
      {"mul.lo.s32 %r0, %r2, %r3;", {0xffffffff, 7}, 0xfffffff9},
      {"mul.hi.s32 %r0, %r2, %r3;", {0xffffffff, 7}, 0xffffffff},
      {"mul.hi.u32 %r0, %r2, %r3;", {0xffffffff, 7}, 6},
      {"mul.hi.u64 %d0, %d2, %d3;", {0xffffffffffffffff, 16}, 15},
      {"mul.hi.s64 %d0, %d2, %d3;", {0xffffffffffffffff, 16}, 0xffffffffffffffff},
      {"mul.lo.u16 %h0, %h2, %h3;", {0xffff, 0xffff}, 1},
      {"mul.hi.u16 %h0, %h2, %h3;", {0xffff, 0xffff}, 0xfffe},
      {"mul.wide.s32 %d0, %r2, %r3;", {0xffffffff, 2}, 0xfffffffffffffffe},
      {"mul.wide.u32 %d0, %r2, %r3;", {0xffffffff, 2}, 0x1fffffffe},
      {"mul.wide.s16 %r0, %h2, %h3;", {0xffff, 2}, 0xfffffffe},
      {"mul.wide.u16 %r0, %h2, %h3;", {0xffff, 2}, 0x1fffe},
      {"mad.lo.s32 %r0, %r2, %r3, %r4;", {3, 4, 5}, 17},
      {"mad.hi.u32 %r0, %r2, %r3, %r4;", {kMin32, 4, 5}, 7},
      {"mad.wide.u32 %d0, %r2, %r3, %d4;", {kMin32, 4, 5}, 0x200000005},
      {"mad.hi.sat.s32 %r0, %r2, %r3, %r4;", {0x7fffffff, 0x7fffffff, 0x7fffffff}, 0x7fffffff},
      {"mul24.lo.u32 %r0, %r2, %r3;", {0xff000003, 0xff000005}, 15},
      {"mul24.hi.u32 %r0, %r2, %r3;", {0x800000, 0x10000}, 0x800000},
      {"mul24.lo.s32 %r0, %r2, %r3;", {0xffffff, 3}, 0xfffffffd},
      {"mad24.lo.u32 %r0, %r2, %r3, %r4;", {3, 5, 7}, 22},
      {"sad.s32 %r0, %r2, %r3, %r4;", {0xffffffff, 3, 10}, 14},
      {"sad.u32 %r0, %r2, %r3, %r4;", {0xffffffff, 3, 0}, 0xfffffffc},
      {"abs.s32 %r0, %r2;", {kMin32}, kMin32},
      {"abs.s64 %d0, %d2;", {0xffffffffffffffff}, 1},
      {"neg.s16 %h0, %h2;", {1}, 0xffff},
      {"min.s32 %r0, %r2, %r3;", {0xffffffff, 1}, 0xffffffff},
      {"min.u32 %r0, %r2, %r3;", {0xffffffff, 1}, 1},
      {"max.s64 %d0, %d2, %d3;", {kMin64, 1}, 1},
      {"dp4a.s32.s32 %r0, %r2, %r3, %r4;", {0xff01ff01, 0x02020202, 100}, 100},
      {"dp4a.u32.u32 %r0, %r2, %r3, %r4;", {0xff01ff01, 0x02020202, 100}, 100 + 1024},
      {"dp4a.u32.s32 %r0, %r2, %r3, %r4;", {0x00000003, 0x000000ff, 10}, 7},
      {"dp2a.lo.s32.s32 %r0, %r2, %r3, %r4;", {0xffff0002, 0x0403ff05, 1}, 12},
      {"dp2a.hi.s32.s32 %r0, %r2, %r3, %r4;", {0xffff0002, 0x0403ff05, 1}, 3},
  });
}

TEST(PtxInteger, DivisionByZeroOrOverflow_NoTrap) {
  check({
      {"div.u32 %r0, %r2, %r3;", {7, 0}, 0xffffffff},
      {"div.s32 %r0, %r2, %r3;", {kMin32, 0xffffffff}, kMin32},
      {"div.s32 %r0, %r2, %r3;", {0xfffffff9, 2}, 0xfffffffd},
      {"rem.s32 %r0, %r2, %r3;", {0xfffffff9, 2}, 0xffffffff},
      {"rem.s32 %r0, %r2, %r3;", {kMin32, 0xffffffff}, 0},
      {"rem.u32 %r0, %r2, %r3;", {7, 0}, 7},
      {"div.s64 %d0, %d2, %d3;", {kMin64, 0xffffffffffffffff}, kMin64},
      {"div.u64 %d0, %d2, %d3;", {kMin64, 2}, 0x4000000000000000},
      {"div.s16 %h0, %h2, %h3;", {0x8000, 0xffff}, 0x8000},
  });
}

TEST(PtxInteger, Carries_PassToNext) {
  check({
      {"addc.u32 %r0, %r2, 0; add.cc.u32 %r1, %r2, %r3; addc.u32 %r0, %r4, %r5;",
       {0xffffffff, 1, 5, 6},
       12},
      {"addc.u32 %r0, %r2, 0; sub.cc.u32 %r1, %r2, %r3; subc.u32 %r0, %r4, %r5;", {1, 2, 9, 3}, 5},
      {"addc.u32 %r0, %r2, 0; mad.lo.cc.u32 %r1, %r2, %r3, %r2; madc.hi.u32 %r0, %r2, %r3, %r4;",
       {0xffffffff, 3, 10},
       13},
      {"addc.u64 %d0, %d2, 0; add.cc.u64 %d1, %d2, %d3; addc.u64 %d0, 0, 0;",
       {0xffffffffffffffff, 1},
       1},
  });
}

TEST(PtxInteger, Shifts_StopAtWidth) {
  check({
      {"shl.b32 %r0, %r2, %r3;", {1, 31}, kMin32},
      {"shl.b32 %r0, %r2, %r3;", {1, 32}, 0},
      {"shl.b32 %r0, %r2, %r3;", {1, 0xffffffff}, 0},
      {"shl.b64 %d0, %d2, %r3;", {1, 63}, kMin64},
      {"shl.b16 %h0, %h2, %r3;", {1, 16}, 0},
      {"shr.u32 %r0, %r2, %r3;", {kMin32, 40}, 0},
      {"shr.s32 %r0, %r2, %r3;", {kMin32, 40}, 0xffffffff},
      {"shr.s32 %r0, %r2, %r3;", {kMin32, 4}, 0xf8000000},
      {"shr.u64 %d0, %d2, %r3;", {kMin64, 64}, 0},
      {"shr.s16 %h0, %h2, %r3;", {0x8000, 3}, 0xf000},
      {"shf.l.wrap.b32 %r0, %r2, %r3, %r4;", {0xabcd0000, 0x12345678, 36}, 0x2345678a},
      {"shf.l.clamp.b32 %r0, %r2, %r3, %r4;", {0xabcd0000, 0x12345678, 36}, 0xabcd0000},
      {"shf.r.wrap.b32 %r0, %r2, %r3, %r4;", {0xabcd0000, 0x12345678, 4}, 0x8abcd000},
      {"shf.r.clamp.b32 %r0, %r2, %r3, %r4;", {0xabcd0000, 0x12345678, 99}, 0x12345678},
  });
}

TEST(PtxInteger, BitsAndFields_ExactResults) {
  check({
      {"and.b32 %r0, %r2, %r3;", {0xff00ff, 0xf0f0f0}, 0xf000f0},
      {"or.b16 %h0, %h2, %h3;", {0xf0, 0x0f}, 0xff},
      {"xor.b64 %d0, %d2, -1;", {0}, 0xffffffffffffffff},
      {"not.b32 %r0, %r2;", {0xf}, 0xfffffff0},
      {"cnot.b32 %r0, %r2;", {0}, 1},
      {"cnot.b32 %r0, %r2;", {9}, 0},
      {"lop3.b32 %r0, %r2, %r3, %r4, 0x96;", {0xff00, 0xf0f0, 0xcccc}, 0xff00 ^ 0xf0f0 ^ 0xcccc},
      {"lop3.b32 %r0, %r2, %r3, %r4, 0xe8;",
       {0xff00, 0xf0f0, 0xcccc},
       (0xff00 & 0xf0f0) | (0xf0f0 & 0xcccc) | (0xff00 & 0xcccc)},
      {"prmt.b32 %r0, %r2, %r3, 0x5410;", {0x33221100, 0x77665544}, 0x55441100},
      {"prmt.b32 %r0, %r2, %r3, 0xba98;", {0x80f07f00, 0}, 0xffff0000},
      {"prmt.b32.f4e %r0, %r2, %r3, %r4;", {0x33221100, 0x77665544, 1}, 0x44332211},
      {"prmt.b32.rc16 %r0, %r2, %r3, %r4;", {0x33221100, 0x77665544, 1}, 0x33223322},
      {"bfe.u32 %r0, %r2, 8, 8;", {0x12345678}, 0x56},
      {"bfe.s32 %r0, %r2, 8, 8;", {0x1234f678}, 0xfffffff6},
      {"bfe.u32 %r0, %r2, 28, 8;", {0xf2345678}, 0xf},
      {"bfe.s32 %r0, %r2, 28, 8;", {0xf2345678}, 0xffffffff},
      {"bfe.s32 %r0, %r2, 40, 4;", {kMin32}, 0xffffffff},
      {"bfe.u32 %r0, %r2, 0, 0;", {0xffffffff}, 0},
      {"bfe.s64 %d0, %d2, 60, 4;", {0x9000000000000000}, 0xfffffffffffffff9},
      {"bfe.u32 %r0, %r2, 0, 255;", {0x12345678}, 0x12345678},
      {"bfi.b32 %r0, %r2, %r3, 8, 4;", {0xab, 0x11111111}, 0x11111b11},
      {"bfi.b32 %r0, %r2, %r3, 28, 8;", {0xab, 0x11111111}, 0xb1111111},
      {"bfi.b32 %r0, %r2, %r3, 32, 8;", {0xab, 0x11111111}, 0x11111111},
      {"bfi.b64 %d0, %d2, %d3, 0, 64;", {0xab, 0x1111111111111111}, 0xab},
      {"bfind.u32 %r0, %r2;", {0x10}, 4},
      {"bfind.u32 %r0, %r2;", {0}, 0xffffffff},
      {"bfind.s32 %r0, %r2;", {0xffffffef}, 4},
      {"bfind.shiftamt.u32 %r0, %r2;", {0x10}, 27},
      {"bfind.u64 %r0, %d2;", {kMin64}, 63},
      {"brev.b32 %r0, %r2;", {1}, kMin32},
      {"brev.b64 %d0, %d2;", {1}, kMin64},
      {"clz.b32 %r0, %r2;", {0}, 32},
      {"clz.b64 %r0, %d2;", {1}, 63},
      {"popc.b64 %r0, %d2;", {0xff00ff}, 16},
      {"bmsk.clamp.b32 %r0, %r2, %r3;", {28, 8}, 0xf0000000},
  });
}

TEST(PtxInteger, ComparesAndSelects_ExactResults) {
  check({
      {"setp.lt.s32 %p0, %r2, %r3;", {0xffffffff, 1}, 1},
      {"setp.lt.u32 %p0, %r2, %r3;", {0xffffffff, 1}, 0},
      {"setp.hi.u32 %p0, %r2, %r3;", {0xffffffff, 1}, 1},
      {"setp.eq.and.b32 %p0, %r2, %r3, %p4;", {5, 5, 1}, 1},
      {"setp.eq.and.b32 %p0, %r2, %r3, !%p4;", {5, 5, 1}, 0},
      {"setp.ne.xor.s64 %p0, %d2, %d3, %p4;", {5, 6, 1}, 0},
      {"setp.ge.s16 %p0, %h2, %h3;", {0xffff, 0}, 0},
      {"and.pred %p0, %p2, %p3;", {1, 0}, 0},
      {"not.pred %p0, %p2;", {0}, 1},
      {"selp.b32 %r0, %r2, %r3, %p4;", {1, 2, 0}, 2},
      {"selp.b64 %d0, %d2, %d3, !%p4;", {1, 2, 0}, 1},
      {"set.lt.u32.s32 %r0, %r2, %r3;", {1, 2}, 0xffffffff},
      {"set.lt.f32.s32 %r0, %r2, %r3;", {1, 2}, 0x3f800000},
      {"slct.b32.s32 %r0, %r2, %r3, %r4;", {1, 2, 0xffffffff}, 2},
      {"slct.b32.f32 %r0, %r2, %r3, %r4;", {1, 2, 0x80000000}, 1},
      {"mov.b64 %d0, {%r2, %r3};", {0x11111111, 0x22222222}, 0x2222222211111111},
      {"mov.b32 %r0, {%h2, %h3};", {0x1111, 0x2222}, 0x22221111},
      {"mov.b64 {%r0, %r1}, %d2;", {0x2222222211111111}, 0x11111111},
      {"mov.u32 %r0, WARP_SZ;", {}, 32},
  });
}

TEST(PtxInteger, Setp_GivesBothResults) {
  Machine machine(2);
  machine.run(kernel(R"(
    setp.lt.s32 %p1|%p2, %t, 1;
    selp.u32 %r1, 1, 0, %p1;
    selp.u32 %r2, 1, 0, %p2;
    st.global.v2.u32 [%out], {%r1, %r2};)"));
  EXPECT_EQ(machine.words, (std::vector<std::uint32_t>{1, 0}));
}

}  // namespace
}  // namespace divvy::ptx
