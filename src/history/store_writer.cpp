#include "file/prune.h"
#include "file/queries.h"
#include "store_impl.h"

namespace divvy::history {
namespace {

constexpr std::chrono::seconds kPeriod{1};
// A killed process loses the points and the usage of this long, and of the period.
constexpr Span kJournal{30'000};

std::string messageOf(const WriteResult& result) {
  switch (result.outcome) {
    case Outcome::kDone:
      return {};
    case Outcome::kFull:
      return "the history has no room on its disk (" + result.message +
             "); nothing is written until there is: free some, or allow the history less";
    case Outcome::kDamaged:
      return "the history's file is damaged (" + result.message +
             "); nothing is written: restart, and the file is moved aside";
    case Outcome::kFailed:
      break;
  }
  return "the history cannot be written (" + result.message + "); it is tried again each second";
}

WriteState stateOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return WriteState::kWriting;
    case Outcome::kFull:
      return WriteState::kDiskFull;
    case Outcome::kDamaged:
      return WriteState::kDamaged;
    case Outcome::kFailed:
      break;
  }
  return WriteState::kFailing;
}

}  // namespace

Store::Impl::Impl(StoreOptions options, std::unique_ptr<Connections> connections, SeriesTable table,
                  Waiting waiting)
    : options_(std::move(options)),
      connections_(std::move(connections)),
      opened_(present(options_)),
      table_(std::move(table)),
      waiting_(std::move(waiting)),
      writer_([this] { work(); }) {}

Store::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    flow_.stop = true;
    wake_.notify_all();
  }
  writer_.join();
}

void Store::Impl::work() {
  std::unique_lock lock(mutex_);
  for (bool stop = false; !stop;) {
    wake_.wait_for(lock, kPeriod, [&] { return flow_.stop || flow_.wanted > flow_.done; });
    stop = flow_.stop;
    const std::uint64_t ticket = flow_.wanted;
    const Instant now = present(options_);
    advance(now);
    const bool is_due = now >= journal_ + kJournal || now < journal_;
    if (stop || is_due || ticket > flow_.done) {
      journal_ = now;
      waiting_.now.absorb(std::exchange(waiting_.amounts, {}));
      table_.openMinutes(waiting_.now);
    }
    Batch batch = std::exchange(waiting_.now, {});
    const bool is_steady = now - table_.steadyFrom() >= SeriesTable::kJump;
    const bool is_damaged = status_.state == WriteState::kDamaged;
    if (!is_damaged && !batch.empty()) {
      lock.unlock();
      const WriteResult result = write(batch, now, is_steady);
      lock.lock();
      noteResult(result, now);
    }
    if (status_.state != WriteState::kWriting) {
      batch.absorb(std::move(waiting_.now));
      waiting_.now = std::move(batch);
    }
    flow_.done = ticket;
    written_.notify_all();
  }
}

WriteResult Store::Impl::write(const Batch& batch, Instant now, bool is_steady) {
  WriteResult result;
  StoreStatus found;
  connections_->write([&](Database& database) {
    result = writeBatch(database, batch);
    // Where the file itself is at its largest, older rows give way.
    if (result.outcome == Outcome::kFull) {
      const auto removed =
          pruneBySize(database, static_cast<std::int64_t>(options_.max_bytes.count) / 4 * 3);
      found.pruned_rows = removed ? *removed : 0;
      if (found.pruned_rows != 0) result = writeBatch(database, batch);
    }
    if (result.outcome == Outcome::kDone) prune(database, now, is_steady, found);
  });
  if (result.outcome == Outcome::kDamaged) connections_->noteDamage(result.message);
  const std::lock_guard lock(mutex_);
  status_.pruned_rows += found.pruned_rows;
  if (found.oldest) status_.oldest = found.oldest;
  return result;
}

void Store::Impl::prune(Database& database, Instant now, bool is_steady, StoreStatus& found) {
  std::int64_t removed = 0;
  // Rows of a clock that was set are not old for that: it may be set back.
  if (is_steady && pruned_hour_ != hourOf(now)) {
    pruned_hour_ = hourOf(now);
    if (const auto by_age = pruneByAge(database, now)) removed += *by_age;
  }
  const auto largest = static_cast<std::int64_t>(options_.max_bytes.count) / 10 * 9;
  if (const auto by_size = pruneBySize(database, largest)) {
    removed += *by_size;
    found.pruned_rows += *by_size;
  }
  if (removed != 0) (void)returnPages(database);
  if (const auto oldest = oldestPoint(database)) found.oldest = *oldest;
}

void Store::Impl::noteResult(const WriteResult& result, Instant now) {
  status_.state = stateOf(result.outcome);
  status_.message = messageOf(result);
  if (result.outcome == Outcome::kDone) status_.last_write = now;
}

}  // namespace divvy::history
