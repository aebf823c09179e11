// Atomic operations.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "atomics.cu"

namespace divvy::ptxtest {
namespace {

TEST(Atomics, HistogramShared_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.bytes(3000));
  const auto bins = run.zeros<unsigned>(256);
  run.launch(histogramShared, {{4}, {96}}, in, bins, 3000);
}

TEST(Atomics, AtomicIntegers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -5000, 5000));
  const auto signed_cells = run.zeros<int>(4);
  const auto cells = run.buffer(std::vector<unsigned>{1, 0xffffffff, 0xffffffff, 0, 0, 3, 2});
  run.launch(atomicIntegers, {{4}, {64}}, in, signed_cells, cells);
}

TEST(Atomics, AtomicReturns_MatchesHost) {
  Comparison run;
  const auto operands = run.buffer(run.in.words(40));
  const auto cell = run.buffer(std::vector<unsigned>{100});
  const auto out = run.zeros<unsigned>(11 * 40);
  run.launch(atomicReturns, {{1}, {1}}, operands, cell, out, 40);
}

TEST(Atomics, AtomicWide_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyWide(128));
  const auto cells = run.buffer(std::vector<unsigned long long>{5, 0, ~0ull, ~0ull, 0, 9});
  const auto signed_cells = run.zeros<long long>(2);
  run.launch(atomicWide, {{2}, {64}}, in, cells, signed_cells);
}

TEST(Atomics, AtomicFloats_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -100, 100));
  const auto sum = run.zeros<float>(1);
  const auto wide_sum = run.zeros<double>(1);
  run.launch(atomicFloats, {{4}, {64}}, in, sum, wide_sum);
}

TEST(Atomics, CasLoopMax_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(256, 0, 1000));
  const auto cell = run.zeros<unsigned>(1);
  run.launch(casLoopMax, {{4}, {64}}, in, cell);
}

TEST(Atomics, CasLoopPair_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(128));
  const auto cell = run.zeros<unsigned long long>(1);
  run.launch(casLoopPair, {{2}, {64}}, in, cell);
}

// The lists themselves depend on the order; their sums do not.
TEST(Atomics, ExchangeLists_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(100));
  const auto heads = run.scratch(std::vector<int>(8, -1));
  const auto next = run.scratch(std::vector<int>(100));
  const auto sums = run.zeros<unsigned>(8);
  run.launch(exchangeLists, {{4}, {32}}, in, heads, next, 100);
  run.launchNamed("sumLists", sumLists, {{1}, {8}}, in, heads, next, sums);
}

}  // namespace
}  // namespace divvy::ptxtest
