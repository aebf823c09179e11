#include "kube/resize_request.h"

#include <gtest/gtest.h>

namespace divvy::kube {
namespace {

TEST(ResizeRequest, Encoded_DecodedAsBefore) {
  for (const ResizeRequest& one :
       {ResizeRequest{"a1-B", "main", 6144, 40, "high"}, ResizeRequest{"x", "c", 1, {}, ""},
        ResizeRequest{"x", "c", {}, 100, ""}, ResizeRequest{"x", "c", {}, {}, "low"}}) {
    const Result<ResizeRequest> again = decodeShareChange(encode(one));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, one);
  }
}

TEST(ResizeRequest, MalformedText_ErrorNamesMember) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"[]", "not an object"},
      {R"({"container":"c","cores":10})", ".id"},
      {R"({"id":"a b","container":"c","cores":10})", ".id"},
      {R"({"id":"x","cores":10})", ".container"},
      {R"({"id":"x","container":"c"})", "memoryMiB, cores and priority"},
      {R"({"id":"x","container":"c","cores":0})", "1 to 100"},
      {R"({"id":"x","container":"c","cores":101})", "1 to 100"},
      {R"({"id":"x","container":"c","cores":-1})", "1 to 100"},
      {R"({"id":"x","container":"c","memoryMiB":0})", ".memoryMiB"},
      {R"({"id":"x","container":"c","memoryMiB":18446744073709551615})", ".memoryMiB"},
      {R"({"id":"x","container":"c","memoryMiB":"6Gi"})", ".memoryMiB"},
      {R"({"id":"x","container":"c","memoryMiB":1.5})", ".memoryMiB"}};
  for (const auto& [text, part] : cases) {
    const Result<ResizeRequest> read = decodeShareChange(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorrupt) << text;
    EXPECT_NE(read.error().message().find(part), std::string::npos)
        << text << ": " << read.error().message();
  }
}

TEST(ResizeRequest, StatesAndResults_DecodedAsBeforeOrRefused) {
  for (const ResizeState& one :
       {ResizeState{"x",
                    "t-1",
                    {"x", "main", 4000, 40, "high"},
                    "uid/3",
                    ResizePhase::kAdmitted,
                    "",
                    "",
                    "GPU-a,NVIDIA,4000,40:;",
                    1'795'000'000},
        ResizeState{"x", "", {}, "", ResizePhase::kRefused, "NoRoom", "why \"so\"", "", 0},
        ResizeState{"x", "", {}, "", ResizePhase::kDone, "", "", "", 0}}) {
    const Result<ResizeState> again = decodeChangeState(encode(one));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, one);
  }
  const ChangeResults results{{"x", {true, "", ""}}, {"y", {false, "NoRoom", "it uses 2 GiB"}}};
  const Result<ChangeResults> again = decodeChangeResults(encode(results));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, results);
  EXPECT_FALSE(decodeChangeState(R"({"id":"x","phase":"admitted"})")) << "of what?";
  EXPECT_FALSE(decodeChangeState(R"({"id":"x","phase":"admitted","assignment":"a",)"
                                 R"("change":{"id":"x","container":"c","cores":1}})"))
      << "nobody's";
  EXPECT_FALSE(decodeChangeState(R"({"id":"x","phase":"admitted","assignment":"a","token":"t"})"));
  EXPECT_FALSE(decodeChangeState(R"({"id":"x","phase":"perhaps"})"));
  EXPECT_FALSE(decodeChangeResults(R"({"x":7})"));
  EXPECT_FALSE(decodeChangeResults(R"({"":{"done":true}})"));
  EXPECT_FALSE(decodeChangeResults("[]"));
}

}  // namespace
}  // namespace divvy::kube
