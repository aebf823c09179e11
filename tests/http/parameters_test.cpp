#include "http/parameters.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "escapes.h"

namespace divvy::http {
namespace {

std::string flat(std::string_view text) {
  const Result<Parameters> parsed = parseParameters(text);
  if (!parsed) return "refused: " + parsed.error().message();
  std::string all;
  for (const Parameter& one : parsed->all()) all += '[' + one.name + '|' + one.value + ']';
  return all;
}

TEST(Parameters, WellFormed_NamesAndValuesDecoded) {
  EXPECT_EQ(flat(""), "");
  EXPECT_EQ(flat("a=1&b=two"), "[a|1][b|two]");
  EXPECT_EQ(flat("a+b=c+d&e%3d=%26%2B"), "[a b|c d][e=|&+]");
  EXPECT_EQ(flat("flag&empty=&=value&a=b=c&&"), "[flag|][empty|][|value][a|b=c]");
  EXPECT_EQ(flat("n=%C3%a4"), "[n|\xc3\xa4]");
}

TEST(Parameters, MalformedEscape_Refused) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "%4g=1", "a=1&b=%f", "a=%%41", "a=%00", "a=% 1"})
    EXPECT_FALSE(parseParameters(text)) << text;
}

TEST(Parameters, TooMany_Refused) {
  std::string text = "a";
  for (std::size_t i = 1; i < kMaxParameters; ++i) text += "&a=1";
  EXPECT_TRUE(parseParameters(text));
  EXPECT_TRUE(parseParameters(text + "&&&"));
  EXPECT_FALSE(parseParameters(text + "&a"));
}

TEST(Parameters, NameRepeats_FirstFoundAllListed) {
  const Result<Parameters> parsed = parseParameters("a=1&b=2&a=3");
  ASSERT_TRUE(parsed);
  ASSERT_NE(parsed->find("a"), nullptr);
  EXPECT_EQ(*parsed->find("a"), "1");
  EXPECT_EQ(parsed->values("a"), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(parsed->find("A"), nullptr);
}

std::string encoded(std::string_view bytes, Rng* rng) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0;
    if (plain && rng->below(2) == 0) {
      text += c;
    } else {
      text += '%';
      text += kDigits[byte / 16];
      text += kDigits[byte % 16];
    }
  }
  return text;
}

TEST(Parameters, RandomValues_DecodedAsEncoded) {
  Rng rng(11);
  for (int round = 0; round < 2'000; ++round) {
    std::string text, wanted;
    for (std::uint64_t left = rng.below(6); left > 0; --left) {
      std::string parts[2];
      for (std::string& part : parts)
        for (std::uint64_t size = rng.below(8); size > 0; --size)
          part += static_cast<char>(1 + rng.below(255));
      if (parts[0].empty()) parts[0] = "n";
      text += (text.empty() ? "" : "&") + encoded(parts[0], &rng) + '=' + encoded(parts[1], &rng);
      wanted += '[' + parts[0] + '|' + parts[1] + ']';
    }
    ASSERT_EQ(flat(text), wanted) << text;
  }
}

// What is accepted has no byte NUL and is no longer than the text.
TEST(Parameters, RandomBytes_RefusedOrBounded) {
  Rng rng(12);
  constexpr std::string_view kBytes = "ab=&%+04fF;/\x80 ";
  unsigned accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t size = rng.below(24); size > 0; --size)
      text += kBytes[rng.below(kBytes.size())];
    const Result<Parameters> parsed = parseParameters(text);
    if (!parsed) continue;
    ++accepted;
    std::size_t size = 0;
    for (const Parameter& one : parsed->all()) {
      size += one.name.size() + one.value.size();
      ASSERT_EQ(one.name.find('\0'), std::string::npos);
      ASSERT_EQ(one.value.find('\0'), std::string::npos);
    }
    ASSERT_LE(size, text.size());
  }
  EXPECT_GT(accepted, 2'000u);
}

TEST(Escapes, Plus_SpaceOnlyInQueryStrings) {
  EXPECT_EQ(decodeEscapes("a+b%2B", Plus::kItself).value(), "a+b+");
  EXPECT_EQ(decodeEscapes("a+b%2B", Plus::kSpace).value(), "a b+");
}

}  // namespace
}  // namespace divvy::http
