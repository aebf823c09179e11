#include "points/series_table.h"

#include <algorithm>

namespace divvy::history {
namespace {

constexpr Span kMinute{60'000};
constexpr Span kFive{300'000};
constexpr Span kHour{3'600'000};
constexpr Span kDay = 24 * kHour;
// A series without a value for this long is no longer live.
constexpr Span kForget = kDay;

bool isMultiple(Instant time, Span step) {
  return floorTo(time, step) == time;
}

Instant ceilTo(Instant time, Span step) {
  const Instant floor = floorTo(time, step);
  return floor == time ? time : floor + step;
}

}  // namespace

SeriesTable::SeriesTable(Instant now, std::size_t max_series)
    : max_series_(max_series), closed_until_(floorTo(now - kGrace, kMinute)), steady_from_(now) {}

std::optional<std::uint32_t> SeriesTable::find(const SeriesKey& key) const {
  const auto found = ids_.find(key);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

bool SeriesTable::insert(std::uint32_t id, const SeriesKey& key, SeriesType type) {
  if (entries_.size() >= max_series_) return false;
  ids_.emplace(key, id);
  entries_.emplace(id, Entry{key, Rollup(type), closed_until_});
  return true;
}

void SeriesTable::add(Instant now, Instant time, std::uint32_t id, std::int64_t value) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    ++counts_.unknown;
  } else if (time > now + kMaxAhead) {
    ++counts_.future;
  } else if (time < closed_until_ || !found->second.rollup.add(time, value)) {
    ++counts_.late;
  } else {
    newest_minute_ = std::max(newest_minute_, floorTo(time, kMinute));
  }
}

bool SeriesTable::advance(Instant now, Batch& batch) {
  if (now + kJump < closed_until_) {
    rewind(now, batch);
    return true;
  }
  const Instant target = floorTo(now - kGrace, kMinute);
  if (target <= closed_until_) return false;
  if (target > closed_until_ + kJump) {
    ++counts_.clock_jumps;
    steady_from_ = now;
  }
  while (closed_until_ < target) {
    if (closed_until_ <= newest_minute_) {
      closeOneMinute(batch);
    } else {
      const Span step = five_open_ ? kFive : hour_open_ ? kHour : Rollup::kBlock;
      const bool open = five_open_ || hour_open_ || block_open_;
      const Instant next = open ? ceilTo(closed_until_ + kMinute, step) : target;
      if (next > target) {
        closed_until_ = target;
        break;
      }
      closed_until_ = next;
    }
    // Not `now`: a clock that went ahead must not make a series look old before it is written.
    closeBoundaries(closed_until_, batch);
  }
  return true;
}

void SeriesTable::closeOneMinute(Batch& batch) {
  MinutePoints points;
  for (auto& [id, entry] : entries_) {
    const Point point = entry.rollup.closeMinute(closed_until_);
    if (point.weight != 0) points.emplace_hint(points.end(), id, point);
  }
  if (!points.empty()) {
    batch.minutes[closed_until_] = encodeMinute(points);
    five_open_ = true;
  }
  closed_until_ += kMinute;
}

void SeriesTable::closeBoundaries(Instant now, Batch& batch) {
  if (!isMultiple(closed_until_, kFive)) return;
  if (five_open_) {
    for (auto& [id, entry] : entries_) entry.rollup.closeFiveMinutes(closed_until_ - kFive);
    five_open_ = false;
    hour_open_ = true;
  }
  if (isMultiple(closed_until_, kHour)) closeHours(now, closed_until_ - kHour, batch);
  if (isMultiple(closed_until_, Rollup::kBlock)) closeBlocks(closed_until_ - Rollup::kBlock, batch);
}

void SeriesTable::closeHours(Instant now, Instant start, Batch& batch) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    auto& [id, entry] = *at;
    if (auto bytes = entry.rollup.closeHour(start))
      batch.chunks.push_back({Tier::kFiveMinutes, start, id, std::move(*bytes)});
    entry.rollup.trim(now);
    const Instant last = std::max(entry.rollup.last(), entry.created);
    if (const Instant day = floorTo(last, kDay); day != entry.seen_day) {
      entry.seen_day = day;
      batch.seen[id] = last;
    }
    if (last + kForget < now) {
      ids_.erase(entry.key);
      at = entries_.erase(at);
    } else {
      ++at;
    }
  }
  block_open_ = block_open_ || hour_open_;
  hour_open_ = false;
}

void SeriesTable::closeBlocks(Instant start, Batch& batch) {
  for (auto& [id, entry] : entries_)
    if (auto bytes = entry.rollup.closeBlock())
      batch.chunks.push_back({Tier::kHour, start, id, std::move(*bytes)});
  block_open_ = false;
}

void SeriesTable::rewind(Instant now, Batch& batch) {
  while (closed_until_ <= newest_minute_) closeOneMinute(batch);
  const Instant end = closed_until_;
  for (auto& [id, entry] : entries_) entry.rollup.closeFiveMinutes(floorTo(end - kMinute, kFive));
  closeHours(end, floorTo(end - kMinute, kHour), batch);
  closeBlocks(floorTo(end - kMinute, Rollup::kBlock), batch);
  for (auto& [id, entry] : entries_) {
    entry.rollup.clear();
    entry.created = now;
  }
  five_open_ = hour_open_ = block_open_ = false;
  newest_minute_ = Instant::min();
  closed_until_ = floorTo(now - kGrace, kMinute);
  steady_from_ = now;
  ++counts_.clock_jumps;
}

void SeriesTable::openMinutes(Batch& batch) const {
  for (Instant minute = closed_until_; minute <= newest_minute_; minute += kMinute) {
    MinutePoints points;
    for (const auto& [id, entry] : entries_) {
      const Point point = entry.rollup.openMinute(minute);
      if (point.weight != 0) points.emplace_hint(points.end(), id, point);
    }
    if (!points.empty()) batch.minutes[minute] = encodeMinute(points);
  }
}

void SeriesTable::restoreHour(Instant hour, std::uint32_t id, const ChunkPoints& points) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  found->second.rollup.restoreHour(hour, points);
  block_open_ = true;
}

void SeriesTable::restoreMinute(Instant minute, const MinutePoints& points, Batch& batch) {
  const bool only_memory = minute < closed_until_;
  if (!only_memory) {
    for (; closed_until_ < minute; closed_until_ += kMinute) closeBoundaries(minute, batch);
    closeBoundaries(minute, batch);
  }
  for (const auto& [id, point] : points) {
    const auto found = entries_.find(id);
    if (found != entries_.end()) found->second.rollup.restoreMinute(minute, point, only_memory);
  }
  if (only_memory) return;
  five_open_ = true;
  closed_until_ += kMinute;
}

void SeriesTable::resumeMinute(Instant minute, const MinutePoints& points) {
  for (const auto& [id, point] : points) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    found->second.rollup.resume(minute, point);
    newest_minute_ = std::max(newest_minute_, minute);
  }
}

void SeriesTable::finishRestore(Instant now, Batch& batch) {
  // The boundary at the end of the last minute.
  closeBoundaries(now, batch);
  advance(now, batch);
  counts_ = {};
  steady_from_ = now;
}

std::vector<SeriesKey> SeriesTable::keysOf(const std::string& kind,
                                           const std::string& object) const {
  std::vector<SeriesKey> keys;
  for (auto at = ids_.lower_bound({kind, object, ""}); at != ids_.end(); ++at) {
    if (at->first.kind != kind || at->first.object != object) break;
    keys.push_back(at->first);
  }
  return keys;
}

void SeriesTable::read(std::uint32_t id, Tier tier, Instant from, Instant to,
                       const PointSink& sink) const {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.rollup.read(tier, from, to, sink);
}

}  // namespace divvy::history
