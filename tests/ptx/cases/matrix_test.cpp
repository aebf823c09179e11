// Matrices and grids.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "matrix.cu"

namespace divvy::ptxtest {
namespace {

TEST(Matrix, MatmulTiled_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(40 * 40, -1, 1));
  const auto b = run.buffer(run.in.floats(40 * 40, -1, 1));
  const auto c = run.zeros<float>(40 * 40);
  run.launch(matmulTiled, {{3, 3}, {16, 16}}, a, b, c, 40);
}

TEST(Matrix, TransposePadded_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(37 * 50, -1, 1));
  const auto out = run.zeros<float>(37 * 50);
  run.launch(transposePadded, {{3, 4}, {16, 16}}, in, out, 37, 50);
}

TEST(Matrix, MatmulFused_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.doubles(20 * 20, -1, 1));
  const auto b = run.buffer(run.in.doubles(20 * 20, -1, 1));
  const auto c = run.zeros<double>(20 * 20);
  run.launch(matmulFused, {{3, 3}, {8, 8}}, a, b, c, 20);
}

TEST(Matrix, SparseTimesVector_MatchesHost) {
  Comparison run;
  std::vector<int> starts = {0};
  for (const int length : run.in.ints(100, 0, 12)) starts.push_back(starts.back() + length);
  const auto entries = static_cast<std::size_t>(starts.back());
  const auto columns = run.buffer(run.in.ints(entries, 0, 99));
  const auto values = run.buffer(run.in.floats(entries, -2, 2));
  const auto x = run.buffer(run.in.floats(100, -2, 2));
  const auto y = run.zeros<float>(100);
  run.launch(sparseTimesVector, {{2}, {64}}, run.buffer(starts), columns, values, x, y, 100);
}

TEST(Matrix, StencilFivePoints_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(45 * 35, -1, 1));
  const auto out = run.zeros<float>(45 * 35);
  run.launch(stencilFivePoints, {{3, 3}, {16, 16}}, in, out, 45, 35);
}

TEST(Matrix, MatmulBytes_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.anyInts(12 * 6));
  const auto b = run.buffer(run.in.anyInts(16 * 6));
  const auto ua = run.buffer(run.in.words(12 * 6));
  const auto ub = run.buffer(run.in.words(16 * 6));
  const auto c = run.zeros<int>(12 * 16);
  const auto uc = run.zeros<unsigned>(12 * 16);
  run.launch(matmulBytes, {{12}, {16}}, a, b, ua, ub, c, uc, 6);
}

}  // namespace
}  // namespace divvy::ptxtest
