#include "base/device_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace divvy {
namespace {

constexpr std::uint64_t kMb = 1'000'000;

Result<Bytes> read(const std::string& text, Bytes unit = mib(1), Bytes max = kMaxDeviceMemory) {
  return deviceMemory(*Quantity::parse(text), unit, max);
}

// As it is written, and as an API server hands it on.
struct Row {
  const char* written;
  const char* canonical;
  Bytes bytes;
};

TEST(DeviceMemory, CanonicalForm_MeansTheSame) {
  const Row table[] = {{"1", "1", mib(1)},
                       {"800", "800", mib(800)},
                       {"4096", "4096", mib(4096)},
                       {"16000", "16k", mib(16000)},
                       {"1.6e4", "16e3", mib(16000)},
                       {"100000", "100k", mib(100000)},
                       {"1000000", "1M", mib(1000000)},
                       {"1048576", "1048576", gib(1024)},
                       {"100000000", "100M", {100 * kMb}},
                       {"800000000", "800M", {800 * kMb}},
                       {"0.8G", "800M", {800 * kMb}},
                       {"2000M", "2G", {2000 * kMb}},
                       {"2G", "2G", {2000 * kMb}},
                       {"3G", "3G", {3000 * kMb}},
                       {"24000000000", "24G", {24000 * kMb}},
                       {"16Gi", "16Gi", gib(16)},
                       {"1.5Gi", "1536Mi", mib(1536)},
                       {"512Ki", "512Ki", kib(512)}};
  for (const Row& row : table) {
    for (const char* text : {row.written, row.canonical}) {
      const Result<Bytes> bytes = read(text);
      ASSERT_TRUE(bytes) << text << ": " << bytes.error().message();
      EXPECT_EQ(*bytes, row.bytes) << text;
    }
  }
}

TEST(DeviceMemory, AmbiguousNumber_RefusedWithBothReadings) {
  for (const char* text : {"1073741824", "17179869184", "2147483647", "2147483649", "1048577",
                           "2000000", "9000000", "9M", "99M"}) {
    const Result<Bytes> bytes = read(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code(), ErrorCode::kUsage);
    for (const char* part :
         {" as a number of MiB, which is too much, and ", " as bytes, which is written ",
          "; accepted: a whole number of MiB, or bytes with a suffix, as 16Gi"})
      EXPECT_NE(bytes.error().message().find(part), std::string::npos) << bytes.error().message();
  }
  EXPECT_NE(read("17179869184").error().message().find("16 GiB as bytes, which is written 16384Mi"),
            std::string::npos);
}

TEST(DeviceMemory, LargerUnits_SameBoundInBytes) {
  EXPECT_EQ(*read("4096", mib(256)), gib(1024));
  EXPECT_FALSE(read("4097", mib(256)));
  EXPECT_EQ(*read("800M", mib(256)), Bytes{800 * kMb});
  EXPECT_FALSE(read("8M", mib(256)));
  EXPECT_EQ(*read("9223372036854000000", gib(4)), Bytes{9223372036854000000u});
}

TEST(DeviceMemory, FractionOrNegative_IsRefused) {
  for (const char* text : {"1.5", "800m", "-1", "-1Gi"}) EXPECT_FALSE(read(text)) << text;
  EXPECT_EQ(*read("0"), Bytes{});
}

TEST(DeviceMemory, PlainNumberOnCommandLine_IsMiB) {
  EXPECT_EQ(*parseDeviceMemory("4096"), gib(4));
  EXPECT_EQ(*parseDeviceMemory("4Gi"), gib(4));
  EXPECT_EQ(*parseDeviceMemory("800M"), Bytes{800 * kMb});
  EXPECT_EQ(*parseDeviceMemory("16k"), Bytes{16000}) << "no API server is between";
  const Result<Bytes> either = parseDeviceMemory("8589934592");
  ASSERT_FALSE(either);
  EXPECT_NE(either.error().message().find("memory \"8589934592\": is 8 PiB"), std::string::npos)
      << either.error().message();
  for (const char* text : {"0", "", "4Gb", "-4", "99999999999999999999"})
    EXPECT_FALSE(parseDeviceMemory(text)) << text;
}

// Regression: the message accepted plain bytes, and a plain number is MiB.
TEST(ParseDeviceMemory, BadSuffix_PlainNumberIsOfMebibytes) {
  const Result<Bytes> bytes = parseDeviceMemory("4X");
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().message().find("or a plain number of MiB"), std::string::npos);
  EXPECT_EQ(bytes.error().message().find("plain bytes"), std::string::npos);
  EXPECT_EQ(*parseDeviceMemory("4096"), gib(4));
}

}  // namespace
}  // namespace divvy
