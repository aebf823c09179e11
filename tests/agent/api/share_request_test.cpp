#include "agent/share_request.h"

#include <gtest/gtest.h>

#include "agent/node.h"

namespace divvy::agent {
namespace {

TEST(MemoryRequest, BytesAndPercent_ResolveOnDeviceMemory) {
  EXPECT_EQ(parseMemoryAsk("4Gi")->on(gib(80)), gib(4));
  EXPECT_EQ(parseMemoryAsk("50%")->on(gib(80)), gib(40));
  EXPECT_EQ(parseMemoryAsk("100%")->on({UINT64_MAX / 2}), Bytes{UINT64_MAX / 2});
  EXPECT_EQ(parseMemoryAsk("33%")->text(), "33%");
}

TEST(MemoryRequest, InvalidText_UsageErrorNamesAccepted) {
  for (const char* text : {"", "%", "0%", "101%", "-5%", "5.5%", "50 %", "0", "-1Gi", "4Gb", "4 Gi",
                           "x", "99999999999Ti"}) {
    const Result<MemoryRequest> ask = parseMemoryAsk(text);
    ASSERT_FALSE(ask) << text;
    EXPECT_EQ(ask.error().code(), ErrorCode::kUsage) << text;
    EXPECT_NE(ask.error().message().find("accepted"), std::string::npos) << text;
    EXPECT_EQ(ask.error().message().find('\n'), std::string::npos) << text;
  }
}

TEST(Priority, Names_RoundTripAndOthersRefused) {
  for (const char* word : {"low", "normal", "high"})
    EXPECT_STREQ(priorityName(*parsePriority(word)), word);
  EXPECT_FALSE(parsePriority("urgent"));
}

TEST(Node, NameWithPathOrTooLong_IsRefused) {
  for (const char* name :
       {"", "sim-", "sim-../x", "sim-a/b", "sim-.", "cpu", "sim-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_FALSE(parseNode(name)) << name;
  }
  EXPECT_EQ(parseNode("sim-h100x2")->profile(), "h100x2");
  EXPECT_FALSE(parseNode("gpu")->simulated());
}

}  // namespace
}  // namespace divvy::agent
