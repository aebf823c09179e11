// Arithmetic of 32 and 64 bits in every rounding.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "doubles.cu"

namespace divvy::ptxtest {
namespace {

TEST(Doubles, DoubleBasics_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.doubles(128, -100, 100));
  const auto b = run.buffer(run.in.doubles(128, -1e-3, 1e-3));
  const auto c = run.buffer(run.in.doubles(128, 1, 100));
  const auto out = run.zeros<double>(6 * 128);
  run.launch(doubleBasics, {{2}, {64}}, a, b, c, out);
}

TEST(Doubles, DoubleDirected_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.doubles(128, -100, 100));
  const auto b = run.buffer(run.in.doubles(128, 1e-3, 1e3));
  const auto out = run.zeros<double>(15 * 128);
  run.launch(doubleDirected, {{2}, {64}}, a, b, out);
}

TEST(Doubles, FloatDirected_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(128, -100, 100));
  const auto b = run.buffer(run.in.floats(128, 1e-3f, 1e3f));
  const auto out = run.zeros<float>(20 * 128);
  run.launch(floatDirected, {{2}, {64}}, a, b, out);
}

TEST(Doubles, FloatSpecials_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.anyFloats(512));
  auto others = run.in.anyFloats(512);
  std::rotate(others.begin(), others.begin() + 17, others.end());
  const auto out = run.zeros<unsigned>(7 * 512);
  run.launch(floatSpecials, {{8}, {64}}, a, run.buffer(others), out);
}

TEST(Doubles, WholeParts_MatchesHost) {
  Comparison run;
  auto floats = run.in.floats(256, -100, 100);
  auto doubles = run.in.doubles(256, -1e10, 1e10);
  for (int at = 0; at < 40; ++at) {
    floats[static_cast<std::size_t>(at)] = static_cast<float>(at) * 0.5f - 10.25f;
    doubles[static_cast<std::size_t>(at)] = at * 0.5 - 10.5;
  }
  const auto a = run.buffer(floats);
  const auto b = run.buffer(doubles);
  const auto out = run.zeros<float>(6 * 256);
  const auto wide = run.zeros<double>(6 * 256);
  run.launch(wholeParts, {{4}, {64}}, a, b, out, wide);
}

TEST(Doubles, ExactFunctions_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(128, -1e6f, 1e6f));
  const auto b = run.buffer(run.in.floats(128, 0.1f, 30));
  const auto c = run.buffer(run.in.doubles(128, -1e12, 1e12));
  const auto d = run.buffer(run.in.doubles(128, 1e-4, 1e3));
  const auto out = run.zeros<float>(128);
  const auto wide = run.zeros<double>(128);
  const auto powers = run.zeros<int>(2 * 128);
  run.launch(exactFunctions, {{2}, {64}}, a, b, c, d, out, wide, powers);
}

TEST(Doubles, CompensatedSums_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.doubles(32 * 20, -1e8, 1e8));
  const auto sums = run.zeros<double>(32);
  const auto roots = run.zeros<double>(32);
  run.launch(compensatedSums, {{1}, {32}}, in, 20, sums, roots);
}

TEST(Doubles, QuadraticRoots_MatchesHost) {
  Comparison run;
  auto factors = run.in.doubles(96, -3, 3);
  factors[3] = factors[9] = 0;
  const auto a = run.buffer(factors);
  const auto b = run.buffer(run.in.wholes<double>(96, 1, 9));
  const auto c = run.buffer(run.in.doubles(96, -3, 3));
  const auto roots = run.zeros<double>(2 * 96);
  const auto kinds = run.zeros<unsigned char>(96);
  run.launch(quadraticRoots, {{3}, {32}}, a, b, c, roots, kinds);
}

}  // namespace
}  // namespace divvy::ptxtest
