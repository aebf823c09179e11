// Choices among many.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "switches.cu"

namespace divvy::ptxtest {
namespace {

TEST(Switches, DenseSwitch_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(256));
  const auto values = run.buffer(run.in.ints(256, -30000, 30000));
  const auto out = run.zeros<int>(256);
  run.launch(denseSwitch, {{4}, {64}}, in, values, out);
}

TEST(Switches, SparseSwitch_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(256));
  const auto out = run.zeros<unsigned long long>(256);
  run.launch(sparseSwitch, {{4}, {64}}, in, out);
}

TEST(Switches, StateMachine_MatchesHost) {
  Comparison run;
  const auto text = run.buffer(run.in.text(64 * 40));
  const auto words = run.zeros<int>(64);
  const auto numbers = run.zeros<int>(64);
  run.launch(stateMachine, {{2}, {32}}, text, 40, words, numbers);
}

TEST(Switches, CalledSwitch_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.doubles(72, -100, 100));
  const auto b = run.buffer(run.in.doubles(72, 1, 100));
  const auto out = run.zeros<double>(72);
  run.launch(calledSwitch, {{2}, {36}}, a, b, out);
}

}  // namespace
}  // namespace divvy::ptxtest
