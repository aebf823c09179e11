// Collectives of a warp.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "warp.cu"

namespace divvy::ptxtest {
namespace {

TEST(Warp, ShuffleUpScan_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(192, -100, 100));
  const auto out = run.zeros<int>(192);
  run.launch(shuffleUpScan, {{2}, {96}}, in, out);
}

TEST(Warp, ShuffleRotate_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(128);
  run.launch(shuffleRotate, {{1}, {128}}, in, out, 3);
}

TEST(Warp, ShuffleWide_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.wide(64));
  const auto reals = run.buffer(run.in.doubles(64, -1e9, 1e9));
  const auto out = run.zeros<unsigned long long>(64);
  const auto out_reals = run.zeros<double>(64);
  run.launch(shuffleWide, {{1}, {64}}, in, reals, out, out_reals);
}

TEST(Warp, VoteAnyAll_MatchesHost) {
  Comparison run;
  auto values = run.in.ints(160, -95, 95);
  for (int at = 32; at < 64; ++at) values[at] = 0;
  const auto in = run.buffer(values);
  const auto any = run.zeros<int>(160);
  const auto all = run.zeros<int>(160);
  const auto ballot = run.zeros<unsigned>(160);
  run.launch(voteAnyAll, {{1}, {160}}, in, any, all, ballot);
}

TEST(Warp, VoteDivergent_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -100, 100));
  const auto out = run.zeros<unsigned>(128);
  run.launch(voteDivergent, {{2}, {64}}, in, out);
}

TEST(Warp, BallotCompact_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.ints(128, -100, 100));
  const auto out = run.zeros<int>(128);
  const auto kept = run.zeros<int>(4);
  run.launch(ballotCompact, {{2}, {64}}, in, out, kept);
}

TEST(Warp, MatchAny_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(96));
  const auto wide = run.buffer(run.in.wide(96));
  const auto out = run.zeros<unsigned>(96);
  const auto out_wide = run.zeros<unsigned>(96);
  run.launch(matchAny, {{1}, {96}}, in, wide, out, out_wide);
}

TEST(Warp, MatchAll_MatchesHost) {
  Comparison run;
  std::vector<unsigned> values(96, 7);
  values[40] = 8;
  const auto in = run.buffer(values);
  const auto out = run.zeros<unsigned>(96);
  const auto same = run.zeros<int>(96);
  run.launch(matchAll, {{1}, {96}}, in, out, same);
}

TEST(Warp, ActiveMaskSelf_MatchesHost) {
  Comparison run;
  const auto out = run.zeros<unsigned>(96);
  const auto counter = run.zeros<unsigned>(1);
  run.launch(activeMaskSelf, {{1}, {96}}, out, counter);
}

}  // namespace
}  // namespace divvy::ptxtest
