#include "points/minute_codec.h"

#include "points/varint.h"

namespace divvy::history {
namespace {

constexpr std::uint64_t kFlat = 1;        // the maximum is the mean
constexpr std::uint64_t kFullMinute = 2;  // the weight is that of a whole minute
constexpr std::uint32_t kMinuteWeight = 12;

}  // namespace

std::string encodeMinute(const MinutePoints& points) {
  std::string bytes;
  std::uint32_t before = 0;
  for (const auto& [series, point] : points) {
    if (point.weight == 0) continue;
    const std::uint64_t flags =
        (point.max == point.mean ? kFlat : 0) | (point.weight == kMinuteWeight ? kFullMinute : 0);
    putVarint(bytes, (static_cast<std::uint64_t>(series - before) << 2) | flags);
    before = series;
    putVarint(bytes, zigzag(point.mean));
    if (!(flags & kFlat)) putVarint(bytes, static_cast<std::uint64_t>(point.max - point.mean));
    if (!(flags & kFullMinute)) putVarint(bytes, point.weight);
  }
  return bytes;
}

std::optional<MinutePoints> decodeMinute(std::string_view bytes) {
  constexpr auto kRange = static_cast<std::uint64_t>(kMaxValue);
  MinutePoints points;
  std::uint64_t series = 0;
  while (!bytes.empty()) {
    const auto head = takeVarint(bytes);
    if (!head || *head >> 2 > UINT32_MAX) return std::nullopt;
    series += *head >> 2;
    const auto mean = takeVarint(bytes);
    if (series > UINT32_MAX || !mean || *mean > 2 * kRange) return std::nullopt;
    const auto above = *head & kFlat ? 0 : takeVarint(bytes);
    const auto weight = *head & kFullMinute ? kMinuteWeight : takeVarint(bytes);
    if (!above || *above > 2 * kRange || !weight || *weight == 0 || *weight > kMaxWeight)
      return std::nullopt;
    const std::int64_t value = unzigzag(*mean);
    if (value + static_cast<std::int64_t>(*above) > kMaxValue) return std::nullopt;
    points[static_cast<std::uint32_t>(series)] = {value, value + static_cast<std::int64_t>(*above),
                                                  static_cast<std::uint32_t>(*weight)};
  }
  return points;
}

}  // namespace divvy::history
