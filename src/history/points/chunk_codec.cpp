#include "points/chunk_codec.h"

#include "points/varint.h"

namespace divvy::history {
namespace {

constexpr unsigned kFlat = 1;          // each maximum is the mean
constexpr unsigned kCommonWeight = 2;  // all points have the weight of the first

bool within(std::int64_t value) {
  return value >= -kMaxValue && value <= kMaxValue;
}

}  // namespace

std::string encodeChunk(const ChunkPoints& points) {
  unsigned present = 0, flags = kFlat | kCommonWeight;
  std::uint32_t weight = 0;
  for (std::size_t at = 0; at < points.size(); ++at) {
    const Point& point = points[at];
    if (point.weight == 0) continue;
    present |= 1u << at;
    if (point.max != point.mean) flags &= ~kFlat;
    if (weight == 0) weight = point.weight;
    if (point.weight != weight) flags &= ~kCommonWeight;
  }
  std::string bytes;
  putVarint(bytes, (present << 2) | flags);
  if (flags & kCommonWeight) putVarint(bytes, weight);
  std::int64_t before = 0;
  for (const Point& point : points) {
    if (point.weight == 0) continue;
    putVarint(bytes, zigzag(point.mean - before));
    before = point.mean;
    if (!(flags & kFlat)) putVarint(bytes, static_cast<std::uint64_t>(point.max - point.mean));
    if (!(flags & kCommonWeight)) putVarint(bytes, point.weight);
  }
  return bytes;
}

std::optional<ChunkPoints> decodeChunk(std::string_view bytes) {
  ChunkPoints points{};
  const auto head = takeVarint(bytes);
  if (!head || *head >> (kChunkPoints + 2) != 0) return std::nullopt;
  const auto present = static_cast<unsigned>(*head >> 2);
  std::uint64_t common = 0;
  if (*head & kCommonWeight) {
    const auto weight = takeVarint(bytes);
    if (!weight || *weight > kMaxWeight || (present != 0 && *weight == 0)) return std::nullopt;
    common = *weight;
  }
  std::int64_t before = 0;
  for (std::size_t at = 0; at < points.size(); ++at) {
    if (!(present & (1u << at))) continue;
    const auto step = takeVarint(bytes);
    if (!step || *step > 4 * static_cast<std::uint64_t>(kMaxValue)) return std::nullopt;
    before += unzigzag(*step);
    const auto above = *head & kFlat ? 0 : takeVarint(bytes);
    const auto weight = *head & kCommonWeight ? common : takeVarint(bytes);
    if (!above || *above > 2 * static_cast<std::uint64_t>(kMaxValue)) return std::nullopt;
    if (!weight || *weight == 0 || *weight > kMaxWeight) return std::nullopt;
    const Point point{before, before + static_cast<std::int64_t>(*above),
                      static_cast<std::uint32_t>(*weight)};
    if (!within(point.mean) || !within(point.max)) return std::nullopt;
    points[at] = point;
  }
  if (!bytes.empty()) return std::nullopt;
  return points;
}

ChunkPoints mergedChunk(const ChunkPoints& older, const ChunkPoints& newer) {
  ChunkPoints merged = older;
  for (std::size_t at = 0; at < merged.size(); ++at)
    if (newer[at].weight != 0) merged[at] = newer[at];
  return merged;
}

}  // namespace divvy::history
