// Loads and stores of 8 and 16 bits.
#include "comparison.h"
#include "device.h"

// The kernels themselves, last: they need the words above.
#include "bytes.cu"

namespace divvy::ptxtest {
namespace {

TEST(Bytes, UpperCase_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.wholes<char>(300, -128, 127));
  const auto out = run.zeros<char>(300);
  run.launch(upperCase, {{5}, {64}}, in, out, 300);
}

TEST(Bytes, DescribeTexts_MatchesHost) {
  Comparison run;
  auto values = run.in.wholes<char>(64 * 12, 'a', 'c');
  for (int at = 0; at < 64; ++at) values[static_cast<std::size_t>(at * 12 + at % 12)] = 0;
  const auto lengths = run.zeros<int>(64);
  const auto hashes = run.zeros<unsigned>(64);
  const Buffer<bool> mirrored{run.zeros<unsigned char>(64).region};
  run.launch(describeTexts, {{2}, {32}}, run.buffer(values), 12, lengths, hashes, mirrored);
}

TEST(Bytes, FindWord_MatchesHost) {
  Comparison run;
  auto values = run.in.wholes<char>(500, 'a', 'c');
  const auto text = run.buffer(values);
  const auto word = run.buffer(std::vector<char>{'a', 'c', 'b'});
  const auto first = run.buffer(std::vector<int>{1 << 30});
  const auto found = run.zeros<int>(1);
  run.launch(findWord, {{8}, {64}}, text, 500, word, 3, first, found);
}

TEST(Bytes, PrintNumbers_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.anyInts(128));
  const auto out = run.zeros<char>(12 * 128);
  run.launch(printNumbers, {{2}, {64}}, in, out);
}

TEST(Bytes, SwapHalves_MatchesHost) {
  Comparison run;
  const auto words = run.buffer(run.in.wholes<unsigned short>(128, 0, 65535));
  const auto in = run.buffer(run.in.wholes<short>(128, -32768, 32767));
  const auto out = run.zeros<int>(128);
  run.launch(swapHalves, {{2}, {64}}, words, in, out);
}

TEST(Bytes, Base64_MatchesHost) {
  Comparison run;
  const auto in = run.buffer(run.in.bytes(3 * 64));
  const Buffer<char4> out{run.zeros<char>(4 * 64).region};
  run.launch(base64, {{2}, {32}}, in, out);
}

TEST(Bytes, EditDistance_MatchesHost) {
  Comparison run;
  const auto words = run.buffer(run.in.wholes<char>(64 * 14, 'a', 'd'));
  const auto out = run.zeros<int>(64);
  run.launch(editDistance, {{2}, {32}}, words, 14, out);
}

}  // namespace
}  // namespace divvy::ptxtest
