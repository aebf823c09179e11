#include "dispatch/workload_event.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/json.hpp>

#include "base/rfc3339.h"
#include "base/utf8_text.h"
#include "kube/kueue.h"

namespace divvy::hub {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxName = 230;
constexpr std::size_t kMaxMessage = 1000;  // an Event may have 1024

}  // namespace

kube::Call workloadEvent(const kube::Meta& workload, WorkloadEvent event) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  const std::int64_t fine = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  const std::string time = formatRfc3339(seconds);
  if (event.message.size() > kMaxMessage)
    event.message = utf8Prefix(std::move(event.message), kMaxMessage - 3) + "...";
  kube::Call call{kube::Verb::kPost, "/api/v1/namespaces/" + workload.namespace_name + "/events"};
  call.body = json::serialize(json::object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       json::object{{"namespace", workload.namespace_name},
                    {"name", workload.name.substr(0, kMaxName) + '.' + std::to_string(fine)}}},
      {"involvedObject", json::object{{"apiVersion", kube::kKueueVersion},
                                      {"kind", "Workload"},
                                      {"namespace", workload.namespace_name},
                                      {"name", workload.name},
                                      {"uid", workload.uid}}},
      {"reason", event.reason},
      {"message", event.message},
      {"type", event.warning ? "Warning" : "Normal"},
      {"count", 1},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"source", json::object{{"component", "divvy-hub"}}}});
  return call;
}

}  // namespace divvy::hub
