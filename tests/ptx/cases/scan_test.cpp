// Prefix sums.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "scan.cu"

namespace divvy::ptxtest {
namespace {

TEST(Scan, ScanHillisSteele_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -100, 100));
  const auto out = run.zeros<int>(256);
  run.launch(scanHillisSteele, {{2}, {128}}, in, out);
}

TEST(Scan, ScanBlelloch_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(768));
  const auto out = run.zeros<unsigned>(768);
  run.launch(scanBlelloch, {{3}, {128}}, in, out);
}

TEST(Scan, CompactPrefix_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(384, -100, 100));
  const auto out = run.zeros<int>(384);
  const auto kept = run.zeros<int>(3);
  run.launch(compactPrefix, {{3}, {128}}, in, out, kept, 20);
}

TEST(Scan, ScanSegmented_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(256, -100, 100));
  auto flags = run.in.wholes<unsigned char>(256, 0, 9);
  for (auto& flag : flags) flag = flag == 0;
  const auto out = run.zeros<int>(256);
  run.launch(scanSegmented, {{2}, {128}}, in, run.buffer(flags), out);
}

}  // namespace
}  // namespace divvy::ptxtest
