// Where data lives.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "memory.cu"

namespace divvy::ptxtest {
namespace {

TEST(Memory, ConstantTables_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto out = run.zeros<float>(128);
  const auto scaled = run.zeros<double>(128);
  run.variable("memory_weights", memory_weights, {1, 0.5f, -2, 3.25f, 1e-3f, 7, 0.1f, -0.7f});
  run.launch(constantTables, {{2}, {64}}, in, out, scaled);
}

TEST(Memory, GlobalVariables_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -1000, 1000));
  const auto out = run.zeros<long long>(128);
  const auto again = run.zeros<int>(4);
  run.variable("memory_counter", memory_counter);
  run.variable("memory_cells", memory_cells);
  run.variable("memory_text", memory_text);
  run.launch(globalVariables, {{2}, {64}}, in, out);
  run.launchNamed("globalVariablesAgain", globalVariablesAgain, {{1}, {4}}, again);
}

// Initializers are the module's own: nothing is written before the launch.
TEST(Memory, GlobalVariablesAgain_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<int>(4);
  run.launch(globalVariablesAgain, {{1}, {4}}, out);
}

TEST(Memory, DynamicShared_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.floats(128, -10, 10));
  const auto shorts = run.buffer(run.in.wholes<short>(128, -30000, 30000));
  const auto out = run.zeros<float>(128);
  run.launch(dynamicShared, {{2}, {64}, 64 * 6}, in, shorts, out);
}

TEST(Memory, UnionCasts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.doubles(64, -1e6, 1e6));
  const auto out = run.zeros<unsigned long long>(64);
  const auto floats = run.zeros<float>(64);
  run.launch(unionCasts, {{2}, {32}}, in, out, floats);
}

TEST(Memory, UnalignedCopy_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.bytes(32 * 37 + 8));
  const auto out = run.zeros<unsigned char>(32 * 37);
  run.launch(unalignedCopy, {{1}, {32}}, in, out, 3, 37);
}

}  // namespace
}  // namespace divvy::ptxtest
