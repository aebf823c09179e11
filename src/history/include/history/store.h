// The console's history: series, usage, events and objects, in one SQLite file or in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "history/instant.h"
#include "history/records.h"
#include "history/series.h"
#include "history/usage.h"

namespace divvy::history {

struct StoreOptions {
  // The file. Empty: history is kept in memory and ends with the process. Beside it lie
  // FILE-wal and FILE-shm of SQLite, and FILE.lock.
  std::string path{};
  // The most that the file may have; FILE-wal has up to 32 MiB more. At least kMinBytes. The oldest
  // rows are removed in time.
  Bytes max_bytes = gib(1);
  // The present; empty: the system's clock. The store's thread calls it, too.
  Clock clock{};
  std::size_t max_series = 200'000;  // that have had a value within 6 hours
};
inline constexpr Bytes kMinBytes = mib(4);

// The state of the file at open().
struct OpenReport {
  bool created = false;       // there was no file
  int migrated_from = 0;      // an older schema, which was migrated; 0: none
  std::string damaged{};      // why the file that was there could not be used; empty: it could
  std::string moved_aside{};  // where the damaged file is now
};

enum class WriteState {
  kWriting,
  kDiskFull,  // nothing is written until there is room again; reads are answered
  kFailing,   // the same after another error of the disk
  kDamaged,   // the file turned out damaged; a restart moves it aside
};

// The store's own health. Counts are since open().
struct StoreStatus {
  WriteState state = WriteState::kWriting;
  std::string message{};  // state, cause, action; empty while it writes
  Bytes size{};           // of the file
  std::size_t series = 0;
  std::int64_t late_samples = 0;     // dropped: older than the last one of their series
  std::int64_t future_samples = 0;   // dropped: more than a minute later than the clock
  std::int64_t unknown_samples = 0;  // dropped: no such series
  std::int64_t dropped_rows = 0;     // dropped: the writer's queue was full
  std::int64_t pruned_rows = 0;      // removed early, to keep max_bytes
  std::int64_t clock_jumps = 0;      // of the clock, by more than an hour
  std::optional<Instant> oldest{};   // the first instant of which a point is kept on disk
  std::optional<Instant> last_write{};
};

// Keeps history. A thread of its own writes: events and objects once a second, points and usage
// twice a minute. kill -9 loses at most that, never what flush() wrote. All functions may be called
// by any thread. They block for short locks; those that read also for the disk.
class Store {
 public:
  // Opens or creates the store, and keeps it locked against other processes until its end.
  // kUsage: the options are out of range. kUnavailable: another process has the file; the message
  // names it. kUnsupported: a newer program wrote the file. kIo: the file cannot be opened or
  // created, or its folder is missing. A damaged file is moved aside to PATH.damaged-TIME and the
  // store starts empty: opened() reports it.
  static Result<Store> open(StoreOptions options);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  // Writes all that it has, then closes. Waits for the disk.
  ~Store();

  const OpenReport& opened() const;
  // A random number, drawn when the file was created: another epoch is another history.
  std::uint64_t epoch() const;
  StoreStatus status() const;

  // Returns the series' ID, and creates the series at its first use. The type of a known series
  // does not change. kUsage: a part of the key is empty or too long; kNoRoom: there are max_series.
  Result<SeriesId> series(const SeriesKey& key, SeriesType type);
  // Adds values of one instant, one for each series at most. Those that are too old or too new are
  // dropped and counted (StoreStatus). Never waits for the disk.
  void append(Instant time, std::span<const Sample> samples);
  // Returns the series at common times, from the finest tier that has the range and stays within
  // max_points. Times are multiples of the step; gaps are nothing. kUsage: an empty range or
  // max_points out of range; kIo, kCorrupt: the file cannot be read.
  Result<SeriesColumns> read(std::span<const SeriesKey> keys, const ReadRange& range) const;
  // Returns the keys of the series of an object, with all metrics. Errors as read().
  Result<std::vector<SeriesKey>> seriesOf(const std::string& kind, const std::string& object) const;

  // Adds an interval to its hours (usage.h). Returns false for one that is not accepted.
  bool addUsage(const UsageInterval& interval);
  bool addDevice(const DeviceInterval& interval);
  // Calls `each` for the rows of [from_hour, to_hour), ascending by key, until it returns false.
  // The rows contain amounts that are older than half a minute. `each` must not call the store.
  // Errors as read().
  Result<void> usage(std::int64_t from_hour, std::int64_t to_hour,
                     const std::function<bool(const UsageRow&)>& each) const;
  Result<void> devices(std::int64_t from_hour, std::int64_t to_hour,
                       const std::function<bool(const DeviceHour&)>& each) const;

  // Keeps an event; drops it when 10,000 are not written yet.
  void append(Event event);
  // Returns a page of events, newest first; equal times by descending ID. Errors as read().
  Result<std::vector<StoredEvent>> events(const EventQuery& query) const;

  // Keeps the names of an object. An empty text leaves the present one.
  void see(ObjectRecord object);
  // Return the objects of these UIDs, in any order; those that are not known are left out. Errors
  // as read().
  Result<std::vector<ObjectRecord>> objects(std::span<const std::string> uids) const;

  // Writes all that was added, and waits for it. kIo: it could not be written (status() has the
  // cause); it is kept and tried again.
  Result<void> flush();

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::history
