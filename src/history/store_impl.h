// The store's state, and the thread that writes it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "file/batch_writer.h"
#include "file/connections.h"
#include "history/store.h"
#include "points/series_table.h"

namespace divvy::history {

// Rows that wait for the writer.
struct Waiting {
  Batch now;      // to be written as soon as possible
  Batch amounts;  // usage and devices, to be written with the minute
  std::uint32_t next_id = 1;
};

// `mutex_` guards all but the connections; it is never held while the disk works.
class Store::Impl {
 public:
  Impl(StoreOptions options, std::unique_ptr<Connections> connections, SeriesTable table,
       Waiting waiting);
  ~Impl();

  Connections& connections() { return *connections_; }
  StoreStatus status();
  Result<SeriesId> series(const SeriesKey& key, SeriesType type);
  void append(Instant time, std::span<const Sample> samples);
  Result<SeriesColumns> read(std::span<const SeriesKey> keys, const ReadRange& range);
  Result<std::vector<SeriesKey>> seriesOf(const std::string& kind, const std::string& object);
  // Calls `add` with the rows that wait; it returns how many it dropped.
  void put(const std::function<std::size_t(Waiting&)>& add);
  Result<void> flush();

  static Instant present(const StoreOptions& options);

 private:
  // Requests to the writer.
  struct Flow {
    std::uint64_t wanted = 0, done = 0;  // flushes
    bool stop = false;
  };

  void advance(Instant now);
  void work();
  WriteResult write(const Batch& batch, Instant now, bool is_steady);
  void prune(Database& database, Instant now, bool is_steady, StoreStatus& found);
  void noteResult(const WriteResult& result, Instant now);

  const StoreOptions options_;
  const std::unique_ptr<Connections> connections_;
  const Instant opened_;
  std::mutex mutex_;
  std::condition_variable wake_, written_;
  SeriesTable table_;
  Waiting waiting_;
  Flow flow_;
  StoreStatus status_;
  // Of the writer alone.
  std::int64_t pruned_hour_ = 0;
  Instant journal_{};  // when points of minutes that have not ended were written
  std::thread writer_;
};

}  // namespace divvy::history
