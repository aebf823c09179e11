#include "store_impl.h"

#include <algorithm>

#include "file/queries.h"
#include "points/read_plan.h"

namespace divvy::history {
namespace {

Result<void> checkKey(const SeriesKey& key) {
  const auto fits = [](const std::string& text, std::size_t most) {
    return !text.empty() && text.size() <= most;
  };
  if (fits(key.kind, 32) && fits(key.object, 128) && fits(key.metric, 64)) return {};
  return Error(ErrorCode::kUsage,
               "a series' kind, object or metric is empty or too long; accepted are up to 32, 128 "
               "and 64 bytes");
}

}  // namespace

Instant Store::Impl::present(const StoreOptions& options) {
  if (options.clock) return options.clock();
  return std::chrono::floor<Span>(std::chrono::system_clock::now());
}

StoreStatus Store::Impl::status() {
  const Bytes size = connections_->size();
  const std::lock_guard lock(mutex_);
  StoreStatus status = status_;
  status.size = size;
  status.series = table_.size();
  status.late_samples = table_.counts().late;
  status.future_samples = table_.counts().future;
  status.unknown_samples = table_.counts().unknown;
  status.clock_jumps = table_.counts().clock_jumps;
  return status;
}

Result<SeriesId> Store::Impl::series(const SeriesKey& key, SeriesType type) {
  if (auto checked = checkKey(key); !checked) return std::move(checked).error();
  {
    const std::lock_guard lock(mutex_);
    if (const auto id = table_.find(key)) return SeriesId{*id};
  }
  std::optional<FoundSeries> written;
  auto done = connections_->read([&](Database& database) -> Result<void> {
    auto found = findSeries(database, key);
    if (!found) return std::move(found).error();
    written = *found;
    return {};
  });
  if (!done) return std::move(done).error();
  const std::lock_guard lock(mutex_);
  if (const auto id = table_.find(key)) return SeriesId{*id};
  const std::uint32_t id = written ? written->id : waiting_.next_id;
  if (!table_.insert(id, key, written ? written->type : type))
    return Error(
        ErrorCode::kNoRoom,
        "the history has " + std::to_string(options_.max_series) +
            " series, as many as it keeps at a time; series without a value for a day end");
  if (!written) {
    ++waiting_.next_id;
    waiting_.now.series[id] = {id, key, type};
    waiting_.now.seen[id] = present(options_);
  }
  return SeriesId{id};
}

void Store::Impl::advance(Instant now) {
  if (table_.advance(now, waiting_.now))
    status_.dropped_rows +=
        static_cast<std::int64_t>(waiting_.now.absorb(std::exchange(waiting_.amounts, {})));
}

void Store::Impl::append(Instant time, std::span<const Sample> samples) {
  const std::lock_guard lock(mutex_);
  const Instant now = present(options_);
  advance(now);
  for (const Sample& sample : samples)
    table_.add(now, time, static_cast<std::uint32_t>(sample.series), sample.value);
}

Result<SeriesColumns> Store::Impl::read(std::span<const SeriesKey> keys, const ReadRange& range) {
  if (range.from >= range.to || range.max_points < 2 || range.max_points > kMaxPoints)
    return Error(ErrorCode::kUsage, "the range is empty, or has " +
                                        std::to_string(range.max_points) +
                                        " points; accepted are 2 to 20000");
  const Instant now = present(options_);
  const ReadPlan plan = planRead(range, now, opened_);
  const bool is_written = plan.tier == Tier::kFiveMinutes || plan.tier == Tier::kHour;
  std::vector<std::optional<std::uint32_t>> ids(keys.size());
  std::vector<std::vector<std::pair<Instant, Point>>> recent(keys.size());
  {
    // Before the file is read: a chunk is in memory until some time after it is written.
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < keys.size(); ++at) {
      ids[at] = table_.find(keys[at]);
      if (!ids[at]) continue;
      table_.read(*ids[at], plan.tier, plan.start, plan.end(),
                  [&](Instant time, const Point& point) { recent[at].emplace_back(time, point); });
    }
  }
  SeriesColumns result{plan.tier, plan.step(), {}, {}};
  for (std::size_t at = 0; at < plan.count; ++at)
    result.times.push_back(plan.start + plan.step() * static_cast<std::int64_t>(at));
  auto done = connections_->read([&](Database& database) -> Result<void> {
    for (std::size_t at = 0; at < keys.size(); ++at) {
      PlannedColumn column(plan);
      if (!ids[at]) {
        auto found = findSeries(database, keys[at]);
        if (!found) return std::move(found).error();
        if (*found) ids[at] = (*found)->id;
      }
      if (ids[at] && is_written)
        if (auto chunks = readChunks(database, *ids[at], plan, column); !chunks) return chunks;
      for (const auto& [time, point] : recent[at]) column.put(time, point);
      result.columns.push_back(column.column(ids[at].has_value()));
    }
    return {};
  });
  if (!done) return std::move(done).error();
  return result;
}

Result<std::vector<SeriesKey>> Store::Impl::seriesOf(const std::string& kind,
                                                     const std::string& object) {
  std::vector<SeriesKey> keys;
  auto done = connections_->read([&](Database& database) -> Result<void> {
    auto found = findKeys(database, kind, object);
    if (!found) return std::move(found).error();
    keys = std::move(*found);
    return {};
  });
  if (!done) return std::move(done).error();
  {
    const std::lock_guard lock(mutex_);
    const auto live = table_.keysOf(kind, object);
    keys.insert(keys.end(), live.begin(), live.end());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void Store::Impl::put(const std::function<std::size_t(Waiting&)>& add) {
  const std::lock_guard lock(mutex_);
  status_.dropped_rows += static_cast<std::int64_t>(add(waiting_));
}

Result<void> Store::Impl::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = ++flow_.wanted;
  wake_.notify_all();
  written_.wait(lock, [&] { return flow_.done >= ticket; });
  if (status_.state == WriteState::kWriting) return {};
  return Error(ErrorCode::kIo, status_.message);
}

}  // namespace divvy::history
