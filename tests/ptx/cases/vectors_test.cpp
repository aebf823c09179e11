// Element-wise kernels.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "vectors.cu"

namespace divvy::ptxtest {
namespace {

TEST(Vectors, VectorAdd_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(1000, -100, 100));
  const auto b = run.buffer(run.in.floats(1000, -1e-3f, 1e6f));
  const auto sum = run.zeros<float>(1024);
  run.launch(vectorAdd, {{8}, {128}}, a, b, sum, 1000);
}

TEST(Vectors, Saxpy_MatchesHost) {
  Comparison run;
  const auto x = run.buffer(run.in.floats(777, -10, 10));
  const auto y = run.buffer(run.in.floats(777, -10, 10));
  run.launch(saxpy, {{3}, {64}}, 1.7f, x, y, 777);
}

TEST(Vectors, ScaleFloat4_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(4 * 100, -5, 5));
  const auto out = run.zeros<float>(4 * 100);
  Buffer<float4> from{in.region};
  Buffer<float4> to{out.region};
  run.launch(scaleFloat4, {{4}, {32}}, from, to, float4{2.0f, 0.3f, -1.1f, 1e-7f}, 100);
}

TEST(Vectors, SwapInt2_MatchesHost) {
  Comparison run;
  const Buffer<int2> pairs{run.buffer(run.in.anyInts(2 * 70)).region};
  const Buffer<short4> shorts{run.buffer(run.in.wholes<short>(4 * 70, -32768, 32767)).region};
  const Buffer<uchar4> bytes{run.buffer(run.in.bytes(4 * 70)).region};
  run.launch(swapInt2, {{3}, {32}}, pairs, shorts, bytes, 70);
}

TEST(Vectors, DoublePairs_MatchesHost) {
  Comparison run;
  const Buffer<double2> in{run.buffer(run.in.doubles(2 * 50, -3, 3)).region};
  const Buffer<double2> out{run.zeros<double>(2 * 50).region};
  const Buffer<longlong2> sums{run.zeros<long long>(2 * 50).region};
  const Buffer<longlong2> terms{
      run.buffer(run.in.wholes<long long>(2 * 50, -1000000, 1000000)).region};
  run.launch(doublePairs, {{2}, {32}}, in, out, sums, terms, 50);
}

TEST(Vectors, ReadOnlyBlend_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(250, 0, 1));
  const auto b = run.buffer(run.in.floats(250, 0, 1));
  const auto out = run.zeros<float>(256);
  run.launch(readOnlyBlend, {{2}, {32}}, a, b, out, 250);
}

}  // namespace
}  // namespace divvy::ptxtest
