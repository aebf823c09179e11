#include "file/restore.h"

#include "points/chunk_codec.h"

namespace divvy::history {
namespace {

constexpr Span kMinute{60'000};
constexpr Span kHour{3'600'000};
constexpr Span kDay = 24 * kHour;

std::int64_t ms(Instant time) {
  return time.time_since_epoch().count();
}
Instant instant(std::int64_t ms) {
  return Instant(Span(ms));
}

// Series that may have had a value lately: the time of the last one is written once a day.
Result<void> restoreSeries(Database& database, Instant last, SeriesTable& table) {
  Statement select(database, "SELECT id,kind,object,metric,type FROM series WHERE last>=?");
  select.bind(ms(last - 2 * kDay));
  auto step = select.step();
  for (; step == Statement::Step::kRow; step = select.step()) {
    const SeriesKey key{select.text(1), select.text(2), select.text(3)};
    table.insert(static_cast<std::uint32_t>(select.number(0)), key,
                 select.number(4) == 0 ? SeriesType::kGauge : SeriesType::kCounter);
  }
  if (step == Statement::Step::kFailed) return database.error("cannot read series");
  return {};
}

// The hours of the half day before `hour`, of which hour points are made.
Result<void> restoreHours(Database& database, Instant hour, SeriesTable& table) {
  Statement select(database,
                   "SELECT start,series,points FROM chunk WHERE tier=? AND start>=? AND start<? "
                   "ORDER BY start,series");
  select.bind(static_cast<std::int64_t>(Tier::kFiveMinutes));
  select.bind(ms(floorTo(hour, Rollup::kBlock))).bind(ms(hour));
  auto step = select.step();
  for (; step == Statement::Step::kRow; step = select.step()) {
    const auto points = decodeChunk(select.bytes(2));
    if (points)
      table.restoreHour(instant(select.number(0)), static_cast<std::uint32_t>(select.number(1)),
                        *points);
  }
  if (step == Statement::Step::kFailed) return database.error("cannot read chunks");
  return {};
}

}  // namespace

Result<void> restoreTable(Database& database, Instant now, SeriesTable& table, Batch& batch) {
  // Minutes from here on have not ended, unless the clock is behind by less than a jump.
  Instant open_from = table.closedUntil();
  const auto newest = database.number("SELECT coalesce(max(time),0) FROM minute");
  if (!newest) return newest.error();
  if (*newest == 0) return {};
  const bool is_behind = instant(*newest) > open_from + kMinute;
  if (is_behind && instant(*newest) <= now + SeriesTable::kJump)
    open_from = instant(*newest) + kMinute;
  const auto last = database.number("SELECT coalesce(max(time),0) FROM minute WHERE time<" +
                                    std::to_string(ms(open_from)));
  if (!last) return last.error();
  const Instant last_closed = *last == 0 ? open_from - kMinute : instant(*last);
  if (auto done = restoreSeries(database, last_closed, table); !done) return done;
  const Instant hour = floorTo(last_closed, kHour);
  table.restoreFrom(hour);
  if (auto done = restoreHours(database, hour, table); !done) return done;

  Statement select(database,
                   "SELECT time,points FROM minute WHERE time>=? AND time<=? ORDER BY time");
  select.bind(ms(std::min(hour, now - retentionOf(Tier::kMinute)))).bind(ms(open_from + kMinute));
  auto step = select.step();
  for (; step == Statement::Step::kRow; step = select.step()) {
    const Instant minute = instant(select.number(0));
    const auto points = decodeMinute(select.bytes(1));
    if (!points) continue;
    if (minute < open_from) {
      table.restoreMinute(minute, *points, batch);
    } else {
      table.resumeMinute(minute, *points);
    }
  }
  if (step == Statement::Step::kFailed) return database.error("cannot read minutes");
  table.finishRestore(now, batch);
  return {};
}

Result<std::uint32_t> firstFreeId(Database& database) {
  const auto largest = database.number("SELECT coalesce(max(id),0) FROM series");
  if (!largest) return largest.error();
  if (*largest >= UINT32_MAX)
    return Error(ErrorCode::kCorrupt, "series have IDs beyond the largest one");
  return static_cast<std::uint32_t>(*largest + 1);
}

}  // namespace divvy::history
