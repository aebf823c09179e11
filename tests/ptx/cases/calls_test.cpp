// Functions that are really called.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "calls.cu"

namespace divvy::ptxtest {
namespace {

TEST(Calls, CallPlain_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(64, -1000, 1000));
  const auto out = run.zeros<int>(64);
  run.launch(callPlain, {{2}, {32}}, in, out);
}

TEST(Calls, CallFibonacci_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<int>(32);
  run.launch(callFibonacci, {{1}, {32}}, out);
}

TEST(Calls, CallAckermann_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned>(12);
  run.launch(callAckermann, {{1}, {12}}, out);
}

TEST(Calls, CallMutual_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(64));
  const auto out = run.zeros<unsigned char>(64);
  run.launch(callMutual, {{1}, {64}}, in, out);
}

TEST(Calls, CallStruct_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(64, -1000, 1000));
  const Buffer<Point> out{run.zeros<unsigned char>(64 * sizeof(Point)).region};
  run.launch(callStruct, {{2}, {32}}, in, out);
}

TEST(Calls, CallPointers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -100000, 100000));
  const auto out = run.zeros<int>(256);
  run.launch(callPointers, {{2}, {64}}, in, out);
}

TEST(Calls, CallFunctionPointers_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.floats(64, -10, 10));
  const auto b = run.buffer(run.in.floats(64, -10, 10));
  const auto out = run.zeros<float>(64);
  run.launch(callFunctionPointers, {{2}, {32}}, a, b, out);
}

TEST(Calls, CallVirtual_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(64, 0, 10));
  const auto out = run.zeros<float>(64);
  run.launch(callVirtual, {{2}, {32}}, in, out);
}

TEST(Calls, CallHanoi_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned>(4 * 32);
  const auto counts = run.zeros<int>(32);
  run.launch(callHanoi, {{1}, {32}}, out, counts);
}

}  // namespace
}  // namespace divvy::ptxtest
