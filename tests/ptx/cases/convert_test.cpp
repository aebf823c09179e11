// From one type of number to another.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "convert.cu"

namespace divvy::ptxtest {
namespace {

TEST(Convert, FloatToIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyFloats(512));
  const auto out = run.zeros<int>(4 * 512);
  const auto unsigned_out = run.zeros<unsigned>(4 * 512);
  run.launch(floatToIntegers, {{8}, {64}}, in, out, unsigned_out);
}

TEST(Convert, FloatToWide_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyFloats(512));
  const auto out = run.zeros<long long>(4 * 512);
  const auto unsigned_out = run.zeros<unsigned long long>(4 * 512);
  run.launch(floatToWide, {{8}, {64}}, in, out, unsigned_out);
}

TEST(Convert, DoubleToIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyDoubles(512));
  const auto out = run.zeros<int>(4 * 512);
  const auto unsigned_out = run.zeros<unsigned>(4 * 512);
  run.launch(doubleToIntegers, {{8}, {64}}, in, out, unsigned_out);
}

TEST(Convert, DoubleToWide_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyDoubles(512));
  const auto out = run.zeros<long long>(4 * 512);
  const auto unsigned_out = run.zeros<unsigned long long>(4 * 512);
  run.launch(doubleToWide, {{8}, {64}}, in, out, unsigned_out);
}

TEST(Convert, IntegersToFloat_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(256));
  const auto wide = run.buffer(run.in.anyWide(256));
  const auto out = run.zeros<float>(16 * 256);
  run.launch(integersToFloat, {{4}, {64}}, in, wide, out);
}

TEST(Convert, IntegersToDouble_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(256));
  const auto wide = run.buffer(run.in.anyWide(256));
  const auto out = run.zeros<double>(10 * 256);
  run.launch(integersToDouble, {{4}, {64}}, in, wide, out);
}

TEST(Convert, DoubleToFloat_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyDoubles(512));
  const auto out = run.zeros<unsigned>(4 * 512);
  const auto back = run.zeros<double>(512);
  run.launch(doubleToFloat, {{8}, {64}}, in, out, back);
}

TEST(Convert, PlainCasts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(256));
  const auto bytes = run.zeros<signed char>(256);
  const auto ubytes = run.zeros<unsigned char>(256);
  const auto words = run.zeros<short>(256);
  const auto floats = run.zeros<float>(256);
  const auto doubles = run.zeros<double>(256);
  run.launch(plainCasts, {{4}, {64}}, in, bytes, ubytes, words, floats, doubles);
}

TEST(Convert, BitCasts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto wide = run.buffer(run.in.wide(128));
  const auto out = run.zeros<unsigned>(3 * 128);
  const auto wide_out = run.zeros<unsigned long long>(2 * 128);
  run.launch(bitCasts, {{2}, {64}}, in, wide, out, wide_out);
}

}  // namespace
}  // namespace divvy::ptxtest
