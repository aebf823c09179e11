// Half precision.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "half.cu"

namespace divvy::ptxtest {
namespace {

using F = ptxhost::HalfFormat;

TEST(Half, HalfArithmetic_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.smalls<F>(512, false));
  const auto b = run.buffer(run.in.smalls<F>(512, false));
  const auto c = run.buffer(run.in.smalls<F>(512, false));
  const auto out = run.zeros<__half>(8 * 512);
  run.launch(halfArithmetic, {{8}, {64}}, a, b, c, out);
}

TEST(Half, HalfPolynomial_MatchesHost) {
  Comparison run;
  const auto x = run.buffer(run.in.moderate<F>(128, -1.5f, 1.5f));
  const auto factors = run.buffer(run.in.moderate<F>(8, -2, 2));
  const auto out = run.zeros<__half>(128);
  run.launch(halfPolynomial, {{2}, {64}}, x, factors, 8, out);
}

TEST(Half, HalfCompare_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.smalls<F>(512, true));
  const auto b = run.buffer(run.in.smalls<F>(512, true));
  const auto out = run.zeros<unsigned>(512);
  run.launch(halfCompare, {{8}, {64}}, a, b, out);
}

TEST(Half, HalfPairs_MatchesHost) {
  Comparison run;
  const Buffer<__half2> a{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__half2> b{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__half2> c{run.buffer(run.in.smalls<F>(256, false)).region};
  const Buffer<__half2> out{run.zeros<__half>(8 * 256).region};
  const auto all = run.zeros<unsigned char>(128);
  run.launch(halfPairs, {{2}, {64}}, a, b, c, out, all);
}

TEST(Half, HalfFromFloat_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyFloats(512));
  const auto out = run.zeros<__half>(4 * 512);
  const auto back = run.zeros<unsigned>(512);
  run.launch(halfFromFloat, {{8}, {64}}, in, out, back);
}

TEST(Half, HalfFromDouble_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyDoubles(512));
  const auto out = run.zeros<__half>(512);
  const Buffer<float2> pairs{run.zeros<float>(2 * 512).region};
  run.launch(halfFromDouble, {{8}, {64}}, in, out, pairs);
}

TEST(Half, HalfToIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.smalls<F>(512, true));
  const auto out = run.zeros<int>(8 * 512);
  const auto wide = run.zeros<long long>(2 * 512);
  run.launch(halfToIntegers, {{8}, {64}}, in, out, wide);
}

TEST(Half, HalfFromIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(512));
  const auto wide = run.buffer(run.in.anyWide(512));
  const auto out = run.zeros<__half>(8 * 512);
  run.launch(halfFromIntegers, {{8}, {64}}, in, wide, out);
}

TEST(Half, HalfRounded_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.smalls<F>(512, false));
  const auto out = run.zeros<__half>(4 * 512);
  run.launch(halfRounded, {{8}, {64}}, in, out);
}

TEST(Half, HalfAtomics_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, 0, 100));
  const auto sum = run.zeros<__half>(2);
  const Buffer<__half2> pair{run.zeros<__half>(2).region};
  run.launch(halfAtomics, {{4}, {64}}, in, sum, pair);
}

TEST(Half, HalfDot_MatchesHost) {
  Comparison run;
  const Buffer<__half2> a{run.buffer(run.in.moderate<F>(2 * 64 * 9, -2, 2)).region};
  const Buffer<__half2> b{run.buffer(run.in.moderate<F>(2 * 64 * 9, -2, 2)).region};
  const auto out = run.zeros<__half>(64);
  run.launch(halfDot, {{2}, {32}}, a, b, 9, out);
}

}  // namespace
}  // namespace divvy::ptxtest
