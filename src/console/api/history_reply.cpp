#include "api/history_reply.h"

#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "api/history_queries.h"
#include "api/reply.h"
#include "reports/focus_csv.h"
#include "reports/right_size_report.h"
#include "reports/usage_report.h"
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

UsageSums::ShareFilter shareFilterOf(const ViewerScope& scope) {
  if (scope.pods.all) return nullptr;
  return
      [pods = scope.pods](const std::string& share) { return pods.contains(namespaceIn(share)); };
}

Result<UsageReport> usageOf(const HistoryPart& part, const http::Query& query) {
  const Result<UsageQuery> asked = readUsageQuery(query, part.of_cluster, nowMs());
  if (!asked) return asked.error();
  return UsageReport::read(part.history, *asked, part.prices, shareFilterOf(part.scope));
}

// The viewer's own rows name the workloads: no other is looked up.
Result<RightSizeReport> rightSizeOf(const HistoryPart& part, const http::Query& query) {
  const Result<RightSizeQuery> asked = readRightSizeQuery(query, part.of_cluster);
  if (!asked) return asked.error();
  return RightSizeReport::read(part.history, *asked, part.prices,
                               runningWorkloads(part.view->shares, part.view->devices,
                                                part.of_cluster, asked->namespace_name),
                               nowMs());
}

http::Answer csvAnswer(std::string body, const char* file) {
  http::Answer answer;
  answer.body = std::move(body);
  answer.type = "text/csv; charset=utf-8";
  answer.fields.set("Content-Disposition", "attachment; filename=\"" + std::string(file) + "\"");
  answer.fields.set("Cache-Control", "no-store");
  return answer;
}

// Without agents no use of a cluster is known.
UsageReport::Known knownOf(const HistoryPart& part) {
  const bool use = !part.of_cluster ||
                   !part.view->overview->at("funnel").at("compute").at("used_percent").is_null();
  return {use, part.scope.nodes && part.scope.pods.all};
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
  const Result<UsageReport> report = usageOf(part, query);
  return report ? jsonAnswer(report->json(knownOf(part))) : errorAnswer(report.error());
}

http::Answer usageCsv(const HistoryPart& part, const http::Query& query) {
  const Result<UsageReport> report = usageOf(part, query);
  return report ? csvAnswer(report->csv(knownOf(part)), "divvy-usage.csv")
                : errorAnswer(report.error());
}

http::Answer usageFocusCsv(const HistoryPart& part, const http::Query& query) {
  if (part.prices.currency.empty())
    return errorAnswer(400, "usage",
                       "the columns of FOCUS are costs, and no prices are known; start the console "
                       "with --prices FILE");
  const Result<UsageQuery> days = readDailyQuery(query, nowMs());
  if (!days) return errorAnswer(days.error());
  const Result<UsageReport> report =
      UsageReport::read(part.history, *days, part.prices, shareFilterOf(part.scope));
  return report ? csvAnswer(focusCsv(report->focusRows(), part.place, part.prices.currency),
                            "divvy-focus.csv")
                : errorAnswer(report.error());
}

http::Answer rightSizeAnswer(const HistoryPart& part, const http::Query& query) {
  const Result<RightSizeReport> report = rightSizeOf(part, query);
  return report ? jsonAnswer(report->json()) : errorAnswer(report.error());
}

http::Answer rightSizeCsv(const HistoryPart& part, const http::Query& query) {
  const Result<RightSizeReport> report = rightSizeOf(part, query);
  if (!report) return errorAnswer(report.error());
  return csvAnswer(report->csv(), "divvy-rightsize.csv");
}

}  // namespace divvy::console
