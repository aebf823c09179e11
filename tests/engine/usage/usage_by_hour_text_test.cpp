#include "engine/usage_by_hour_text.h"

#include <gtest/gtest.h>

#include "some.h"

namespace divvy::engine {
namespace {

UsageByHour parsed(const std::string& words) {
  const Result<UsageByHour> daily = parseDaily(words);
  EXPECT_TRUE(daily) << words << ": " << daily.error().message();
  return daily ? *daily : UsageByHour{};
}

TEST(UsageByHourText, NamedHoursAndElse_Parsed) {
  const UsageByHour office = parsed("9-18=80%,else=10%");
  for (std::size_t hour = 0; hour < kHours; ++hour)
    EXPECT_EQ(office.permille[hour], hour >= 9 && hour < 18 ? 800 : 100) << hour;
  const UsageByHour night = parsed(" 22 - 2 = 12.5% , 4=0% ");
  EXPECT_EQ(night.permille[21], 1000) << "all of it where nothing is said";
  EXPECT_EQ(night.permille[22], 125);
  EXPECT_EQ(night.permille[1], 125);
  EXPECT_EQ(night.permille[2], 1000);
  EXPECT_EQ(night.permille[4], 0);
  EXPECT_EQ(parsed("0-24=50%"), parsed("else=50%"));
  EXPECT_EQ(parsed("18-24=1%,0-18=2%").permille[23], 10);
}

TEST(UsageByHourText, AnyUsage_ParsedAsWritten) {
  EXPECT_EQ(text(parsed("9-18=80%,else=10%")), "0-9=10%,9-18=80%,18-24=10%");
  EXPECT_EQ(text(parsed("else=12.5%")), "0-24=12.5%");
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    UsageByHour daily;
    for (std::uint16_t& hour : daily.permille)
      hour = static_cast<std::uint16_t>(rng.below(kAllOfIt + 1));
    ASSERT_EQ(parsed(text(daily)), daily) << text(daily);
  }
}

TEST(UsageByHourText, InvalidText_RefusedWithAccepted) {
  for (const char* bad :
       {"",       "9-18",      "9-18=80",        "9-18=101%",       "9-18=100.1%", "9-18=1.25%",
        "24=1%",  "9-25=1%",   "9-9=1%",         "x-9=1%",          "-9=1%",       "9-=1%",
        "=1%",    "9-18=80%,", "9-18=80%,17=1%", "else=1%,else=2%", "9--18=1%",    "9-18=-1%",
        "9-18=%", "9-18=.5%",  "99999999999=1%"}) {
    const Result<UsageByHour> daily = parseDaily(bad);
    ASSERT_FALSE(daily) << bad;
    EXPECT_EQ(daily.error().code(), ErrorCode::kUsage);
    EXPECT_NE(daily.error().message().find("accepted: "), std::string::npos) << bad;
  }
  EXPECT_NE(parseDaily("9-18=1%,17-20=2%").error().message().find("an hour again"),
            std::string::npos);
}

}  // namespace
}  // namespace divvy::engine
