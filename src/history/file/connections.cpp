#include "file/connections.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/plain_file.h"
#include "base/replace_file.h"
#include "file/file_lock.h"
#include "file/schema.h"

namespace divvy::history {
namespace {

constexpr std::size_t kMaxIdle = 4;
constexpr int kCheckMs = 1'000;
constexpr const char* kDamagedNote = ".damaged";

struct Prepared {
  Database database;
  int version = 0;
};

Result<Prepared> prepare(const std::string& path, const StoreOptions& options,
                         std::uint64_t epoch) {
  auto database = Database::open(path.empty() ? ":memory:" : path, false);
  if (!database) return std::move(database).error();
  // Before anything is written: the file of another program stays as it is.
  auto version = readVersion(*database);
  if (!version) return std::move(version).error();
  if (*version != 0)
    if (auto done = checkStructure(*database, kCheckMs); !done) return std::move(done).error();
  const auto max_bytes = static_cast<std::int64_t>(options.max_bytes.count);
  if (auto done = configureWriter(*database, max_bytes); !done) return std::move(done).error();
  if (auto done = migrate(*database, *version, epoch); !done) return std::move(done).error();
  return Prepared{std::move(*database), *version};
}

// "20260102T030405Z"
std::string compactTime(Instant time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(seconds - days);
  char text[64];
  std::snprintf(text, sizeof text, "%04d%02u%02uT%02d%02d%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

// Returns the new path.
Result<std::string> moveAside(const std::string& path, Instant now) {
  const std::string base = path + ".damaged-" + compactTime(now);
  std::string target = base;
  for (int at = 2; access(target.c_str(), F_OK) == 0 && at < 100; ++at)
    target = base + "-" + std::to_string(at);
  for (const char* part : {"-wal", "-shm", ""}) {
    if (std::rename((path + part).c_str(), (target + part).c_str()) == 0) continue;
    if (errno != ENOENT)
      return Error(ErrorCode::kIo, "cannot move the damaged file " + path +
                                       " aside: " + std::strerror(errno) + "; move it by hand");
  }
  unlink((path + kDamagedNote).c_str());
  return target;
}

Instant presentOf(const StoreOptions& options) {
  if (options.clock) return options.clock();
  return std::chrono::floor<Span>(std::chrono::system_clock::now());
}

}  // namespace

Result<std::unique_ptr<Connections>> Connections::open(const StoreOptions& options,
                                                       std::uint64_t epoch) {
  Fd lock;
  OpenReport report;
  const std::string& path = options.path;
  report.created = path.empty();
  if (!path.empty()) {
    auto locked = lockFile(path + ".lock");
    if (!locked) return std::move(locked).error();
    lock = std::move(*locked);
    report.created = access(path.c_str(), F_OK) != 0;
    if (auto note = readPlainFile(path + kDamagedNote, 4096)) {
      report.damaged = "an earlier process found it damaged: " + *note;
    }
  }
  if (report.damaged.empty()) {
    auto prepared = prepare(path, options, epoch);
    if (prepared) {
      report.migrated_from = prepared->version == kSchemaVersion ? 0 : prepared->version;
    } else if (path.empty() || prepared.error().code() != ErrorCode::kCorrupt) {
      return std::move(prepared).error().context(path.empty() ? "history in memory" : path);
    } else {
      report.damaged = prepared.error().message();
    }
    if (prepared) {
      std::unique_ptr<Connections> made(
          new Connections(path, std::move(lock), std::move(prepared->database)));
      made->report_ = std::move(report);
      const auto text = made->writer_.text("SELECT value FROM meta WHERE key='epoch'");
      if (!text) return text.error();
      std::from_chars(text->data(), text->data() + text->size(), made->epoch_);
      return made;
    }
  }
  auto moved = moveAside(path, presentOf(options));
  if (!moved) return std::move(moved).error();
  report.moved_aside = *moved;
  auto prepared = prepare(path, options, epoch);
  if (!prepared) return std::move(prepared).error().context(path);
  std::unique_ptr<Connections> made(
      new Connections(path, std::move(lock), std::move(prepared->database)));
  made->report_ = std::move(report);
  made->epoch_ = epoch;
  return made;
}

Result<void> Connections::read(const std::function<Result<void>(Database&)>& each) {
  if (path_.empty()) {
    const std::lock_guard lock(writer_mutex_);
    return each(writer_);
  }
  std::vector<Database> own;
  {
    const std::lock_guard lock(idle_mutex_);
    if (!idle_.empty()) {
      own.push_back(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  if (own.empty()) {
    auto opened = Database::open(path_, true);
    if (!opened) return std::move(opened).error();
    own.push_back(std::move(*opened));
  }
  auto result = each(own.front());
  if (!result && result.error().code() == ErrorCode::kCorrupt) noteDamage(result.error().message());
  const std::lock_guard lock(idle_mutex_);
  if (result && idle_.size() < kMaxIdle) idle_.push_back(std::move(own.front()));
  return result;
}

void Connections::write(const std::function<void(Database&)>& each) {
  const std::lock_guard lock(writer_mutex_);
  each(writer_);
}

void Connections::noteDamage(const std::string& why) const {
  if (path_.empty()) return;
  const auto slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  // Without the note the next open() finds the damage itself, if its check comes that far.
  (void)replaceFile(folder, name + kDamagedNote, why.substr(0, 1024), 0600);
}

Bytes Connections::size() const {
  struct stat file {};
  if (path_.empty() || stat(path_.c_str(), &file) != 0) return {};
  return {static_cast<std::uint64_t>(file.st_size)};
}

}  // namespace divvy::history
