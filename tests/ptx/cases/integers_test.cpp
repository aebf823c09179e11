// Whole numbers of every width.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "integers.cu"

namespace divvy::ptxtest {
namespace {

TEST(Integers, MultiplyHigh_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.words(128));
  const auto b = run.buffer(run.in.words(128));
  const auto c = run.buffer(run.in.wide(128));
  const auto d = run.buffer(run.in.wide(128));
  const auto out = run.zeros<unsigned>(3 * 128);
  const auto wide = run.zeros<unsigned long long>(4 * 128);
  run.launch(multiplyHigh, {{2}, {64}}, a, b, c, d, out, wide);
}

TEST(Integers, DivideWide_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.anyWide(128));
  auto divisors = run.in.anyWide(128);
  std::reverse(divisors.begin(), divisors.end());
  const auto quotient = run.zeros<long long>(128);
  const auto rest = run.zeros<long long>(128);
  const auto uquotient = run.zeros<unsigned long long>(128);
  const auto urest = run.zeros<unsigned long long>(128);
  run.launch(divideWide, {{2}, {64}}, a, run.buffer(divisors), quotient, rest, uquotient, urest);
}

TEST(Integers, DivideNarrow_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.anyInts(128));
  auto divisors = run.in.anyInts(128);
  std::reverse(divisors.begin(), divisors.end());
  const auto out = run.zeros<int>(4 * 128);
  run.launch(divideNarrow, {{2}, {64}}, a, run.buffer(divisors), out);
}

TEST(Integers, DivideConstants_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(128));
  const auto wide = run.buffer(run.in.wide(128));
  const auto out = run.zeros<int>(128);
  const auto wide_out = run.zeros<unsigned long long>(128);
  run.launch(divideConstants, {{2}, {64}}, in, wide, out, wide_out);
}

TEST(Integers, Shifts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto wide = run.buffer(run.in.wide(128));
  const auto out = run.zeros<unsigned>(128);
  const auto wide_out = run.zeros<unsigned long long>(128);
  run.launch(shifts, {{2}, {64}}, in, wide, out, wide_out);
}

TEST(Integers, LongArithmetic_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.wide(64));
  const auto b = run.buffer(run.in.wide(64));
  const auto out = run.zeros<unsigned long long>(8 * 64);
  run.launch(longArithmetic, {{2}, {32}}, a, b, out);
}

TEST(Integers, AveragesAndDistances_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.anyInts(128));
  auto others = run.in.anyInts(128);
  std::reverse(others.begin(), others.end());
  const auto out = run.zeros<unsigned>(6 * 128);
  run.launch(averagesAndDistances, {{2}, {64}}, a, run.buffer(others), out);
}

TEST(Integers, NarrowTypes_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -100000, 100000));
  const auto bytes = run.buffer(run.in.wholes<signed char>(128, -128, 127));
  const auto ubytes = run.buffer(run.in.bytes(128));
  const auto words = run.buffer(run.in.wholes<short>(128, -32768, 32767));
  const auto uwords = run.buffer(run.in.wholes<unsigned short>(128, 0, 65535));
  const auto out = run.zeros<int>(128);
  run.launch(narrowTypes, {{2}, {64}}, in, bytes, ubytes, words, uwords, out);
}

}  // namespace
}  // namespace divvy::ptxtest
