#include "base/base64.h"

#include <gtest/gtest.h>

namespace divvy {
namespace {

// RFC 4648, section 10.
TEST(Base64, TestVectors_BothWays) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(toBase64(bytes), text);
    for (const Base64Space space : {Base64Space::kSkipped, Base64Space::kRefused})
      EXPECT_EQ(fromBase64(text, space), bytes) << text;
  }
}

TEST(Base64, AllBytes_ReadAsWritten) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) {
    bytes += static_cast<char>(c);
    ASSERT_EQ(fromBase64(toBase64(bytes)), bytes) << c;
    ASSERT_EQ(fromBase64(toBase64(bytes), Base64Space::kRefused), bytes) << c;
  }
  EXPECT_EQ(toBase64("\xfb\xff\xfe"), "+//+");
}

TEST(Base64, OtherText_Nothing) {
  for (const char* wrong : {"QUJD----", "QUJ", "Q===", "====", "=", "QU=C", "Q=U=", "==QU",
                            "QU==QUJD", "QUJ\xff", "QU_D", "QU-D", "QU\vC", "QUJDQ"})
    for (const Base64Space space : {Base64Space::kSkipped, Base64Space::kRefused})
      EXPECT_FALSE(fromBase64(wrong, space).has_value()) << wrong;
}

TEST(Base64, WhiteSpace_SkippedOrRefused) {
  for (const char* text : {"QU\nJD\n", " QUJD", "QUJD\r\n", "Q U\tJD", "Q\nU\nJ\nD\n"}) {
    EXPECT_EQ(fromBase64(text), "ABC") << text;
    EXPECT_FALSE(fromBase64(text, Base64Space::kRefused).has_value()) << text;
  }
  EXPECT_EQ(fromBase64("QQ =\n="), "A");
}

// As OpenSSL and Go's encoding/base64 do it.
TEST(Base64, BitsBehindTheLastByte_Ignored) {
  EXPECT_EQ(fromBase64("QR=="), "A");
  EXPECT_EQ(fromBase64("QUJ="), "AB");
}

}  // namespace
}  // namespace divvy
