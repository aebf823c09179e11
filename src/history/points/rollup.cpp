#include "points/rollup.h"

#include <algorithm>

namespace divvy::history {
namespace {

constexpr Span kSlot{5'000};
constexpr Span kMinute{60'000};
constexpr Span kFive{300'000};
constexpr Span kHour{3'600'000};

}  // namespace

bool Rollup::add(Instant time, std::int64_t value) {
  if (time <= last_) return false;
  last_ = time;
  if (type_ == SeriesType::kCounter) {
    const auto increase = readings_.next(time, value);
    if (!increase) return true;
    value = milliPerSecond(*increase);
  }
  value = std::clamp(value, -kMaxValue, kMaxValue);
  const Instant slot = floorTo(time, kSlot);
  if (slot != slot_.start) closeSlot();
  slot_.start = slot;
  slot_.bucket.merge({value, value, 1});
  return true;
}

// A slot counts once, however many values it has.
void Rollup::closeSlot() {
  if (slot_.bucket.empty()) return;
  Point point = slot_.bucket.point();
  point.weight = 1;
  seconds_.put(slot_.start, point);
  const Instant minute = floorTo(slot_.start, kMinute);
  if (minute != minute_.start) closeOpenMinute();
  minute_.start = minute;
  minute_.bucket.merge(point);
  slot_.bucket.clear();
}

void Rollup::closeOpenMinute() {
  if (!minute_.bucket.empty()) ended_minute_ = minute_;
  minute_.bucket.clear();
}

void Rollup::resume(Instant minute, const Point& point) {
  if (minute != minute_.start) closeOpenMinute();
  minute_.start = minute;
  minute_.bucket.merge(point);
}

Point Rollup::openMinute(Instant minute) const {
  Bucket bucket;
  for (const Timed* part : {&ended_minute_, &minute_})
    if (part->start == minute) bucket.merge(part->bucket.point());
  if (floorTo(slot_.start, kMinute) == minute) {
    Point point = slot_.bucket.point();
    point.weight = point.weight != 0;
    bucket.merge(point);
  }
  return bucket.point();
}

Point Rollup::closeMinute(Instant minute) {
  if (slot_.start < minute + kMinute) closeSlot();
  if (minute_.start == minute) closeOpenMinute();
  if (ended_minute_.bucket.empty() || ended_minute_.start != minute) return {};
  const Point point = ended_minute_.bucket.point();
  ended_minute_.bucket.clear();
  restoreMinute(minute, point, false);
  return point;
}

void Rollup::restoreMinute(Instant minute, const Point& point, bool only_memory) {
  if (point.weight == 0) return;
  minutes_.put(minute, point);
  last_ = std::max(last_, minute);
  if (only_memory) return;
  five_.start = floorTo(minute, kFive);
  five_.bucket.merge(point);
}

void Rollup::closeFiveMinutes(Instant start) {
  if (five_.bucket.empty()) return;
  const Point point = five_.bucket.point();
  five_minutes_.put(start, kFive, point);
  hour_.start = floorTo(start, kHour);
  hour_.bucket.merge(point);
  five_.bucket.clear();
}

void Rollup::restoreHour(Instant hour, const ChunkPoints& points) {
  Bucket bucket;
  for (const Point& point : points) bucket.merge(point);
  if (!bucket.empty()) hours_.put(hour, kHour, bucket.point());
}

std::optional<std::string> Rollup::closeHour(Instant start) {
  if (!hour_.bucket.empty()) hours_.put(start, kHour, hour_.bucket.point());
  hour_.bucket.clear();
  if (five_minutes_.empty) return std::nullopt;
  sealed_five_minutes_ = {five_minutes_.start, encodeChunk(five_minutes_.points)};
  five_minutes_.clear();
  return sealed_five_minutes_.bytes;
}

std::optional<std::string> Rollup::closeBlock() {
  if (hours_.empty) return std::nullopt;
  sealed_hours_ = {hours_.start, encodeChunk(hours_.points)};
  hours_.clear();
  return sealed_hours_.bytes;
}

void Rollup::readSealed(const Sealed& sealed, Span step, Instant from, Instant to,
                        const PointSink& sink) {
  if (sealed.bytes.empty()) return;
  OpenChunk{sealed.start, decodeChunk(sealed.bytes).value(), false}.read(step, from, to, sink);
}

void Rollup::read(Tier tier, Instant from, Instant to, const PointSink& sink) const {
  const auto current = [&](const Timed& timed) {
    if (!timed.bucket.empty() && timed.start >= from && timed.start < to)
      sink(timed.start, timed.bucket.point());
  };
  switch (tier) {
    case Tier::kFiveSeconds:
      seconds_.read(from, to, sink);
      current(slot_);
      return;
    case Tier::kMinute:
      minutes_.read(from, to, sink);
      current(ended_minute_);
      current(minute_);
      return;
    case Tier::kFiveMinutes:
      readSealed(sealed_five_minutes_, kFive, from, to, sink);
      five_minutes_.read(kFive, from, to, sink);
      current(five_);
      return;
    case Tier::kHour:
      readSealed(sealed_hours_, kHour, from, to, sink);
      hours_.read(kHour, from, to, sink);
      current(hour_);
  }
}

void Rollup::trim(Instant now) {
  seconds_.trim(now);
  minutes_.trim(now);
  if (sealed_five_minutes_.start + 3 * kHour <= now) sealed_five_minutes_ = {};
  if (sealed_hours_.start + kBlock + 3 * kHour <= now) sealed_hours_ = {};
}

void Rollup::clear() {
  *this = Rollup(type_);
}

}  // namespace divvy::history
