// Lanes that go their own ways.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "divergence.cu"

namespace divvy::ptxtest {
namespace {

TEST(Divergence, Collatz_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(100));
  const auto steps = run.zeros<unsigned>(128);
  run.launch(collatz, {{2}, {64}}, in, steps, 100);
}

TEST(Divergence, GreatestDivisor_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.words(128));
  const auto b = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(128);
  run.launch(greatestDivisor, {{2}, {64}}, a, b, out, 128);
}

TEST(Divergence, BinarySearch_MatchesHost) {
  Comparison run;
  auto values = run.in.ints(300, -1000, 1000);
  std::sort(values.begin(), values.end());
  const auto sorted = run.buffer(values);
  const auto wanted = run.buffer(run.in.ints(128, -1100, 1100));
  const auto at = run.zeros<int>(128);
  run.launch(binarySearch, {{2}, {64}}, sorted, 300, wanted, at, 128);
}

TEST(Divergence, NestedBreak_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -1000, 1000));
  const auto out = run.zeros<int>(128);
  run.launch(nestedBreak, {{2}, {64}}, in, out, 120);
}

TEST(Divergence, Predicated_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -500, 500));
  const auto out = run.zeros<int>(256);
  run.launch(predicated, {{4}, {64}}, in, out, 250);
}

TEST(Divergence, EarlyExitBarrier_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(252, -500, 500));
  const auto out = run.zeros<int>(252);
  run.launch(earlyExitBarrier, {{2}, {126}}, in, out);
}

TEST(Divergence, CountPrimes_MatchesHost) {
  Comparison run;
  const auto found = run.zeros<unsigned>(1);
  const auto is_prime = run.zeros<unsigned char>(256);
  run.launch(countPrimes, {{4}, {64}}, 9000u, found, is_prime);
}

TEST(Divergence, VoteLoop_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(128);
  run.launch(voteLoop, {{2}, {64}}, in, out);
}

}  // namespace
}  // namespace divvy::ptxtest
