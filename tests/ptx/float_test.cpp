// Floating point: roundings, NaNs, small formats, conversions.
#include "machine.h"

namespace divvy::ptx {
namespace {

constexpr std::uint64_t kNan = 0x7fffffff;
constexpr std::uint64_t kInfinity = 0x7f800000;

TEST(PtxFloat, SingleInstructions_ExactResults) {
  check({
      {"add.f32 %r0, %r2, %r3;", {0x3f800000, 0x40000000}, 0x40400000},
      {"add.rn.f32 %r0, %r2, %r3;", {0x3f800000, 0x33800000}, 0x3f800000},
      {"add.rp.f32 %r0, %r2, %r3;", {0x3f800000, 0x33800000}, 0x3f800001},
      {"add.rz.f32 %r0, %r2, %r3;", {0xbf800000, 0xb3800001}, 0xbf800000},
      {"add.rm.f32 %r0, %r2, %r3;", {0xbf800000, 0xb3800001}, 0xbf800001},
      {"add.sat.f32 %r0, %r2, %r3;", {0x3f800000, 0x40000000}, 0x3f800000},
      {"add.sat.f32 %r0, %r2, %r3;", {kNan, 0x40000000}, 0},
      {"add.ftz.f32 %r0, %r2, %r3;", {1, 0x80000001}, 0},
      {"add.f32 %r0, %r2, %r3;", {1, 1}, 2},
      {"sub.f32 %r0, %r2, %r3;", {kInfinity, kInfinity}, kNan},
      {"add.f32 %r0, %r2, %r3;", {0xffc00001, 0}, kNan},
      {"mul.f32 %r0, %r2, 0f40000000;", {0x40400000}, 0x40c00000},
      {"mul.f32 %r0, %r2, 1.5;", {0x40000000}, 0x40400000},
      {"mul.ftz.f32 %r0, %r2, %r3;", {0x00800000, 0x3f000000}, 0},
      {"mul.f32 %r0, %r2, %r3;", {0x00800000, 0x3f000000}, 0x00400000},
      {"fma.rn.f32 %r0, %r2, %r3, %r4;", {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
      {"fma.rz.f32 %r0, %r2, %r3, %r4;", {0x3f800001, 0x3f800001, 0x3f800000}, 0x40000001},
      {"mad.rn.f32 %r0, %r2, %r3, %r4;", {0x40000000, 0x40000000, 0x3f800000}, 0x40a00000},
      {"div.rn.f32 %r0, %r2, %r3;", {0x3f800000, 0x40400000}, 0x3eaaaaab},
      {"div.rz.f32 %r0, %r2, %r3;", {0x3f800000, 0x40400000}, 0x3eaaaaaa},
      {"div.full.f32 %r0, %r2, %r3;", {0x3f800000, 0}, kInfinity},
      {"div.approx.ftz.f32 %r0, %r2, %r3;", {0x40c00000, 0x40000000}, 0x40400000},
      {"neg.f32 %r0, %r2;", {0}, 0x80000000},
      {"abs.f32 %r0, %r2;", {0xbf800000}, 0x3f800000},
      {"min.f32 %r0, %r2, %r3;", {kNan, 0x3f800000}, 0x3f800000},
      {"min.f32 %r0, %r2, %r3;", {0, 0x80000000}, 0x80000000},
      {"max.f32 %r0, %r2, %r3;", {0x80000000, 0}, 0},
      {"max.NaN.f32 %r0, %r2, %r3;", {kNan, 0x3f800000}, kNan},
      {"copysign.f32 %r0, %r2, %r3;", {0x80000000, 0x3f800000}, 0xbf800000},
      {"sqrt.rn.f32 %r0, %r2;", {0x40000000}, 0x3fb504f3},
      {"sqrt.rp.f32 %r0, %r2;", {0x40000000}, 0x3fb504f4},
      {"sqrt.approx.f32 %r0, %r2;", {0xbf800000}, kNan},
      {"rcp.rn.f32 %r0, %r2;", {0x40400000}, 0x3eaaaaab},
      {"rsqrt.approx.f32 %r0, %r2;", {0x40800000}, 0x3f000000},
      {"ex2.approx.f32 %r0, %r2;", {0x40400000}, 0x41000000},
      {"lg2.approx.f32 %r0, %r2;", {0x41000000}, 0x40400000},
      {"sin.approx.f32 %r0, %r2;", {0}, 0},
      {"cos.approx.f32 %r0, %r2;", {0}, 0x3f800000},
      {"testp.subnormal.f32 %p0, %r2;", {1}, 1},
      {"testp.notanumber.f32 %p0, %r2;", {0x7f800001}, 1},
      {"setp.lt.f32 %p0, %r2, %r3;", {kNan, 0}, 0},
      {"setp.ltu.f32 %p0, %r2, %r3;", {kNan, 0}, 1},
      {"setp.neu.f32 %p0, %r2, %r3;", {kNan, kNan}, 1},
      {"setp.ne.f32 %p0, %r2, %r3;", {kNan, kNan}, 0},
      {"setp.eq.ftz.f32 %p0, %r2, %r3;", {1, 0}, 1},
      {"setp.nan.f32 %p0, %r2, %r3;", {kNan, 0}, 1},
      {"setp.num.f32 %p0, %r2, %r3;", {1, 0}, 1},
  });
}

TEST(PtxFloat, DoubleInstructions_ExactResults) {
  check({
      {"add.f64 %d0, %d2, %d3;", {0x3ff0000000000000, 0x4000000000000000}, 0x4008000000000000},
      {"add.rp.f64 %d0, %d2, %d3;", {0x3ff0000000000000, 1}, 0x3ff0000000000001},
      {"fma.rn.f64 %d0, %d2, %d3, %d4;",
       {0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002},
       0x3970000000000000},
      {"div.rn.f64 %d0, %d2, 0d4008000000000000;", {0x3ff0000000000000}, 0x3fd5555555555555},
      {"sqrt.rn.f64 %d0, %d2;", {0x4000000000000000}, 0x3ff6a09e667f3bcd},
      {"min.f64 %d0, %d2, %d3;", {0x7ff8000000000000, 0x3ff0000000000000}, 0x3ff0000000000000},
      {"neg.f64 %d0, %d2;", {0}, 0x8000000000000000},
      {"setp.gt.f64 %p0, %d2, 0d0000000000000000;", {0x3ff0000000000000}, 1},
  });
}

TEST(PtxFloat, HalfInstructions_RoundedOnce) {
  check({
      {"add.f16 %h0, %h2, %h3;", {0x3c00, 0x4000}, 0x4200},
      {"add.rn.f16 %h0, %h2, %h3;", {0x6800, 0x3c00}, 0x6800},  // 2048 + 1
      {"add.f16 %h0, %h2, %h3;", {0x7bff, 0x7bff}, 0x7c00},
      {"add.f16 %h0, %h2, %h3;", {0x7c00, 0xfc00}, 0x7fff},
      {"add.f16 %h0, %h2, %h3;", {1, 1}, 2},
      {"add.ftz.f16 %h0, %h2, %h3;", {1, 1}, 0},
      {"sub.f16 %h0, %h2, %h3;", {0x3c00, 0x3c00}, 0},
      {"mul.f16 %h0, %h2, %h3;", {0x0001, 0x3800}, 0},  // half of the smallest: to even
      {"mul.sat.f16 %h0, %h2, %h3;", {0x4000, 0x4000}, 0x3c00},
      {"fma.rn.f16 %h0, %h2, %h3, %h4;", {0x3c01, 0x3c01, 0xbc02}, 0x0010},
      // By way of float this rounds twice: 1 + 2^-11 + a little is above the middle.
      {"fma.rn.f16 %h0, %h2, %h3, %h4;", {0x1000, 0x1000, 0x3c00}, 0x3c00},
      {"fma.rn.relu.f16 %h0, %h2, %h3, %h4;", {0xbc00, 0x3c00, 0}, 0},
      {"neg.f16 %h0, %h2;", {0x3c00}, 0xbc00},
      {"abs.f16x2 %r0, %r2;", {0xbc00bc00}, 0x3c003c00},
      {"add.f16x2 %r0, %r2, %r3;", {0x3c004000, 0x3c004000}, 0x40004400},
      {"fma.rn.f16x2 %r0, %r2, %r3, %r4;", {0x40004000, 0x3c004000, 0x3c003c00}, 0x42004500},
      {"max.f16x2 %r0, %r2, %r3;", {0x3c007fff, 0x40003c00}, 0x40003c00},
      {"min.NaN.f16 %h0, %h2, %h3;", {0x7e00, 0x3c00}, 0x7fff},
      {"setp.lt.f16 %p0, %h2, %h3;", {0x3c00, 0x4000}, 1},
      {"set.lt.u32.f16x2 %r0, %r2, %r3;", {0x3c003c00, 0x40003800}, 0xffff0000},
      {"set.lt.u16.f16 %h0, %h2, %h3;", {0x3c00, 0x4000}, 0xffff},
      {"set.nan.bf16.bf16 %h0, %h2, %h3;", {0x7fff, 0x4000}, 0x3f80},
      {"setp.eq.f16 %p0, %h2, %h3;", {0, 0x8000}, 1},
      {"add.bf16 %h0, %h2, %h3;", {0x3f80, 0x4000}, 0x4040},
      {"add.rn.bf16x2 %r0, %r2, %r3;", {0x3f804000, 0x3f804000}, 0x40004080},
      {"fma.rn.bf16 %h0, %h2, %h3, %h4;", {0x3f81, 0x3f81, 0xbf82}, 0x3880},
      {"fma.rn.bf16x2 %r0, %r2, %r3, %r4;", {0x40004000, 0x3f804000, 0x3f803f80}, 0x404040a0},
      {"mul.bf16 %h0, %h2, %h3;", {0x7f7f, 0x4000}, 0x7f80},
  });
}

TEST(PtxConvert, FloatToFloat_ExactResults) {
  check({
      {"cvt.rn.f16.f32 %h0, %r2;", {0x3f802000}, 0x3c01},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x3f801000}, 0x3c00},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x3f803000}, 0x3c02},
      {"cvt.rz.f16.f32 %h0, %r2;", {0x3f803fff}, 0x3c01},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x477ff000}, 0x7c00},
      {"cvt.rz.f16.f32 %h0, %r2;", {0x477ff000}, 0x7bff},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x7f800001}, 0x7fff},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x33000001}, 1},
      {"cvt.rn.f16.f32 %h0, %r2;", {0x33000000}, 0},
      {"cvt.f32.f16 %r0, %h2;", {1}, 0x33800000},
      {"cvt.f32.f16 %r0, %h2;", {0xfc00}, 0xff800000},
      {"cvt.rn.bf16.f32 %h0, %r2;", {0x3f808000}, 0x3f80},
      {"cvt.rn.bf16.f32 %h0, %r2;", {0x3f818000}, 0x3f82},
      {"cvt.rn.bf16.f32 %h0, %r2;", {0x7f800001}, 0x7fff},
      {"cvt.rz.bf16.f32 %h0, %r2;", {0x3f81ffff}, 0x3f81},
      {"cvt.f32.bf16 %r0, %h2;", {0x3f81}, 0x3f810000},
      {"cvt.rn.f16x2.f32 %r0, %r2, %r3;", {0x3f800000, 0x40000000}, 0x3c004000},
      {"cvt.rn.bf16x2.f32 %r0, %r2, %r3;", {0x3f800000, 0x40000000}, 0x3f804000},
      {"cvt.rn.relu.bf16x2.f32 %r0, %r2, %r3;", {0xbf800000, 0x40000000}, 0x00004000},
      {"cvt.rna.tf32.f32 %r0, %r2;", {0x3f801000}, 0x3f802000},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r2, %r3;", {0x44000000, 0x3f800000}, 0x7e38},
      {"cvt.rn.satfinite.e5m2x2.f32 %h0, %r2, %r3;", {0xbf800000, 0x7f800000}, 0xbc7b},
      {"cvt.rn.f16x2.e4m3x2 %r0, %h2;", {0x7e38}, 0x5f003c00},
      {"cvt.f64.f32 %d0, %r2;", {0x3f800000}, 0x3ff0000000000000},
      {"cvt.rn.f32.f64 %r0, %d2;", {0x3ff0000010000000}, 0x3f800000},
      {"cvt.rp.f32.f64 %r0, %d2;", {0x3ff0000010000000}, 0x3f800001},
      {"cvt.rn.f16.f64 %h0, %d2;", {0x3ff0000000000000}, 0x3c00},
      {"cvt.rni.f32.f32 %r0, %r2;", {0x40200000}, 0x40000000},
      {"cvt.rpi.f32.f32 %r0, %r2;", {0x40200000}, 0x40400000},
      {"cvt.sat.f32.f32 %r0, %r2;", {0x40200000}, 0x3f800000},
      {"cvt.ftz.f32.f32 %r0, %r2;", {0x80000001}, 0x80000000},
      {"cvt.rmi.f64.f64 %d0, %d2;", {0xbff8000000000000}, 0xc000000000000000},
  });
}

TEST(PtxConvert, FloatToInteger_Saturates) {
  check({
      {"cvt.rzi.s32.f32 %r0, %r2;", {0xc0200000}, 0xfffffffe},
      {"cvt.rni.s32.f32 %r0, %r2;", {0x40200000}, 2},
      {"cvt.rmi.s32.f32 %r0, %r2;", {0xc0200000}, 0xfffffffd},
      {"cvt.rpi.s32.f32 %r0, %r2;", {0x40200000}, 3},
      {"cvt.rzi.s32.f32 %r0, %r2;", {0x4f000000}, 0x7fffffff},
      {"cvt.rzi.s32.f32 %r0, %r2;", {0xff800000}, 0x80000000},
      {"cvt.rzi.u32.f32 %r0, %r2;", {0xbf800000}, 0},
      {"cvt.rzi.u32.f32 %r0, %r2;", {0x7f800000}, 0xffffffff},
      {"cvt.rzi.s32.f32 %r0, %r2;", {kNan}, 0},
      {"cvt.rzi.s32.f64 %r0, %d2;", {0x7ff8000000000000}, 0x80000000},
      {"cvt.rzi.u64.f32 %d0, %r2;", {kNan}, 0x8000000000000000},
      {"cvt.rzi.u8.f32 %r0, %r2;", {0x447a0000}, 255},
      {"cvt.rzi.s8.f32 %r0, %r2;", {0xc47a0000}, 0xffffff80},
      {"cvt.rzi.s64.f64 %d0, %d2;", {0x43e0000000000000}, 0x7fffffffffffffff},
      {"cvt.rzi.s64.f32 %d0, %r2;", {0xbf800000}, 0xffffffffffffffff},
      {"cvt.rzi.u64.f64 %d0, %d2;", {0x43f0000000000000}, 0xffffffffffffffff},
      {"cvt.rzi.u16.f16 %h0, %h2;", {0x4500}, 5},
      {"cvt.rzi.ftz.s32.f32 %r0, %r2;", {1}, 0},
  });
}

TEST(PtxConvert, IntegerToFloat_RoundsOnce) {
  check({
      {"cvt.rn.f32.s32 %r0, %r2;", {0xffffffff}, 0xbf800000},
      {"cvt.rn.f32.u32 %r0, %r2;", {0xffffffff}, 0x4f800000},
      {"cvt.rz.f32.u32 %r0, %r2;", {0xffffffff}, 0x4f7fffff},
      {"cvt.rn.f32.s32 %r0, %r2;", {0x01000001}, 0x4b800000},
      {"cvt.rp.f32.s32 %r0, %r2;", {0x01000001}, 0x4b800001},
      // By way of double this would round twice.
      {"cvt.rn.f32.u64 %r0, %d2;", {0x8000008000000001}, 0x5f000001},
      {"cvt.rn.f64.s64 %d0, %d2;", {0xffffffffffffffff}, 0xbff0000000000000},
      {"cvt.rn.f64.u32 %d0, %r2;", {0xffffffff}, 0x41efffffffe00000},
      {"cvt.rn.f16.s32 %h0, %r2;", {2049}, 0x6800},
      {"cvt.rn.f16.u64 %h0, %d2;", {0xffffffffffffffff}, 0x7c00},
      {"cvt.rn.bf16.u32 %h0, %r2;", {257}, 0x4380},
  });
}

TEST(PtxConvert, IntegerToInteger_ExactResults) {
  check({
      {"cvt.s32.s8 %r0, %r2;", {0x80}, 0xffffff80},
      {"cvt.u32.u8 %r0, %r2;", {0x1ff}, 0xff},
      {"cvt.s64.s32 %d0, %r2;", {0xffffffff}, 0xffffffffffffffff},
      {"cvt.u64.u32 %d0, %r2;", {0xffffffff}, 0xffffffff},
      {"cvt.u32.u64 %r0, %d2;", {0x123456789}, 0x23456789},
      {"cvt.sat.s8.s32 %r0, %r2;", {1000}, 127},
      {"cvt.sat.u8.s32 %r0, %r2;", {0xffffffff}, 0},
      {"cvt.sat.u32.s64 %r0, %d2;", {0xffffffffffffffff}, 0},
      {"cvt.sat.s32.u32 %r0, %r2;", {0xffffffff}, 0x7fffffff},
      {"cvt.s8.s32 %r0, %r2;", {0x1ff}, 0xffffffff},
      {"cvt.u16.s32 %h0, %r2;", {0x12345}, 0x2345},
      {"cvt.s16.s8 %h0, %h2;", {0x80}, 0xff80},
  });
}

}  // namespace
}  // namespace divvy::ptx
