#include "file/queries.h"

#include <algorithm>

#include "points/chunk_codec.h"

namespace divvy::history {
namespace {

using Step = Statement::Step;

std::int64_t ms(Instant time) {
  return time.time_since_epoch().count();
}
Instant instant(std::int64_t ms) {
  return Instant(Span(ms));
}

Error failed(const Database& database) {
  return database.error("cannot read the history's file");
}

// Calls `row` for each row until it returns false.
template <typename Row>
Result<void> eachRow(Database& database, Statement& statement, Row row) {
  Step step = statement.step();
  while (step == Step::kRow && row()) step = statement.step();
  if (step == Step::kFailed) return failed(database);
  return {};
}

}  // namespace

Result<std::optional<FoundSeries>> findSeries(Database& database, const SeriesKey& key) {
  Statement select(database, "SELECT id,type FROM series WHERE kind=? AND object=? AND metric=?");
  select.bind(key.kind).bind(key.object).bind(key.metric);
  std::optional<FoundSeries> found;
  auto done = eachRow(database, select, [&] {
    found = FoundSeries{static_cast<std::uint32_t>(select.number(0)),
                        select.number(1) == 0 ? SeriesType::kGauge : SeriesType::kCounter};
    return true;
  });
  if (!done) return std::move(done).error();
  return found;
}

Result<std::vector<SeriesKey>> findKeys(Database& database, const std::string& kind,
                                        const std::string& object) {
  Statement select(database, "SELECT metric FROM series WHERE kind=? AND object=? ORDER BY metric");
  select.bind(kind).bind(object);
  std::vector<SeriesKey> keys;
  auto done = eachRow(database, select, [&] {
    keys.push_back({kind, object, select.text(0)});
    return true;
  });
  if (!done) return std::move(done).error();
  return keys;
}

Result<void> readChunks(Database& database, std::uint32_t series, const ReadPlan& plan,
                        PlannedColumn& column) {
  // One look-up for each chunk: the key has the time before the series.
  Statement select(database, "SELECT points FROM chunk WHERE tier=? AND start=? AND series=?");
  const Span step = stepOf(plan.tier);
  const Span span = step * static_cast<std::int64_t>(kChunkPoints);
  for (Instant start = floorTo(plan.start, span); start < plan.end(); start += span) {
    select.bind(static_cast<std::int64_t>(plan.tier)).bind(ms(start)).bind(std::int64_t{series});
    const Step found = select.step();
    if (found == Step::kFailed) return failed(database);
    if (found == Step::kRow) {
      const auto points = decodeChunk(select.bytes(0));
      if (!points)
        return Error(ErrorCode::kCorrupt, "a chunk of the history's file cannot be decoded");
      for (std::size_t at = 0; at < points->size(); ++at)
        if ((*points)[at].weight != 0)
          column.put(start + step * static_cast<std::int64_t>(at), (*points)[at]);
    }
    select.reset();
  }
  return {};
}

Result<void> readUsage(Database& database, std::int64_t from_hour, std::int64_t to_hour,
                       const std::function<bool(const UsageRow&)>& each) {
  Statement select(database,
                   "SELECT hour,share,device,price,seconds,device_ns,promised_byte_seconds,"
                   "used_byte_seconds,promised_compute_milli_seconds,throttled_ms,paused_ms "
                   "FROM usage WHERE hour>=? AND hour<? ORDER BY hour,share,device,price");
  select.bind(from_hour).bind(to_hour);
  return eachRow(database, select, [&] {
    const auto number = [&](int column) { return select.number(column); };
    return each({{number(0), select.text(1), select.text(2), number(3)},
                 {number(4), number(5), number(6), number(7), number(8), number(9), number(10)}});
  });
}

Result<void> readDevices(Database& database, std::int64_t from_hour, std::int64_t to_hour,
                         const std::function<bool(const DeviceHour&)>& each) {
  Statement select(database,
                   "SELECT hour,device,price,seconds,byte_seconds FROM device_hour "
                   "WHERE hour>=? AND hour<? ORDER BY hour,device,price");
  select.bind(from_hour).bind(to_hour);
  return eachRow(database, select, [&] {
    return each(
        {{select.number(0), select.text(1), select.number(2)}, select.number(3), select.number(4)});
  });
}

Result<std::vector<StoredEvent>> readEvents(Database& database, const EventQuery& query) {
  std::string text =
      "SELECT id,time,kind,object,actor,text,json FROM event WHERE time>=?1 AND time<?2";
  // Events of an object have an index of their own; without one the index of times is used.
  text += query.object.empty() ? " AND ?3=?3" : " AND object=?3";
  text += query.kind.empty() ? " AND ?4=?4" : " AND kind=?4";
  const bool is_later_page = query.before_id && query.before_time;
  if (is_later_page) text += " AND (time,id)<(?5,?6)";
  text += " ORDER BY time DESC,id DESC LIMIT " +
          std::to_string(std::clamp<std::size_t>(query.limit, 1, kMaxPage));
  Statement select(database, text.c_str());
  select.bind(ms(query.from)).bind(ms(query.to)).bind(query.object).bind(query.kind);
  if (is_later_page) select.bind(ms(*query.before_time)).bind(*query.before_id);
  std::vector<StoredEvent> events;
  auto done = eachRow(database, select, [&] {
    events.push_back({select.number(0),
                      {instant(select.number(1)), select.text(2), select.text(3), select.text(4),
                       select.text(5), select.text(6)}});
    return true;
  });
  if (!done) return std::move(done).error();
  return events;
}

Result<std::vector<ObjectRecord>> readObjects(Database& database,
                                              std::span<const std::string> uids) {
  Statement select(database,
                   "SELECT uid,kind,name,namespace,team,queue,owner,image,model,first_seen,"
                   "last_seen FROM object WHERE uid=?");
  std::vector<ObjectRecord> objects;
  for (const std::string& uid : uids) {
    select.bind(uid);
    auto done = eachRow(database, select, [&] {
      const auto text = [&](int column) { return select.text(column); };
      objects.push_back({text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7),
                         text(8), instant(select.number(9)), instant(select.number(10))});
      return true;
    });
    if (!done) return std::move(done).error();
    select.reset();
  }
  return objects;
}

Result<std::optional<Instant>> oldestPoint(Database& database) {
  // min() over both tiers would read all rows; each tier's first row is found by the key.
  std::optional<Instant> oldest;
  for (const char* query :
       {"SELECT min(start) FROM chunk WHERE tier=3", "SELECT min(start) FROM chunk WHERE tier=2",
        "SELECT min(time) FROM minute"}) {
    const auto found = database.number(query);
    if (!found) return found.error();
    if (*found != 0 && (!oldest || instant(*found) < *oldest)) oldest = instant(*found);
  }
  return oldest;
}

}  // namespace divvy::history
