#include "file/schema.h"

#include <sqlite3.h>

#include <array>
#include <chrono>

namespace divvy::history {
namespace {

// "dvhi", in the file's header.
constexpr std::int64_t kApplication = 0x64766869;
constexpr std::int64_t kPage = 4096;

// Each entry makes the version of its place, counted from 1. Entries never change.
constexpr std::array<const char*, kSchemaVersion> kMigrations{
    // A chunk's or minute's time comes first in the key: rows are written in the order of time.
    R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, object TEXT NOT NULL,
  metric TEXT NOT NULL, type INTEGER NOT NULL, last INTEGER NOT NULL,
  UNIQUE(kind, object, metric));
CREATE TABLE minute(time INTEGER PRIMARY KEY, points BLOB NOT NULL);
CREATE TABLE chunk(tier INTEGER NOT NULL, start INTEGER NOT NULL, series INTEGER NOT NULL,
  points BLOB NOT NULL, PRIMARY KEY(tier, start, series)) WITHOUT ROWID;
CREATE TABLE usage(hour INTEGER NOT NULL, share TEXT NOT NULL, device TEXT NOT NULL,
  price INTEGER NOT NULL, seconds INTEGER NOT NULL, device_ns INTEGER NOT NULL,
  promised_byte_seconds INTEGER NOT NULL, used_byte_seconds INTEGER NOT NULL,
  promised_compute_milli_seconds INTEGER NOT NULL, throttled_ms INTEGER NOT NULL,
  paused_ms INTEGER NOT NULL, PRIMARY KEY(hour, share, device, price)) WITHOUT ROWID;
CREATE TABLE event(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
  kind TEXT NOT NULL, object TEXT NOT NULL, actor TEXT NOT NULL, text TEXT NOT NULL,
  json TEXT NOT NULL);
CREATE TABLE object(uid TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
  namespace TEXT NOT NULL, team TEXT NOT NULL, queue TEXT NOT NULL, owner TEXT NOT NULL,
  image TEXT NOT NULL, model TEXT NOT NULL, first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX event_time ON event(time);
)",
    R"(
CREATE TABLE device_hour(hour INTEGER NOT NULL, device TEXT NOT NULL, price INTEGER NOT NULL,
  seconds INTEGER NOT NULL, byte_seconds INTEGER NOT NULL,
  PRIMARY KEY(hour, device, price)) WITHOUT ROWID;
CREATE INDEX event_object ON event(object, time);
CREATE INDEX object_last_seen ON object(last_seen);
)"};

Result<void> migrateOnce(Database& database, int version, std::uint64_t epoch) {
  Transaction transaction(database);
  if (!transaction.begun()) return database.error("cannot write the history's file");
  const auto at = static_cast<std::size_t>(version);
  std::string statements = kMigrations[at];
  statements += "PRAGMA user_version=" + std::to_string(version + 1) + ";";
  if (version == 0) {
    statements += "PRAGMA application_id=" + std::to_string(kApplication) + ";";
    statements += "INSERT INTO meta VALUES('epoch','" + std::to_string(epoch) + "');";
  }
  if (auto done = database.run(statements); !done) return done;
  return transaction.commit();
}

}  // namespace

Result<int> readVersion(Database& database) {
  const auto application = database.number("PRAGMA application_id");
  const auto version = database.number("PRAGMA user_version");
  const auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  for (const auto* read : {&application, &version, &tables})
    if (!*read) return read->error();
  const bool is_new = *tables == 0 && *version == 0 && *application == 0;
  if (!is_new && *application != kApplication)
    return Error(ErrorCode::kUnsupported,
                 "the file is a database of another program; choose another file for the history");
  if (*version > kSchemaVersion || *version < 0)
    return Error(ErrorCode::kUnsupported,
                 "the history's schema is version " + std::to_string(*version) +
                     ", of a newer program; this one reads versions up to " +
                     std::to_string(kSchemaVersion));
  return static_cast<int>(*version);
}

Result<void> configureWriter(Database& database, std::int64_t max_bytes) {
  // auto_vacuum only takes effect before the first table.
  return database.run(
      "PRAGMA page_size=" + std::to_string(kPage) +
      ";PRAGMA auto_vacuum=INCREMENTAL;PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;"
      "PRAGMA journal_size_limit=16777216;PRAGMA temp_store=MEMORY;PRAGMA cache_size=-8192;"
      "PRAGMA max_page_count=" +
      std::to_string(max_bytes / kPage));
}

Result<void> migrate(Database& database, int version, std::uint64_t epoch) {
  for (int at = version; at < kSchemaVersion; ++at)
    if (auto done = migrateOnce(database, at, epoch); !done) return done;
  return {};
}

Result<void> checkStructure(Database& database, int budget_ms) {
  using Steady = std::chrono::steady_clock;
  Steady::time_point deadline = Steady::now() + std::chrono::milliseconds(budget_ms);
  const auto late = [](void* at) {
    return Steady::now() > *static_cast<Steady::time_point*>(at) ? 1 : 0;
  };
  sqlite3_progress_handler(database.handle(), 10'000, late, &deadline);
  const auto found = database.text("PRAGMA quick_check(1)");
  const bool interrupted = sqlite3_errcode(database.handle()) == SQLITE_INTERRUPT;
  sqlite3_progress_handler(database.handle(), 0, nullptr, nullptr);
  if (interrupted) return {};
  if (!found) return found.error();
  if (*found != "ok") return Error(ErrorCode::kCorrupt, "the file's check says: " + *found);
  return {};
}

}  // namespace divvy::history
