#include "ledger/siphash.h"

#include <gtest/gtest.h>

#include <iterator>

namespace divvy::ledger {
namespace {

constexpr SipKey kKey{{0x0706050403020100, 0x0f0e0d0c0b0a0908}};
// Bytes 0, 1, 2 ..., as the published vectors have them.
constexpr std::uint64_t kBytes[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110,
                                    0x1f1e1d1c1b1a1918, 0x2726252423222120, 0x2f2e2d2c2b2a2928,
                                    0x3736353433323130};

// Source: vectors_sip64 of the reference implementation, of 0, 8, 16 ... bytes.
TEST(SipHash, PublishedVectors_Match) {
  constexpr std::uint64_t kPublished[] = {0x726fdb47dd0e0e31, 0x93f5f5799a932462,
                                          0x3f2acc7f57c29bdb};
  for (std::size_t count = 0; count < std::size(kPublished); ++count)
    EXPECT_EQ(sipHash(kKey, kBytes, count), kPublished[count]) << count << " words";
}

TEST(SipHash, OtherKeyWordOrLength_OtherNumber) {
  const std::uint64_t one = sipHash(kKey, kBytes, 5);
  EXPECT_NE(one, sipHash({}, kBytes, 5));
  EXPECT_NE(one, sipHash(kKey, kBytes + 1, 5));
  EXPECT_NE(one, sipHash(kKey, kBytes, 6));
}

}  // namespace
}  // namespace divvy::ledger
