#include "file/prune.h"

#include "history/series.h"

namespace divvy::history {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr int kMaxSteps = 64;
constexpr int kMaxReturnedPages = 2'000;

std::int64_t ms(Instant time) {
  return time.time_since_epoch().count();
}

// Runs a statement with numbers for its parameters, and adds the removed rows to `removed`.
bool removeRows(Database& database, std::int64_t& removed, const char* query,
                std::initializer_list<std::int64_t> parameters) {
  Statement statement(database, query);
  for (const std::int64_t parameter : parameters) statement.bind(parameter);
  if (!statement.done()) return false;
  removed += database.changes();
  return true;
}

Result<std::int64_t> bytesInUse(Database& database) {
  const auto pages = database.number("PRAGMA page_count");
  const auto unused = database.number("PRAGMA freelist_count");
  const auto size = database.number("PRAGMA page_size");
  for (const auto* read : {&pages, &unused, &size})
    if (!*read) return read->error();
  return (*pages - *unused) * *size;
}

// Removes the oldest part of a tier of which more than `keep_ms` is there. Returns false for an
// error.
bool removeOldest(Database& database, Tier tier, std::int64_t part_ms, std::int64_t keep_ms,
                  std::int64_t& removed) {
  return removeRows(database, removed,
                    "WITH ends AS (SELECT (SELECT min(start) FROM chunk WHERE tier=?1) AS first,"
                    "(SELECT max(start) FROM chunk WHERE tier=?1) AS last) "
                    "DELETE FROM chunk WHERE tier=?1 AND start<(SELECT first FROM ends)+?2 AND "
                    "(SELECT last-first FROM ends)>=?3",
                    {static_cast<std::int64_t>(tier), part_ms, keep_ms});
}

// One step of pruneBySize. Returns false for an error; `removed` does not grow if nothing is left.
bool removeSome(Database& database, std::int64_t& removed) {
  const std::int64_t before = removed;
  struct Step {
    Tier tier;
    std::int64_t part_ms, keep_ms;
  };
  for (const Step& step : {Step{Tier::kFiveMinutes, 6 * kHourMs, kDayMs},
                           Step{Tier::kHour, 5 * kDayMs, 30 * kDayMs}}) {
    if (!removeOldest(database, step.tier, step.part_ms, step.keep_ms, removed)) return false;
    if (removed != before) return true;
  }
  if (!removeRows(database, removed,
                  "DELETE FROM event WHERE id<=(SELECT min(id)+(max(id)-min(id))/8 FROM event)",
                  {}))
    return false;
  for (const Step& step : {Step{Tier::kFiveMinutes, kHourMs, 0}, Step{Tier::kHour, kDayMs / 2, 0}})
    if (removed == before &&
        !removeOldest(database, step.tier, step.part_ms, step.keep_ms, removed))
      return false;
  if (removed != before) return true;
  return removeRows(database, removed,
                    "DELETE FROM usage WHERE hour<(SELECT min(hour) FROM usage)+24", {});
}

}  // namespace

Result<std::int64_t> pruneByAge(Database& database, Instant now) {
  Transaction transaction(database);
  std::int64_t removed = 0;
  const std::int64_t oldest = ms(now - retentionOf(Tier::kHour));
  const auto tier = [&](Tier which, std::int64_t before) {
    return removeRows(database, removed, "DELETE FROM chunk WHERE tier=? AND start<?",
                      {static_cast<std::int64_t>(which), before});
  };
  const bool done =
      transaction.begun() &&
      removeRows(database, removed, "DELETE FROM minute WHERE time<?",
                 {ms(now - retentionOf(Tier::kMinute))}) &&
      tier(Tier::kFiveMinutes, ms(now - retentionOf(Tier::kFiveMinutes))) &&
      tier(Tier::kHour, oldest) &&
      removeRows(database, removed, "DELETE FROM usage WHERE hour<?", {oldest / kHourMs}) &&
      removeRows(database, removed, "DELETE FROM device_hour WHERE hour<?", {oldest / kHourMs}) &&
      removeRows(database, removed, "DELETE FROM event WHERE time<?", {oldest}) &&
      removeRows(database, removed, "DELETE FROM object WHERE last_seen<?", {oldest}) &&
      removeRows(database, removed, "DELETE FROM series WHERE last<?", {oldest});
  if (!done) return database.error("cannot remove old rows");
  if (auto committed = transaction.commit(); !committed) return std::move(committed).error();
  return removed;
}

Result<std::int64_t> pruneBySize(Database& database, std::int64_t max_bytes) {
  std::int64_t removed = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto used = bytesInUse(database);
    if (!used) return used.error();
    if (*used <= max_bytes) break;
    const std::int64_t before = removed;
    Transaction transaction(database);
    if (!transaction.begun() || !removeSome(database, removed))
      return database.error("cannot remove old rows");
    if (auto committed = transaction.commit(); !committed) return std::move(committed).error();
    if (removed == before) break;
  }
  return removed;
}

Result<void> returnPages(Database& database) {
  return database.run("PRAGMA incremental_vacuum(" + std::to_string(kMaxReturnedPages) + ")");
}

}  // namespace divvy::history
