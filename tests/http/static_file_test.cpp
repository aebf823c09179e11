#include "http/static_file.h"

#include <gtest/gtest.h>

namespace divvy::http {
namespace {

std::string chosen(const char* accept, bool gzip = true, bool brotli = true) {
  const std::string field = accept != nullptr ? accept : "";
  switch (chooseEncoding(accept != nullptr ? &field : nullptr, gzip, brotli)) {
    case Encoding::kIdentity:
      return "identity";
    case Encoding::kGzip:
      return "gzip";
    case Encoding::kBrotli:
      return "br";
    case Encoding::kNone:
      return "none";
  }
  return "?";
}

TEST(StaticFile, AcceptEncoding_PreferredVariantChosen) {
  EXPECT_EQ(chosen(nullptr), "identity");
  EXPECT_EQ(chosen(""), "identity");
  EXPECT_EQ(chosen("gzip, deflate, br, zstd"), "br");
  EXPECT_EQ(chosen("gzip, deflate, br", true, false), "gzip");
  EXPECT_EQ(chosen("gzip, deflate, br", false, false), "identity");
  EXPECT_EQ(chosen("GZIP"), "gzip");
  EXPECT_EQ(chosen("x-gzip"), "gzip");
  EXPECT_EQ(chosen("br;q=0.5, gzip;q=0.8"), "gzip");
  EXPECT_EQ(chosen("br ; q=0.001 ,identity;q=0.002"), "identity");
  EXPECT_EQ(chosen("deflate"), "identity");
  EXPECT_EQ(chosen("*"), "br");
  EXPECT_EQ(chosen("*;q=0.5, br;q=0"), "gzip");
  EXPECT_EQ(chosen("gzip;Q=1.000"), "gzip");
}

TEST(StaticFile, WeightZero_VariantNotSent) {
  EXPECT_EQ(chosen("gzip;q=0, br;q=0.0"), "identity");
  EXPECT_EQ(chosen("gzip;q=0"), "identity");
  EXPECT_EQ(chosen("identity;q=0"), "none");
  EXPECT_EQ(chosen("identity;q=0, gzip"), "gzip");
  EXPECT_EQ(chosen("*;q=0"), "none");
  EXPECT_EQ(chosen("*;q=0, identity"), "identity");
  EXPECT_EQ(chosen("*;q=0, gzip", false, false), "none");
}

TEST(StaticFile, MalformedMember_LeftOut) {
  for (const char* field : {"gzip;q=", "gzip;q=2", "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=-1",
                            "gzip;q=a", "gzip;q=.5", "gz ip", ";q=1", ",,,", "gzip;x=1"})
    EXPECT_EQ(chosen(field), "identity") << field;
}

StaticFile file(bool immutable) {
  return {"text/css", "h1", "plain", "zipped", "brotlied", immutable};
}

Answer answerTo(const StaticFile& file, const char* accept) {
  Query query;
  if (accept != nullptr) query.fields.add("accept-encoding", accept);
  return file.answer(query);
}

std::string fieldOf(const Answer& answer, const char* name) {
  const std::string* value = answer.fields.find(name);
  return value != nullptr ? *value : "absent";
}

TEST(StaticFile, Variants_EachWithItsTag) {
  const Answer plain = answerTo(file(false), nullptr);
  EXPECT_EQ(plain.fixed, "plain");
  EXPECT_EQ(plain.type, "text/css");
  EXPECT_EQ(fieldOf(plain, "ETag"), "\"h1\"");
  EXPECT_EQ(fieldOf(plain, "Cache-Control"), "no-cache");
  EXPECT_EQ(fieldOf(plain, "Vary"), "Accept-Encoding");
  EXPECT_EQ(fieldOf(plain, "Content-Encoding"), "absent");
  const Answer gzip = answerTo(file(true), "gzip");
  EXPECT_EQ(gzip.fixed, "zipped");
  EXPECT_EQ(fieldOf(gzip, "ETag"), "\"h1-gzip\"");
  EXPECT_EQ(fieldOf(gzip, "Content-Encoding"), "gzip");
  EXPECT_EQ(fieldOf(gzip, "Cache-Control"), "public, max-age=31536000, immutable");
  const Answer brotli = answerTo(file(true), "br");
  EXPECT_EQ(brotli.fixed, "brotlied");
  EXPECT_EQ(fieldOf(brotli, "ETag"), "\"h1-br\"");
  EXPECT_EQ(fieldOf(brotli, "Content-Encoding"), "br");
  const Answer none = answerTo(file(true), "*;q=0");
  EXPECT_EQ(none.status, 406u);
  EXPECT_EQ(fieldOf(none, "ETag"), "absent");
}

TEST(StaticFile, NoVariants_NotVarying) {
  const Answer answer = answerTo({"text/css", "h1", "plain"}, "gzip, br");
  EXPECT_EQ(answer.fixed, "plain");
  EXPECT_EQ(fieldOf(answer, "Vary"), "absent");
}

}  // namespace
}  // namespace divvy::http
