// What agents are told of memory that is promised more than once.
#include "agent/oversubscription.h"

#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

const std::vector<DeviceName> kDevices{{0, "GPU-aaaa1111-x"}, {1, "GPU-aaaa2222-x"}};

std::string wrongOvercommit(const std::string& text) {
  PerDevice<unsigned> told;
  const Result<void> read = readOvercommit(text, told);
  return read ? "accepted" : read.error().message();
}

TEST(Oversubscription, Ratio_UpToThreeDecimals) {
  for (const auto& [text, permille] : {std::pair{"1", 1000u},
                                       {"1.0", 1000u},
                                       {"1.3", 1300u},
                                       {"2.25", 2250u},
                                       {"1.125", 1125u},
                                       {"4.0", 4000u}}) {
    PerDevice<unsigned> told;
    ASSERT_TRUE(readOvercommit(text, told)) << text;
    EXPECT_EQ(told.all, permille) << text;
  }
  for (const char* text : {"", "0.9", "4.001", "5", "1.", ".5", "1.2345", "1,3x", "-1", "1e0", "x",
                           "1.3 ", "99999999999999"}) {
    EXPECT_NE(wrongOvercommit(text).find("accepted: 1.0 to 4.0"), std::string::npos) << text;
  }
}

TEST(Oversubscription, DeviceValue_OverridesDefault) {
  Oversubscription told;
  ASSERT_TRUE(readOvercommit("1.3,1=2.0", told.overcommit));
  ASSERT_TRUE(readBudget("GPU-aaaa1=20Gi", told.budget));
  const Result<std::vector<DeviceTerms>> terms = termsFor(told, kDevices);
  ASSERT_TRUE(terms) << terms.error().message();
  EXPECT_EQ((*terms)[0].overcommit_permille, 1300u);
  EXPECT_EQ((*terms)[1].overcommit_permille, 2000u);
  EXPECT_EQ((*terms)[0].budget, gib(20));
  EXPECT_EQ((*terms)[1].budget, Bytes{});
}

TEST(Oversubscription, DuplicateValue_IsRefused) {
  EXPECT_NE(wrongOvercommit("1.3,1.4").find("for all devices already"), std::string::npos);
  EXPECT_NE(wrongOvercommit("0=1.3,0=1.4").find("for device 0 already"), std::string::npos);
  EXPECT_NE(wrongOvercommit("=1.4").find("names no device"), std::string::npos);
  Oversubscription told;
  ASSERT_TRUE(readOvercommit("0=1.3,GPU-aaaa1=1.4", told.overcommit));
  const Result<std::vector<DeviceTerms>> terms = termsFor(told, kDevices);
  ASSERT_FALSE(terms);
  EXPECT_NE(terms.error().message().find("device 0 is named twice"), std::string::npos);
}

TEST(Oversubscription, UnknownDevice_ErrorNamesDevices) {
  for (const auto& [name, why] : {std::pair{"2", "no device is \"2\""},
                                  {"GPU-b", "no device is \"GPU-b\""},
                                  {"GPU-", "no device is \"GPU-\""},
                                  {"GPU-aaaa", "several devices are \"GPU-aaaa\""}}) {
    Oversubscription told;
    ASSERT_TRUE(readOvercommit(std::string(name) + "=1.3", told.overcommit));
    const Result<std::vector<DeviceTerms>> terms = termsFor(told, kDevices);
    ASSERT_FALSE(terms) << name;
    EXPECT_EQ(terms.error().code(), ErrorCode::kUsage);
    EXPECT_NE(terms.error().message().find(why), std::string::npos) << terms.error().message();
    EXPECT_NE(terms.error().message().find("0 (GPU-aaaa1111-x), 1 (GPU-aaaa2222-x)"),
              std::string::npos);
  }
}

TEST(Oversubscription, SwapChunk_PowerOfTwoReserveMayBeZero) {
  EXPECT_EQ(*parseSwapChunk("64Ki"), kib(64));
  EXPECT_EQ(*parseSwapChunk("256Mi"), mib(256));
  for (const char* text : {"63Ki", "3Mi", "512Mi", "32Ki", "x"})
    EXPECT_NE(parseSwapChunk(text).error().message().find("power of two"), std::string::npos);
  EXPECT_EQ(*parseHostReserve("0"), Bytes{});
  EXPECT_EQ(*parseHostReserve("64Gi"), gib(64));
  EXPECT_FALSE(parseHostReserve("-1"));
}

}  // namespace
}  // namespace divvy::agent
