#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

constexpr Rfc3339Form kForms[] = {Rfc3339Form::kUtcSeconds, Rfc3339Form::kUtc,
                                  Rfc3339Form::kAnyOffset};

TEST(FormatRfc3339, Seconds_TextInUtc) {
  EXPECT_EQ(formatRfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(formatRfc3339(1'787'306'400), "2026-08-21T10:00:00Z");
  EXPECT_EQ(formatRfc3339(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(formatRfc3339(253'402'300'799), "9999-12-31T23:59:59Z");
}

TEST(FormatRfc3339, YearBeyondInt_EmptyText) {
  EXPECT_EQ(formatRfc3339(INT64_MAX), "");
  EXPECT_EQ(formatRfc3339(INT64_MIN), "");
}

TEST(ParseRfc3339, TextInUtc_EveryForm) {
  for (const Rfc3339Form form : kForms) {
    EXPECT_EQ(rfc3339Seconds("2027-01-15T08:00:00Z", form), 1'800'000'000);
    EXPECT_EQ(rfc3339Ms("2027-01-15T08:00:00Z", form), 1'800'000'000'000);
    EXPECT_EQ(parseRfc3339("1970-01-01T00:00:00Z", form), Rfc3339Instant());
    EXPECT_EQ(rfc3339Seconds("2016-12-31T23:59:60Z", form), 1'483'228'800) << "a leap second";
  }
}

TEST(ParseRfc3339, Fraction_CutToMilliseconds) {
  for (const Rfc3339Form form : {Rfc3339Form::kUtc, Rfc3339Form::kAnyOffset}) {
    EXPECT_EQ(rfc3339Ms("2027-01-15T08:00:00.5Z", form), 1'800'000'000'500);
    EXPECT_EQ(rfc3339Ms("2027-01-15T08:00:00.123456Z", form), 1'800'000'000'123);
    EXPECT_EQ(rfc3339Ms("2027-01-15T08:00:00.000999999999Z", form), 1'800'000'000'000);
    EXPECT_EQ(rfc3339Seconds("2027-01-15T08:00:00.999Z", form), 1'800'000'000);
    EXPECT_EQ(rfc3339Seconds("1969-12-31T23:59:59.5Z", form), -1) << "rounded down";
  }
  EXPECT_FALSE(parseRfc3339("2027-01-15T08:00:00.5Z", Rfc3339Form::kUtcSeconds));
}

TEST(ParseRfc3339, Offset_OnlyWhereAnyIsAccepted) {
  for (const char* text :
       {"2027-01-15T10:30:00+02:30", "2027-01-15T06:00:00-02:00", "2027-01-15T02:30:00.25-05:30"}) {
    EXPECT_EQ(rfc3339Seconds(text, Rfc3339Form::kAnyOffset), 1'800'000'000) << text;
    EXPECT_FALSE(parseRfc3339(text, Rfc3339Form::kUtc)) << text;
    EXPECT_FALSE(parseRfc3339(text, Rfc3339Form::kUtcSeconds)) << text;
  }
}

TEST(ParseRfc3339, OtherText_Nothing) {
  for (const Rfc3339Form form : kForms) {
    for (const char* text :
         {"", "now", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15T08:00:00X",
          "2027-01-15T08:00:00+2", "2027-01-15T08:00:00Zx", "2027-13-15T08:00:00Z",
          "2027-00-15T08:00:00Z", "2027-02-29T08:00:00Z", "2027-1-15T8:0:0Z",
          " 027-01-15T08:00:00Z", "2027--1-15T08:00:00Z", "2027-01-15T24:00:00Z",
          "2027-01-15T08:60:00Z", "2027-01-15T08:00:61Z", "2027-01-15T08:00:00.Z",
          "2027-01-15T08:00:00+02:60", "2027-01-15 08:00:00Z"}) {
      EXPECT_FALSE(parseRfc3339(text, form)) << text;
      EXPECT_EQ(rfc3339Ms(text, form), 0) << text;
    }
  }
}

TEST(ParseRfc3339, FormattedText_SameInstant) {
  for (std::int64_t at = 1; at < 253'402'300'800; at += 86'399 * 1'000)
    ASSERT_EQ(rfc3339Seconds(formatRfc3339(at), Rfc3339Form::kUtcSeconds), at);
}

}  // namespace
}  // namespace divvy
