// A thread's own memory.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "local.cu"

namespace divvy::ptxtest {
namespace {

TEST(Local, InsertionSort_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(64 * 16, -1000, 1000));
  const auto out = run.zeros<int>(64 * 16);
  run.launch(insertionSort, {{2}, {32}}, in, out);
}

TEST(Local, DynamicIndex_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(64));
  const auto out = run.zeros<unsigned>(64);
  run.launch(dynamicIndex, {{2}, {32}}, in, out, 60);
}

TEST(Local, LocalRecords_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(64, -30000, 30000));
  const auto weights = run.zeros<double>(64);
  const auto counts = run.zeros<long long>(64);
  run.launch(localRecords, {{2}, {32}}, in, weights, counts);
}

TEST(Local, StackMachine_MatchesHost) {
  Comparison run;
  const auto program = run.buffer(std::vector<unsigned char>{
      5, 103, 101, 9, 100, 102, 7, 3, 103, 100, 101, 100, 42, 102, 103, 103, 100, 100, 100, 11});
  const auto in = run.buffer(run.in.ints(64, -20, 20));
  const auto out = run.zeros<int>(64);
  run.launch(stackMachine, {{2}, {32}}, program, 20, in, out);
}

TEST(Local, Queens_MatchesHost) {
  Comparison run;
  const auto solutions = run.zeros<unsigned>(7);
  run.launch(queens, {{1}, {7}}, 7, solutions);
}

}  // namespace
}  // namespace divvy::ptxtest
