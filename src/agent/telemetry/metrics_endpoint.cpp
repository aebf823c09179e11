#include "telemetry/metrics_endpoint.h"

#include <algorithm>
#include <utility>

#include "base/http_status.h"
#include "log/log.h"
#include "metrics/exposition.h"
#include "telemetry/metrics.h"
#include "telemetry/startup_health.h"

namespace divvy::agent {
namespace {

constexpr double kPercent = 100;

double partOf(const DriverUsage& seen) {
  return std::min(seen.registered + seen.strange, 100u) / kPercent;
}

}  // namespace

Exporter::Exporter(TenantManager& tenants, const LimitBypassMonitor& bypass, std::string node,
                   std::function<Snapshot()> look, std::function<std::string()> unready)
    : tenants_(tenants),
      bypass_(bypass),
      node_(std::move(node)),
      look_(std::move(look)),
      unready_(std::move(unready)) {
  tenants_.audit().alwaysAudit();
}

Result<void> Exporter::listen(asio::io_context& loop, const MetricsOptions& where) {
  further_ = {.compat = where.hami, .deprecated = where.deprecated};
  pod_labels_ = where.pod_labels;
  http::Listen listen;
  listen.host = where.host;
  listen.port = where.port;
  std::vector<http::Route> routes;
  routes.push_back({"GET", "/metrics", 0, [this](http::Query) { return answer(); }});
  routes.push_back({"GET", kSnapshotPath, 0, [this](http::Query) { return snapshotAnswer(); }});
  // An answer shows that the loop runs.
  routes.push_back({"GET", kAlivePath, 0, [](http::Query) -> asio::awaitable<http::Answer> {
                      co_return http::Answer{http_status::kOk, "ok\n", "text/plain"};
                    }});
  routes.push_back({"GET", kReadyPath, 0, [this](http::Query) -> asio::awaitable<http::Answer> {
                      const std::string why = unready_();
                      co_return http::Answer{
                          why.empty() ? http_status::kOk : http_status::kServiceUnavailable,
                          (why.empty() ? "ok" : why) + '\n', "text/plain"};
                    }});
  Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop.get_executor(), listen, std::move(routes));
  if (!server) return Error{server.error().code(), "--metrics-listen: " + server.error().message()};
  server_ = std::move(*server);
  loop_watch_.emplace(loop.get_executor(), [this](double late) { lateness_.add(late, nowMs()); });
  log::info("metrics are served",
            {{"url", "http://" + where.host + ':' + std::to_string(server_->port()) + "/metrics"}});
  return {};
}

std::int64_t Exporter::lateMs() const {
  if (!loop_watch_) return -1;
  return static_cast<std::int64_t>(lateness_.largest(nowMs()) * 1000);
}

void Exporter::tick(const Snapshot& looked, const RefusedAllocations& refused,
                    std::uint64_t now_ms) {
  accounts_.setRefused(refused);
  UsageAccounting::SeenPart parts;
  for (const auto& [tenant, devices] : tenants_.audit().seen())
    for (const auto& [device, seen] : devices) parts[tenant][device] = partOf(seen);
  accounts_.add(looked.tenants, parts, now_ms);
}

// Requests are not limited. The loop renders the text a few times a second at most, and otherwise
// answers with the last one.
asio::awaitable<http::Answer> Exporter::answer() {
  if (metrics_.made.take("", std::chrono::steady_clock::now()) || metrics_.text.empty())
    metrics_.text = text();
  co_return http::Answer{http_status::kOk, metrics_.text, metrics::kTextType};
}

// Command lines may have secrets, and readers of metrics are not users of this machine.
asio::awaitable<http::Answer> Exporter::snapshotAnswer() {
  if (snapshot_.made.take("", std::chrono::steady_clock::now()) || snapshot_.text.empty()) {
    SnapshotReply reply{look_()};
    for (TenantView& tenant : reply.snapshot.tenants) tenant.command.clear();
    snapshot_.text = encode(Reply(std::move(reply)));
  }
  co_return http::Answer{http_status::kOk, snapshot_.text, "application/json"};
}

std::string Exporter::text() const {
  MetricsInput all;
  all.snapshot = look_();
  all.node = node_;
  all.bills = accounts_.bills();
  all.tallies = accounts_.tallies();
  all.refused = accounts_.refused();
  all.late = lateness_.all();
  all.latest = lateness_.largest(nowMs());
  for (const auto& [id, tenant] : tenants_.all()) {
    if (!tenant->record.ofPod()) continue;
    all.pods[id] = tenant->record.lodger;
    for (const std::string& key : pod_labels_)
      if (const auto said = tenant->labels.find(key); said != tenant->labels.end())
        all.labels[id].emplace_back(metricsLabelOf(key), said->second);
  }
  const DriverUsageByTenant& seen = tenants_.audit().seen();
  if (const auto nobody = seen.find(""); nobody != seen.end())
    for (const auto& [device, of] : nobody->second) all.foreign[device] = partOf(of);
  for (const auto& [device, strangers] : bypass_.strangers())
    all.strangers[device] = {strangers.processes, strangers.bytes, strangers.graphics};
  for (const DeviceView& device : all.snapshot.devices) {
    all.faults[device.index] = tenants_.health().faults(device.index);
    if (tenants_.health().faulty(device.index)) all.faulty.insert(device.index);
  }
  return exposition(all, further_);
}

}  // namespace divvy::agent
