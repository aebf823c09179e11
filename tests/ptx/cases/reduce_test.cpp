// Reductions.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "reduce.cu"

namespace divvy::ptxtest {
namespace {

TEST(Reduce, ReduceShared_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(1000, -1000, 1000));
  const auto out = run.zeros<int>(8);
  run.launch(reduceShared, {{8}, {128}}, in, out, 1000);
}

TEST(Reduce, ReduceShuffleDown_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(900, -1, 1));
  const auto out = run.zeros<float>(4);
  run.launch(reduceShuffleDown, {{4}, {256}}, in, out, 900);
}

TEST(Reduce, ReduceShuffleXor_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.doubles(256, -1, 1));
  const auto out = run.zeros<double>(256);
  run.launch(reduceShuffleXor, {{4}, {64}}, in, out);
}

TEST(Reduce, ReducePartialWarp_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(3 * 77, -50, 50));
  const auto out = run.zeros<int>(9);
  run.launch(reducePartialWarp, {{3}, {77}}, in, out);
}

TEST(Reduce, ArgMin_MatchesHost) {
  Comparison run;
  auto values = run.in.floats(1000, -10, 10);
  values[700] = values[300] = -20;
  const auto in = run.buffer(values);
  const auto least = run.zeros<float>(1);
  const auto place = run.zeros<int>(1);
  run.launch(argMin, {{1}, {128}}, in, least, place, 1000);
}

TEST(Reduce, ReduceLastBlock_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(500));
  const auto partial = run.zeros<unsigned>(8);
  const auto total = run.zeros<unsigned>(1);
  run.variable("reduce_tickets", reduce_tickets, 0u);
  run.launch(reduceLastBlock, {{8}, {64}}, in, partial, total, 500);
}

}  // namespace
}  // namespace divvy::ptxtest
