// Checksums, digests, random numbers.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "hashes.cu"

namespace divvy::ptxtest {
namespace {

TEST(Hashes, Crc32Bytes_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.bytes(64 * 50));
  const auto out = run.zeros<unsigned>(64);
  run.launch(crc32Bytes, {{2}, {32}}, in, 50, out);
}

TEST(Hashes, ShaRounds_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.words(16 * 32));
  const auto out = run.zeros<unsigned>(8 * 32);
  run.launch(shaRounds, {{1}, {32}}, in, out);
}

TEST(Hashes, Xorshift_MatchesHost) {
  Comparison run;
  const auto seeds = run.buffer(run.in.words(64));
  const auto out = run.zeros<unsigned>(128);
  const auto reals = run.zeros<float>(64);
  run.launch(xorshift, {{2}, {32}}, seeds, out, reals);
}

TEST(Hashes, Philox_MatchesHost) {
  Comparison run;
  const Buffer<uint4> out{run.zeros<unsigned>(4 * 128).region};
  run.launch(philox, {{2}, {64}}, 0xdeadbeefu, 42u, out);
}

TEST(Hashes, MixWide_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.wide(64 * 9));
  const auto out = run.zeros<unsigned long long>(64);
  run.launch(mixWide, {{2}, {32}}, in, 9, out);
}

TEST(Hashes, ModularPowers_MatchesHost) {
  Comparison run;
  const auto bases = run.buffer(run.in.wide(64));
  const auto powers = run.buffer(run.in.words(64));
  const auto out = run.zeros<unsigned long long>(64);
  run.launch(modularPowers, {{2}, {32}}, bases, powers, out);
}

}  // namespace
}  // namespace divvy::ptxtest
