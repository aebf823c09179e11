#include "api/history_queries.h"

#include <algorithm>

#include <boost/json.hpp>

#include "recording/recorder.h"
#include "reports/query_words.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using history::Instant;
using history::Span;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::size_t kDefaultPoints = 300;
constexpr std::size_t kMaxPoints = 2000;

// The kind of an object and the metrics that it has.
struct Subject {
  std::string kind, object;
  const std::vector<std::string_view>* metrics;
};

Result<Subject> subjectOf(const http::Query& query) {
  const std::string* of = query.parameter("of");
  const std::size_t colon = of == nullptr ? std::string::npos : of->find(':');
  const Error bad{ErrorCode::kUsage, "of: accepted is device:UUID, share:ID or overview:all"};
  if (colon == std::string::npos || colon + 1 == of->size()) return bad;
  const std::string kind = of->substr(0, colon);
  const std::string object = of->substr(colon + 1);
  if (kind == "device") return Subject{kind, object, &deviceMetrics()};
  if (kind == "share") return Subject{kind, object, &shareMetrics()};
  if (kind == "overview") return Subject{kind, object, &overviewMetrics()};
  return bad;
}

Result<std::vector<history::SeriesKey>> keysOf(const http::Query& query, const Subject& subject) {
  std::vector<history::SeriesKey> keys;
  const std::string* what = query.parameter("what");
  std::string all;
  for (const std::string_view metric : *subject.metrics)
    all += (all.empty() ? "" : ", ") + std::string(metric);
  if (what == nullptr || what->empty())
    return Error{ErrorCode::kUsage, "what: accepted are, with commas: " + all};
  for (std::size_t at = 0; at <= what->size();) {
    const std::size_t end = std::min(what->find(',', at), what->size());
    const std::string metric = what->substr(at, end - at);
    const bool known = std::find(subject.metrics->begin(), subject.metrics->end(), metric) !=
                       subject.metrics->end();
    const bool again = std::any_of(keys.begin(), keys.end(), [&](const history::SeriesKey& key) {
      return key.metric == metric;
    });
    if (!known || again)
      return Error{ErrorCode::kUsage, "what: accepted are, each once, with commas: " + all};
    keys.push_back({subject.kind, subject.object, metric});
    at = end + 1;
  }
  return keys;
}

const char* tierName(history::Tier tier) {
  switch (tier) {
    case history::Tier::kFiveSeconds:
      return "5s";
    case history::Tier::kMinute:
      return "1min";
    case history::Tier::kFiveMinutes:
      return "5min";
    case history::Tier::kHour:
      break;
  }
  return "1h";
}

bj::array columnOf(const std::vector<std::optional<std::int64_t>>& values) {
  bj::array array;
  array.reserve(values.size());
  for (const std::optional<std::int64_t>& value : values)
    array.push_back(value ? bj::value(*value) : bj::value(nullptr));
  return array;
}

bj::array instantsOf(const std::vector<Instant>& times) {
  bj::array array;
  array.reserve(times.size());
  for (const Instant time : times) array.push_back(time.time_since_epoch().count());
  return array;
}

}  // namespace

Result<bj::object> seriesOf(const history::Store& store, const http::Query& query,
                            std::int64_t now_ms) {
  const Result<void> known = checkWords(query, {"of", "what", "from", "to", "points"});
  if (!known) return known.error();
  const Result<Subject> subject = subjectOf(query);
  if (!subject) return subject.error();
  const Result<std::vector<history::SeriesKey>> keys = keysOf(query, *subject);
  if (!keys) return keys.error();
  const Result<TimeRange> range = rangeOf(query, now_ms, kHourMs);
  if (!range) return range.error();
  const Result<std::int64_t> points = numberOf(query, "points", kDefaultPoints);
  if (!points) return points.error();
  if (*points < 1 || *points > static_cast<std::int64_t>(kMaxPoints))
    return Error{ErrorCode::kUsage, "points: accepted is 1 to " + std::to_string(kMaxPoints)};
  const Result<history::SeriesColumns> table =
      store.read(*keys, {Instant(Span(range->from_ms)), Instant(Span(range->to_ms)),
                         static_cast<std::size_t>(*points)});
  if (!table) return table.error();
  bj::array series;
  for (std::size_t i = 0; i < keys->size(); ++i)
    series.push_back(bj::object{{"what", (*keys)[i].metric},
                                {"mean", columnOf(table->columns[i].mean)},
                                {"max", columnOf(table->columns[i].max)}});
  return bj::object{{"from_ms", range->from_ms},        {"to_ms", range->to_ms},
                    {"tier", tierName(table->tier)},    {"step_ms", table->step.count()},
                    {"t_ms", instantsOf(table->times)}, {"series", std::move(series)}};
}

bj::object historyState(const history::Store& store, bool in_memory) {
  const history::StoreStatus status = store.status();
  const history::OpenReport& opened = store.opened();
  const bool damaged = status.state == history::WriteState::kDamaged || !opened.damaged.empty();
  const char* state = damaged                                          ? "damaged"
                      : status.state == history::WriteState::kDiskFull ? "full"
                      : status.state != history::WriteState::kWriting  ? "failing"
                      : in_memory                                      ? "memory"
                                                                       : "ok";
  std::string message = status.message;
  if (message.empty() && !opened.damaged.empty())
    message = "the history of before was damaged (" + opened.damaged + ") and is kept as " +
              opened.moved_aside;
  return {{"state", state},
          {"message", message},
          {"from_ms", status.oldest ? bj::value(status.oldest->time_since_epoch().count())
                                    : bj::value(nullptr)},
          {"to_ms", status.last_write ? bj::value(status.last_write->time_since_epoch().count())
                                      : bj::value(nullptr)},
          {"size_bytes", status.size.count},
          {"series", status.series},
          {"dropped_points", status.late_samples + status.future_samples + status.unknown_samples}};
}

}  // namespace divvy::console
