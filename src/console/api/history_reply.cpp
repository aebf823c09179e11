#include "api/history_reply.h"

#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "api/history_queries.h"
#include "api/reply.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

// Of a limited scope: the subjects that it sees. Shares that have ended belong to namespaces, too.
bool maySeeSeries(const ViewerScope& scope, const ConsoleView& view, const http::Query& query) {
  const std::string* of = query.parameter("of");
  if (scope.everything() || of == nullptr) return true;
  const std::string_view subject = *of;
  if (subject.starts_with("share:")) return scope.pods.contains(namespaceIn(subject.substr(6)));
  if (subject.starts_with("device:")) return view.devices.contains(subject.substr(7));
  // Other words are unknown, and answered as such.
  return !subject.starts_with("overview:") || (scope.nodes && scope.pods.all);
}

ShareFilter shareFilterOf(const ViewerScope& scope) {
  if (scope.pods.all) return nullptr;
  return
      [pods = scope.pods](const std::string& share) { return pods.contains(namespaceIn(share)); };
}

}  // namespace

http::Answer seriesAnswer(const HistoryPart& part, const http::Query& query) {
  if (!maySeeSeries(part.scope, *part.view, query))
    return errorAnswer(403, "forbidden",
                       "you may not see the history of this; accepted are your shares (share:ID) "
                       "and the devices that you see (device:ID)");
  Result<bj::object> series = seriesOf(part.history, query, nowMs());
  return series ? jsonAnswer(std::move(*series)) : errorAnswer(series.error());
}

http::Answer usageAnswer(const HistoryPart& part, const http::Query& query) {
  const Result<std::vector<UsageSum>> sums =
      usageOf(part.history, query, nowMs(), shareFilterOf(part.scope));
  if (!sums) return errorAnswer(sums.error());
  // Without agents no use of a cluster is known.
  const bool use_known =
      !part.of_cluster ||
      !part.view->overview->at("funnel").at("compute").at("used_percent").is_null();
  bj::array items;
  for (const UsageSum& sum : *sums)
    items.push_back(
        bj::object{{"key", sum.key},
                   {"name", sum.name},
                   {"device_hours", use_known ? bj::value(sum.device_hours) : bj::value(nullptr)},
                   {"allocated_device_hours", sum.allocated_device_hours},
                   {"memory_byte_hours", sum.memory_byte_hours},
                   {"throttled_ms", sum.throttled_ms}});
  return jsonAnswer({{"items", std::move(items)}});
}

http::Answer usageCsv(const HistoryPart& part, const http::Query& query) {
  const Result<std::vector<UsageSum>> sums =
      usageOf(part.history, query, nowMs(), shareFilterOf(part.scope));
  if (!sums) return errorAnswer(sums.error());
  http::Answer answer;
  answer.body = usageTable(*sums);
  answer.type = "text/csv; charset=utf-8";
  answer.fields.set("Content-Disposition", "attachment; filename=\"divvy-usage.csv\"");
  answer.fields.set("Cache-Control", "no-store");
  return answer;
}

}  // namespace divvy::console
