// Sorting.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "sorts.cu"

namespace divvy::ptxtest {
namespace {

TEST(Sorts, BitonicShared_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(512));
  const auto out = run.zeros<int>(512);
  run.launch(bitonicShared, {{2}, {256}}, in, out);
}

TEST(Sorts, BitonicWarp_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(128, -100, 100));
  const auto out = run.zeros<float>(128);
  run.launch(bitonicWarp, {{2}, {64}}, in, out);
}

TEST(Sorts, RadixPass_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(256));
  const auto out = run.zeros<unsigned>(256);
  run.launch(radixPass, {{2}, {128}}, in, out, 2);
}

TEST(Sorts, MergeRanks_MatchesHost) {
  Comparison run;
  auto values = run.in.ints(128, 0, 40);
  std::sort(values.begin(), values.begin() + 64);
  std::sort(values.begin() + 64, values.end());
  const auto out = run.zeros<int>(128);
  run.launch(mergeRanks, {{1}, {128}}, run.buffer(values), out, 64);
}

TEST(Sorts, ShellSortRecords_MatchesHost) {
  Comparison run;
  const auto keys = run.buffer(run.in.wholes<float>(32 * 20, -5, 5));
  const auto order = run.zeros<unsigned short>(32 * 20);
  const auto tags = run.zeros<unsigned char>(32 * 20);
  run.launch(shellSortRecords, {{1}, {32}}, keys, order, tags);
}

}  // namespace
}  // namespace divvy::ptxtest
