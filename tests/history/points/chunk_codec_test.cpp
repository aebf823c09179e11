#include "points/chunk_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "points/minute_codec.h"
#include "points/varint.h"

namespace divvy::history {
namespace {

Point drawPoint() {
  if (*rc::gen::inRange(0, 4) == 0) return {};
  const auto mean = *rc::gen::inRange(-kMaxValue, kMaxValue);
  const auto above = *rc::gen::inRange<std::int64_t>(0, 3) == 0
                         ? *rc::gen::inRange<std::int64_t>(0, kMaxValue - mean + 1)
                         : 0;
  return {mean, mean + above, *rc::gen::inRange(1u, kMaxWeight + 1)};
}

std::string drawBytes() {
  const auto bytes =
      *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  return std::string(bytes.begin(), bytes.end());
}

RC_GTEST_PROP(ChunkCodec, RandomPoints_ComeBack, ()) {
  ChunkPoints points;
  for (Point& point : points) point = drawPoint();
  const auto decoded = decodeChunk(encodeChunk(points));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == points);
}

RC_GTEST_PROP(ChunkCodec, RandomBytes_RefusedOrEncodedAgain, ()) {
  const auto points = decodeChunk(drawBytes());
  if (!points) return;
  RC_ASSERT(decodeChunk(encodeChunk(*points)) == points);
}

RC_GTEST_PROP(ChunkCodec, CutBytes_Refused, ()) {
  ChunkPoints points;
  for (Point& point : points) point = drawPoint();
  points[11] = {7, 7, 12};
  const std::string bytes = encodeChunk(points);
  RC_ASSERT(!decodeChunk(std::string_view(bytes).substr(0, bytes.size() - 1)));
  RC_ASSERT(!decodeChunk(bytes + '\0'));
}

TEST(ChunkCodec, SteadyGauge_FewBytes) {
  ChunkPoints points;
  for (Point& point : points) point = {std::int64_t{40} << 30, std::int64_t{40} << 30, 60};
  EXPECT_LE(encodeChunk(points).size(), 22u);
  for (std::size_t at = 0; at < points.size(); ++at) {
    points[at].mean += static_cast<std::int64_t>(at) << 20;
    points[at].max = points[at].mean + 4096;
  }
  EXPECT_LE(encodeChunk(points).size(), 80u);
}

TEST(ChunkCodec, MergedChunks_NewerValuesWin) {
  ChunkPoints older{}, newer{};
  older[0] = {1, 1, 1};
  older[1] = {2, 2, 1};
  newer[1] = {3, 4, 2};
  newer[2] = {5, 5, 1};
  const ChunkPoints merged = mergedChunk(older, newer);
  EXPECT_EQ(merged[0], older[0]);
  EXPECT_EQ(merged[1], newer[1]);
  EXPECT_EQ(merged[2], newer[2]);
  EXPECT_EQ(merged[3].weight, 0u);
}

RC_GTEST_PROP(MinuteCodec, RandomPoints_ComeBack, ()) {
  MinutePoints points;
  for (int left = *rc::gen::inRange(0, 50); left > 0; --left) {
    const Point point = drawPoint();
    if (point.weight != 0) points[*rc::gen::arbitrary<std::uint32_t>()] = point;
  }
  RC_ASSERT(decodeMinute(encodeMinute(points)) == points);
}

RC_GTEST_PROP(MinuteCodec, RandomBytes_RefusedOrEncodedAgain, ()) {
  const auto points = decodeMinute(drawBytes());
  if (!points) return;
  RC_ASSERT(decodeMinute(encodeMinute(*points)) == points);
}

RC_GTEST_PROP(Varint, RandomNumbers_ComeBack, (std::int64_t number)) {
  std::string bytes;
  putVarint(bytes, zigzag(number));
  std::string_view rest = bytes;
  RC_ASSERT(unzigzag(takeVarint(rest).value()) == number);
  RC_ASSERT(rest.empty());
}

}  // namespace
}  // namespace divvy::history
