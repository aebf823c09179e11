#include "controllers/unassigned_pod_reporter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>

#include "annotations/assignment.h"
#include "asio/rethrow.h"
#include "base/http_status.h"
#include "base/rfc3339.h"
#include "codec/pod_request.h"
#include "scheduler/manifests.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::size_t kMaxKnown = 10'000;
// Each is a write; of a cluster full of them the first will do.
constexpr std::size_t kMaxWaiting = 200;
constexpr std::size_t kShownOfUid = 8;
constexpr std::size_t kMaxName = 240;

bool asksForOurs(const kube::Pod& pod, const vendors::Catalog& catalog) {
  const std::vector<std::string> names = resourceNames(catalog);
  const std::vector<std::string> prefixes = resourcePrefixes(catalog);
  const auto ours = [&](const std::string& name) {
    return std::binary_search(names.begin(), names.end(), name) ||
           std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return name.starts_with(prefix); });
  };
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list)
      for (const kube::Quantities* amounts : {&one.limits, &one.requests})
        for (const auto& [name, amount] : *amounts)
          if (ours(name)) return true;
  return false;
}

}  // namespace

bool isStray(const kube::Pod& pod, const vendors::Catalog& catalog) {
  // Cheap first: nearly all pods of a cluster ask for no devices at all.
  if (pod.node.empty() || pod.ended() || !asksForDevices(pod, catalog)) return false;
  // Given whole devices of its node's own plugin.
  if (pod.meta.annotations.contains(kAssignedNode)) return false;
  for (const vendors::Kind* kind : catalog.kinds())
    if (pod.meta.annotations.contains(kind->wire.pod.allocated)) return false;
  return asksForOurs(pod, catalog);
}

namespace {

// `suffix` distinguishes the Events of one pod.
std::string eventOf(const kube::Pod& pod, const char* reason, std::string message,
                    const std::string& suffix, const std::string& scheduler, std::int64_t seconds) {
  const json::object involved{{"apiVersion", "v1"},
                              {"kind", "Pod"},
                              {"namespace", pod.meta.namespace_name},
                              {"name", pod.meta.name},
                              {"uid", pod.meta.uid}};
  const std::string time = formatRfc3339(seconds);
  return json::serialize(json::object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"namespace", pod.meta.namespace_name},
                                {"name", pod.meta.name.substr(0, kMaxName) + '.' +
                                             pod.meta.uid.substr(0, kShownOfUid) + suffix}}},
      {"involvedObject", involved},
      {"reason", reason},
      {"message", std::move(message)},
      {"type", "Warning"},
      {"count", 1},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"source", json::object{{"component", scheduler}}}});
}

}  // namespace

std::string strayEvent(const kube::Pod& pod, const std::string& scheduler, std::int64_t seconds) {
  const std::string by = pod.scheduler.empty() ? "default-scheduler" : pod.scheduler;
  return eventOf(pod, "DevicesWithoutAssignment",
                 "it requests devices and was bound to " + pod.node + " by " + by + ", not by " +
                     scheduler +
                     ": it has no assignment, and the scheduler cannot count the devices it uses",
                 "", scheduler, seconds);
}

std::string unreadableEvent(const kube::Pod& pod, const std::string& why,
                            const std::string& scheduler, std::int64_t seconds) {
  constexpr std::size_t kMaxWhy = 700;  // an Event's message may have 1,024
  return eventOf(pod, "AssignmentUnreadable",
                 "node " + pod.node +
                     " gets no new shares: the assignment of this pod cannot be read (" +
                     why.substr(0, kMaxWhy) + "); restore the annotation or delete the pod",
                 "-unreadable", scheduler, seconds);
}

UnassignedPodReporter::UnassignedPodReporter(asio::any_io_executor executor, kube::Client& client,
                                             const vendors::Catalog& catalog,
                                             const SchedulerCache& cache, std::string scheduler,
                                             std::function<void(const std::string&)> log,
                                             const bool* stopped)
    : executor_(std::move(executor)),
      client_(client),
      catalog_(catalog),
      cache_(cache),
      scheduler_(std::move(scheduler)),
      log_(std::move(log)),
      stopped_(stopped),
      known_(kMaxKnown) {}

void UnassignedPodReporter::onPodUpdate(const kube::Pod& pod) {
  if (cache_.pods().countedForPlugin(pod.meta.uid)) return;
  if (!isStray(pod, catalog_) || known_.has(pod.meta.uid)) return;
  known_.add(pod.meta.uid);
  ++count_;
  add({pod, ""});
}

void UnassignedPodReporter::unreadable(const kube::Pod& pod, const std::string& why) {
  const std::string name = pod.meta.uid + "/unreadable";
  if (pod.node.empty() || pod.ended() || known_.has(name)) return;
  known_.add(name);
  add({pod, why});
}

void UnassignedPodReporter::add(Note note) {
  if (waiting_.size() < kMaxWaiting) waiting_.push_back(std::move(note));
  if (telling_) return;
  telling_ = true;
  asio::co_spawn(executor_, publishEvents(), rethrow);
}

asio::awaitable<void> UnassignedPodReporter::publishEvents() {
  while (!waiting_.empty() && !*stopped_) {
    const Note note = std::move(waiting_.front());
    const kube::Pod& pod = note.pod;
    waiting_.pop_front();
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    kube::Call call{kube::Verb::kPost, "/api/v1/namespaces/" + pod.meta.namespace_name + "/events"};
    call.body = note.unreadable.empty()
                    ? strayEvent(pod, scheduler_, seconds)
                    : unreadableEvent(pod, note.unreadable, scheduler_, seconds);
    const Result<kube::Reply> reply = co_await client_.send(std::move(call));
    std::string line =
        "pod " + pod.meta.namespace_name + '/' + pod.meta.name + " has devices on " + pod.node +
        (note.unreadable.empty() ? " without an assignment (" + std::to_string(count_) + " so far)"
                                 : " and an assignment that cannot be read");
    if (!reply) {
      line += "; no Event: " + reply.error().message();
    } else if (!reply->good() && reply->status != http_status::kConflict) {
      line += "; no Event: " + kube::errorOf(*reply).message();
    }
    log_(line);
  }
  telling_ = false;
}

}  // namespace divvy::scheduler
