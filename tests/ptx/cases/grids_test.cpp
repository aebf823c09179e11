// Shapes of grids and blocks.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "grids.cu"

namespace divvy::ptxtest {
namespace {

TEST(Grids, GridThreeDimensions_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned>(3 * 4 * 2 * 5 * 2 * 3);
  run.launch(gridThreeDimensions, {{3, 2, 2}, {4, 5, 3}}, out);
}

TEST(Grids, BlockThreeDimensions_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(360, -1000, 1000));
  const auto out = run.zeros<int>(360);
  run.launch(blockThreeDimensions, {{3}, {10, 3, 4}}, in, out);
}

TEST(Grids, BarrierCounts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(400, -101, 99));
  const auto out = run.zeros<int>(400);
  run.launch(barrierCounts, {{5}, {80}}, in, out);
}

TEST(Grids, BarrierUntilStable_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(192, -100, 100));
  const auto out = run.zeros<int>(192);
  const auto turns = run.zeros<int>(2);
  run.launch(barrierUntilStable, {{2}, {96}}, in, out, turns);
}

TEST(Grids, SpecialNumbers_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned>(2 * 3 * 2 * 3 * 5 * 2 * 4);
  run.launch(specialNumbers, {{2, 3, 2}, {3, 5, 2}}, out);
}

TEST(Grids, WarpBarrier_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -100, 100));
  const auto out = run.zeros<int>(256);
  run.launch(warpBarrier, {{2}, {128}}, in, out);
}

}  // namespace
}  // namespace divvy::ptxtest
