// What threads print.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "print.cu"

namespace divvy::ptxtest {
namespace {

TEST(Print, PrintValues_MatchesHost) {
  Comparison run;
  run.comparesOutput();
  const auto in = run.buffer(run.in.anyInts(30));
  const auto reals = run.buffer(run.in.doubles(30, -1e4, 1e4));
  run.launch(printValues, {{1}, {1}}, in, reals, 30);
}

}  // namespace
}  // namespace divvy::ptxtest
