// Bits, one by one and in fields.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "bits.cu"

namespace divvy::ptxtest {
namespace {

TEST(Bits, BitCounts_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto wide = run.buffer(run.in.wide(128));
  const auto out = run.zeros<unsigned>(8 * 128);
  run.launch(bitCounts, {{2}, {64}}, in, wide, out);
}

TEST(Bits, BytePermute_MatchesHost) {
  Comparison run;
  const auto a = run.buffer(run.in.words(128));
  const auto b = run.buffer(run.in.words(128));
  const auto chosen = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(128);
  run.launch(bytePermute, {{2}, {64}}, a, b, chosen, out);
}

TEST(Bits, FunnelShifts_MatchesHost) {
  Comparison run;
  const auto low = run.buffer(run.in.words(128));
  const auto high = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(4 * 128);
  run.launch(funnelShifts, {{2}, {64}}, low, high, out);
}

TEST(Bits, BitFields_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(2 * 128);
  run.launch(bitFields, {{2}, {64}}, in, out);
}

TEST(Bits, MortonCodes_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto codes = run.zeros<unsigned>(128);
  const auto back = run.zeros<unsigned>(128);
  run.launch(mortonCodes, {{2}, {64}}, in, codes, back);
}

TEST(Bits, BitTricks_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(128));
  const auto out = run.zeros<unsigned>(4 * 128);
  run.launch(bitTricks, {{2}, {64}}, in, out);
}

}  // namespace
}  // namespace divvy::ptxtest
