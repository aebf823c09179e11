// bfloat16.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "bfloat.cu"

namespace divvy::ptxtest {
namespace {

using F = ptxhost::BfloatFormat;

TEST(Bfloat, BfloatArithmetic_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.smalls<F>(512, false));
  const auto b = run.buffer(run.in.smalls<F>(512, false));
  const auto c = run.buffer(run.in.smalls<F>(512, false));
  const auto out = run.zeros<__nv_bfloat16>(8 * 512);
  run.launch(bfloatArithmetic, {{8}, {64}}, a, b, c, out);
}

TEST(Bfloat, BfloatPolynomial_MatchesHost) {
  Comparison run;
  const auto x = run.buffer(run.in.moderate<F>(128, -1.5f, 1.5f));
  const auto factors = run.buffer(run.in.moderate<F>(8, -2, 2));
  const auto out = run.zeros<__nv_bfloat16>(128);
  run.launch(bfloatPolynomial, {{2}, {64}}, x, factors, 8, out);
}

TEST(Bfloat, BfloatCompare_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.smalls<F>(512, true));
  const auto b = run.buffer(run.in.smalls<F>(512, true));
  const auto out = run.zeros<unsigned>(512);
  run.launch(bfloatCompare, {{8}, {64}}, a, b, out);
}

TEST(Bfloat, BfloatFromFloat_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyFloats(512));
  const auto wide = run.buffer(run.in.anyDoubles(512));
  const auto out = run.zeros<__nv_bfloat16>(6 * 512);
  const auto back = run.zeros<unsigned>(512);
  run.launch(bfloatFromFloat, {{8}, {64}}, in, wide, out, back);
}

TEST(Bfloat, BfloatIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.smalls<F>(512, true));
  const auto numbers = run.buffer(run.in.anyInts(512));
  const auto out = run.zeros<int>(4 * 512);
  const auto wide = run.zeros<long long>(512);
  const auto from = run.zeros<__nv_bfloat16>(3 * 512);
  run.launch(bfloatIntegers, {{8}, {64}}, in, numbers, out, wide, from);
}

TEST(Bfloat, BfloatPairs_MatchesHost) {
  Comparison run;
  const Buffer<__nv_bfloat162> a{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__nv_bfloat162> b{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__nv_bfloat162> c{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__nv_bfloat162> out{run.zeros<__nv_bfloat16>(7 * 256).region};
  const Buffer<float2> wide{run.zeros<float>(256).region};
  run.launch(bfloatPairs, {{2}, {64}}, a, b, c, out, wide);
}

TEST(Bfloat, WarpReductions_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -100000, 100000));
  const auto out = run.zeros<int>(3 * 128);
  const auto bits = run.zeros<unsigned>(3 * 128);
  run.launch(warpReductions, {{2}, {64}}, in, out, bits);
}

}  // namespace
}  // namespace divvy::ptxtest
