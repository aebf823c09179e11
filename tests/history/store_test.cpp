#include "history/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "file/database.h"
#include "file/schema.h"
#include "store_fixture.h"

namespace divvy::history {
namespace {

TEST(Store, GapBetweenValues_NothingNotZero) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  const SeriesId id = gauge(store, "a");
  put(store, clock, kBegin, id, 100);
  put(store, clock, kBegin + 5 * kSecond, id, 0);
  put(store, clock, kBegin + 20 * kSecond, id, 300);
  clock.set(kBegin + 25 * kSecond);
  const auto read = readOne(store, "a", kBegin, kBegin + 25 * kSecond, 100);
  EXPECT_EQ(read.tier, Tier::kFiveSeconds);
  EXPECT_EQ(read.step, 5 * kSecond);
  ASSERT_EQ(read.columns.size(), 1u);
  EXPECT_EQ(read.columns[0].mean, (Values{100, 0, std::nullopt, std::nullopt, 300}));
  EXPECT_EQ(read.times.front(), kBegin);
}

TEST(Store, SeveralSeries_CommonTimes) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  put(store, clock, kBegin, gauge(store, "a"), 1);
  put(store, clock, kBegin + 5 * kSecond, gauge(store, "b"), 2);
  const std::vector<SeriesKey> keys{keyOf("a"), keyOf("b"), keyOf("never")};
  const auto read = store.read(keys, {kBegin, kBegin + 10 * kSecond, 100}).value();
  ASSERT_EQ(read.columns.size(), 3u);
  EXPECT_EQ(read.columns[0].mean, (Values{1, std::nullopt}));
  EXPECT_EQ(read.columns[1].mean, (Values{std::nullopt, 2}));
  EXPECT_FALSE(read.columns[2].known);
  EXPECT_EQ(read.columns[2].max, (Values{std::nullopt, std::nullopt}));
}

TEST(Store, WrongArguments_Refused) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  const SeriesKey key = keyOf("a");
  EXPECT_EQ(store.read({&key, 1}, {kBegin, kBegin, 10}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(store.read({&key, 1}, {kBegin, kBegin + kHour, 1}).error().code(), ErrorCode::kUsage);
  EXPECT_EQ(store.series({"share", "", "x"}, SeriesType::kGauge).error().code(), ErrorCode::kUsage);
  StoreOptions options = optionsOf("", clock);
  options.max_bytes = kib(1);
  EXPECT_EQ(Store::open(options).error().code(), ErrorCode::kUsage);
  options = optionsOf("", clock);
  options.max_series = 1;
  Store small = mustOpen(options);
  gauge(small, "a");
  EXPECT_EQ(small.series(keyOf("b"), SeriesType::kGauge).error().code(), ErrorCode::kNoRoom);
}

TEST(Store, FolderIsMissing_NamesIt) {
  TestClock clock;
  TestFolder folder;
  const auto opened = Store::open(optionsOf(folder.file() + "/no/history.db", clock));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kIo);
  EXPECT_NE(opened.error().message().find("no/history.db"), std::string::npos);
}

TEST(Store, SecondProcess_RefusedWithTheFirstOnesId) {
  TestClock clock;
  TestFolder folder;
  std::optional<Store> first(mustOpen(optionsOf(folder.file(), clock)));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    TestClock own;
    const auto opened = Store::open(optionsOf(folder.file(), own));
    const std::string text = opened ? "opened" : opened.error().message();
    const bool is_right = !opened && opened.error().code() == ErrorCode::kUnavailable;
    _exit(write(pipes[1], text.data(), text.size()) > 0 && is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  char text[512] = {};
  ASSERT_GT(read(pipes[0], text, sizeof text - 1), 0);
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(std::string(text).find("process " + std::to_string(getpid())), std::string::npos);
  first.reset();
  EXPECT_TRUE(Store::open(optionsOf(folder.file(), clock)));
}

void overwrite(const std::string& path, std::streamoff at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << bytes;
  ASSERT_TRUE(file.good());
}

void expectMovedAside(TestFolder& folder, TestClock& clock) {
  Store store = mustOpen(optionsOf(folder.file(), clock));
  EXPECT_NE(store.opened().damaged, "");
  EXPECT_EQ(store.opened().moved_aside, folder.file() + ".damaged-20260101T000000Z");
  EXPECT_TRUE(std::filesystem::exists(store.opened().moved_aside));
  EXPECT_TRUE(store.events({}).value().empty());
  store.append(Event{kBegin, "change", "o", "a", "t", ""});
  EXPECT_TRUE(store.flush());
  EXPECT_EQ(store.events({}).value().size(), 1u);
}

TEST(Store, FileOfOtherBytes_MovedAside) {
  TestClock clock;
  TestFolder folder;
  std::ofstream(folder.file()) << std::string(8192, 'x');
  expectMovedAside(folder, clock);
}

TEST(Store, OverwrittenPages_MovedAside) {
  TestClock clock;
  TestFolder folder;
  {
    Store store = mustOpen(optionsOf(folder.file(), clock));
    for (int at = 0; at < 200; ++at)
      store.append(Event{kBegin + at * kSecond, "change", "o", "a", std::string(300, 'a'), ""});
    ASSERT_TRUE(store.flush());
    ASSERT_EQ(store.opened().damaged, "");
  }
  for (int page = 1; page < 20; ++page)
    overwrite(folder.file(), 4096 * page, std::string(3000, '?'));
  expectMovedAside(folder, clock);
}

// The check of a large file is cut short; a read notes the damage for the next start.
TEST(Store, DamageNotedByEarlierProcess_MovedAside) {
  TestClock clock;
  TestFolder folder;
  { Store store = mustOpen(optionsOf(folder.file(), clock)); }
  std::ofstream(folder.file() + ".damaged") << "a chunk cannot be decoded";
  expectMovedAside(folder, clock);
  EXPECT_FALSE(std::filesystem::exists(folder.file() + ".damaged"));
}

TEST(Store, NewerSchema_RefusedAndKept) {
  TestClock clock;
  TestFolder folder;
  { Store store = mustOpen(optionsOf(folder.file(), clock)); }
  auto database = Database::open(folder.file(), false);
  ASSERT_TRUE(database->run("PRAGMA user_version=99"));
  const auto opened = Store::open(optionsOf(folder.file(), clock));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(database->number("PRAGMA user_version").value(), 99);
}

TEST(Store, DatabaseOfAnotherProgram_RefusedAndKept) {
  TestClock clock;
  TestFolder folder;
  auto database = Database::open(folder.file(), false);
  ASSERT_TRUE(database->run("CREATE TABLE mail(text)"));
  const auto opened = Store::open(optionsOf(folder.file(), clock));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(database->text("PRAGMA journal_mode").value(), "delete");
}

// As version 1 wrote it; never changed.
constexpr const char* kVersion1 = R"(
PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL;
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
PRAGMA application_id=1685481577; PRAGMA user_version=1;
INSERT INTO meta VALUES('epoch','4242');
INSERT INTO series VALUES(7,'share','old','memory_used_bytes',0,1767222000000);
INSERT INTO chunk VALUES(2,1767222000000,7,x'0f3ca80f0f');
INSERT INTO usage VALUES(490895,'old','gpu',1,3600,5,6,7,8,9,10);
INSERT INTO event VALUES(1,1767222000000,'change','old','alice','resized','');
)";

TEST(Store, OlderSchema_MigratedWithItsRows) {
  TestClock clock;
  TestFolder folder;
  ASSERT_TRUE(Database::open(folder.file(), false)->run(kVersion1));
  Store store = mustOpen(optionsOf(folder.file(), clock));
  EXPECT_EQ(store.opened().migrated_from, 1);
  EXPECT_EQ(store.epoch(), 4242u);
  EXPECT_EQ(store.events({.object = "old"}).value().at(0).event.actor, "alice");
  const auto read = readOne(store, "old", kBegin - kHour, kBegin, 12);
  EXPECT_EQ(read.tier, Tier::kFiveMinutes);
  ASSERT_EQ(read.columns.at(0).mean.size(), 12u);
  EXPECT_EQ(read.columns[0].mean[0], 980);
  EXPECT_EQ(read.columns[0].mean[1], 972);
  EXPECT_FALSE(read.columns[0].mean[2]);
  EXPECT_TRUE(store.addDevice({"gpu", 1, kBegin, kBegin + kMinute, 100}));
  ASSERT_TRUE(store.flush());
  int rows = 0;
  ASSERT_TRUE(store.devices(0, 1'000'000, [&](const DeviceHour& row) {
    EXPECT_EQ(row.byte_seconds, 6'000);
    return ++rows < 10;
  }));
  EXPECT_EQ(rows, 1);
}

TEST(Store, SchemaMigrationFails_FileUnchanged) {
  TestClock clock;
  TestFolder folder;
  auto database = Database::open(folder.file(), false);
  ASSERT_TRUE(database->run(kVersion1));
  ASSERT_TRUE(database->run("CREATE INDEX object_last_seen ON object(last_seen)"));
  EXPECT_FALSE(Store::open(optionsOf(folder.file(), clock)));
  EXPECT_EQ(database->number("PRAGMA user_version").value(), 1);
  EXPECT_EQ(database->number("SELECT count(*) FROM sqlite_schema WHERE name='device_hour'").value(),
            0);
}

TEST(Store, InMemory_NoFilesAndAllAnswers) {
  TestClock clock;
  Store store = mustOpen(optionsOf("", clock));
  EXPECT_TRUE(store.opened().created);
  EXPECT_NE(store.epoch(), 0u);
  store.append(Event{kBegin, "change", "o", "a", "t", "{}"});
  ASSERT_TRUE(store.flush());
  EXPECT_EQ(store.events({}).value().size(), 1u);
  EXPECT_EQ(store.status().state, WriteState::kWriting);
}

}  // namespace
}  // namespace divvy::history
