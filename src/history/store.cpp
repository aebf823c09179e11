#include "history/store.h"

#include <random>

#include "file/queries.h"
#include "file/restore.h"
#include "store_impl.h"

namespace divvy::history {
namespace {

std::uint64_t randomEpoch() {
  std::random_device source;
  // Positive as a signed number, too.
  return ((std::uint64_t{source()} << 32 | source()) >> 1) | 1;
}

}  // namespace

Result<Store> Store::open(StoreOptions options) {
  if (options.max_bytes < kMinBytes || options.max_bytes > gib(1024))
    return Error(ErrorCode::kUsage, "the history's size is " + formatBytes(options.max_bytes) +
                                        "; accepted are " + formatBytes(kMinBytes) + " to 1 TiB");
  if (options.max_series == 0)
    return Error(ErrorCode::kUsage, "the history has room for 0 series; accepted is 1 or more");
  auto connections = Connections::open(options, randomEpoch());
  if (!connections) return std::move(connections).error();
  const Instant now = Impl::present(options);
  SeriesTable table(now, options.max_series);
  Waiting waiting;
  auto restored = (*connections)->read([&](Database& database) -> Result<void> {
    const auto next = firstFreeId(database);
    if (!next) return next.error();
    waiting.next_id = *next;
    return restoreTable(database, now, table, waiting.now);
  });
  if (!restored) return std::move(restored).error().context("reading the history's file");
  return Store(std::make_unique<Impl>(std::move(options), std::move(*connections), std::move(table),
                                      std::move(waiting)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const OpenReport& Store::opened() const {
  return impl_->connections().report();
}
std::uint64_t Store::epoch() const {
  return impl_->connections().epoch();
}
StoreStatus Store::status() const {
  return impl_->status();
}

Result<SeriesId> Store::series(const SeriesKey& key, SeriesType type) {
  return impl_->series(key, type);
}

void Store::append(Instant time, std::span<const Sample> samples) {
  impl_->append(time, samples);
}

Result<SeriesColumns> Store::read(std::span<const SeriesKey> keys, const ReadRange& range) const {
  return impl_->read(keys, range);
}

Result<std::vector<SeriesKey>> Store::seriesOf(const std::string& kind,
                                               const std::string& object) const {
  return impl_->seriesOf(kind, object);
}

bool Store::addUsage(const UsageInterval& interval) {
  const auto rows = splitByHour(interval);
  impl_->put([&](Waiting& waiting) {
    std::size_t dropped = 0;
    for (const UsageRow& row : rows) dropped += !waiting.amounts.addUsage(row);
    return dropped;
  });
  return !rows.empty();
}

bool Store::addDevice(const DeviceInterval& interval) {
  const auto rows = splitByHour(interval);
  impl_->put([&](Waiting& waiting) {
    std::size_t dropped = 0;
    for (const DeviceHour& row : rows) dropped += !waiting.amounts.addDevice(row);
    return dropped;
  });
  return !rows.empty();
}

Result<void> Store::usage(std::int64_t from_hour, std::int64_t to_hour,
                          const std::function<bool(const UsageRow&)>& each) const {
  return impl_->connections().read(
      [&](Database& database) { return readUsage(database, from_hour, to_hour, each); });
}

Result<void> Store::devices(std::int64_t from_hour, std::int64_t to_hour,
                            const std::function<bool(const DeviceHour&)>& each) const {
  return impl_->connections().read(
      [&](Database& database) { return readDevices(database, from_hour, to_hour, each); });
}

void Store::append(Event event) {
  impl_->put([&](Waiting& waiting) -> std::size_t { return !waiting.now.add(std::move(event)); });
}

Result<std::vector<StoredEvent>> Store::events(const EventQuery& query) const {
  std::vector<StoredEvent> events;
  auto done = impl_->connections().read([&](Database& database) -> Result<void> {
    auto read = readEvents(database, query);
    if (!read) return std::move(read).error();
    events = std::move(*read);
    return {};
  });
  if (!done) return std::move(done).error();
  return events;
}

void Store::see(ObjectRecord object) {
  impl_->put([&](Waiting& waiting) -> std::size_t { return !waiting.now.see(std::move(object)); });
}

Result<std::vector<ObjectRecord>> Store::objects(std::span<const std::string> uids) const {
  std::vector<ObjectRecord> objects;
  auto done = impl_->connections().read([&](Database& database) -> Result<void> {
    auto read = readObjects(database, uids);
    if (!read) return std::move(read).error();
    objects = std::move(*read);
    return {};
  });
  if (!done) return std::move(done).error();
  return objects;
}

Result<void> Store::flush() {
  return impl_->flush();
}

}  // namespace divvy::history
