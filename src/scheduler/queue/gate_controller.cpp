#include "queue/gate_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "events/requeue_patch.h"
#include "kube/renamed_annotation.h"
#include "log/log.h"
#include "queue/requeuer.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// From the first change to the next check of waiting pods.
constexpr std::chrono::milliseconds kGather{10};
// Interval of changes by time alone, and of writes to the status of queues.
constexpr std::chrono::seconds kTick{1};
// At a time: each is a write.
constexpr std::size_t kMaxOpened = 64;
constexpr std::size_t kMaxReasons = 10;
constexpr std::int64_t kNano = 1'000'000'000;

}  // namespace

GateController::GateController(asio::any_io_executor executor, kube::Client& client,
                               const vendors::Catalog& catalog, SchedulerCache& cache,
                               const LeaseWatcher& election, Options options,
                               PreemptionController& preemptor, PreemptionCounts& counts,
                               const bool* stopped)
    : executor_(std::move(executor)),
      client_(client),
      election_(election),
      options_(std::move(options)),
      stopped_(stopped),
      gated_preemption_(cache, queues_, preemptor.running_pods(), preemptor.budgets(), counts,
                        {options_.min_runtime, [&preemptor] { return preemptor.ready(); }, now,
                         [] { return wallNanoseconds() / kNano; }}),
      node_resources_(cache, preemptor.running_pods()),
      gated_pods_({catalog, cache, queues_, &gated_preemption_, &node_resources_}) {
  preemptor.setGatedPreemption(&gated_preemption_);
}

void GateController::start() {
  followQueues();
  followNamespaces();
  asio::co_spawn(executor_, tick(), rethrow);
}

// ---- observed objects ---------------------------------------------------------------------------

void GateController::followQueues() {
  kube::EventHandlers queues;
  queues.path = kube::kQueuesPath;
  queues.set = [this](const json::value& object) {
    Result<kube::Queue> queue = kube::queueOf(object);
    if (!queue) return log::warn("cannot read a queue", {{"error", queue.error().message()}});
    const std::string name = queue->meta.name;
    queue_names_[queue->meta.uid] = name;
    told_[name] = queue->status;
    // The status that this controller wrote changes nothing.
    const auto known = queues_.all().find(name);
    const bool same = known != queues_.all().end() && known->second.sameTerms(*queue);
    queues_.set(std::move(*queue));
    if (same) return;
    gated_pods_.recount();
    reconcileSoon();
  };
  queues.gone = [this](const std::string& uid, const std::string& name) {
    // One of that name may have come since.
    queue_names_.erase(uid);
    const bool again = std::any_of(queue_names_.begin(), queue_names_.end(),
                                   [&](const auto& one) { return one.second == name; });
    if (again) return;
    queues_.remove(name);
    told_.erase(name);
    gated_pods_.recount();
    reconcileSoon();
  };
  queues.synced = [this] {
    queues_known_ = true;
    gated_pods_.recount();
    reconcileSoon();
  };
  queues.trouble = [this](const Error& error) {
    // No such kind here, or no right to read it: the cluster uses no queues.
    const bool absent = error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kIo;
    if (!absent) return logWatchTrouble("queues")(error);
    if (!queues_known_ && !absent_said_)
      log::info("the cluster has no queues", {{"error", error.message()}});
    absent_said_ = true;
    queues_known_ = true;
  };
  asio::co_spawn(executor_,
                 kube::runReflector(client_, std::move(queues), queue_informer_, stopped_),
                 rethrow);
}

void GateController::followNamespaces() {
  kube::EventHandlers namespaces;
  namespaces.path = "/api/v1/namespaces";
  namespaces.set = [this](const json::value& object) {
    const Result<kube::Meta> meta = kube::metaOf(object);
    if (!meta) return log::warn("cannot read a namespace", {{"error", meta.error().message()}});
    if (queues_.setNamespaceQueue(meta->name, queueOfNamespace(*meta)) && namespaces_known_)
      gated_pods_.recount();
    reconcileSoon();
  };
  namespaces.gone = [this](const std::string&, const std::string& name) {
    queues_.removeNamespace(name);
  };
  namespaces.synced = [this] {
    namespaces_known_ = true;
    gated_pods_.recount();
    reconcileSoon();
  };
  namespaces.trouble = logWatchTrouble("namespaces");
  asio::co_spawn(executor_,
                 kube::runReflector(client_, std::move(namespaces), namespace_informer_, stopped_),
                 rethrow);
}

void GateController::onPodUpdate(const kube::Pod& pod) {
  gated_pods_.setPod(pod, pod.created);
  if (gated_pods_.changed()) reconcileSoon();
}

void GateController::onPodDelete(const std::string& uid) {
  gated_pods_.removePod(uid);
  reconcileSoon();
}

GateController::WorkloadParts GateController::workloadParts() {
  const auto has_gang = [this](const std::string& gang) {
    return gated_pods_.pods().gangs().contains(gang);
  };
  return {gated_pods_.workloadReservations(), gated_preemption_, has_gang,
          [this] { return ready(); }};
}

// ---- requests of other parts --------------------------------------------------------------------

Result<QueueAssignment> GateController::admit(const kube::Pod& pod) const {
  const Result<std::optional<PodGroupRef>> gang = gangOf(pod);
  if (!gang) return gang.error();
  // Until the queues are known all pods wait: not for long.
  if (!known()) return QueueAssignment{true, "", ""};
  const Result<std::string> queue = queues_.queueFor(pod.meta.namespace_name, queueNamedBy(pod));
  if (!queue && queue.error().code() == ErrorCode::kUsage) return queue.error();
  // A queue that is not there may come.
  if (!queue) return QueueAssignment{true, "", ""};
  return QueueAssignment{*gang || !queue->empty() || isGated(pod), *queue, queues_.poolOf(*queue)};
}

bool GateController::knows(const std::string& uid) {
  // Restored reservations go before any other placement.
  if (!gated_pods_.settled()) gated_pods_.restoreReservations(expiry());
  return gated_pods_.pods().contains(uid);
}

Result<FilterResult> GateController::filterAndReserve(const kube::Pod& pod,
                                                      std::span<const std::string_view> nodes,
                                                      engine::Instant expires) {
  return gated_pods_.filterAndReserve(pod, nodes, expires);
}

// ---- actions ------------------------------------------------------------------------------------

engine::Instant GateController::expiry() const {
  const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(options_.reservation);
  return {now().ms + span.count()};
}

bool GateController::ready() {
  if (!known() || !options_.why_not().empty()) return false;
  if (!gated_pods_.settled()) gated_pods_.restoreReservations(expiry());
  return true;
}

void GateController::reconcileSoon() {
  if (looking_) return;
  looking_ = true;
  asio::co_spawn(executor_, reconcile(), rethrow);
}

asio::awaitable<void> GateController::reconcile() {
  asio::steady_timer pause(executor_, kGather);
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  looking_ = false;
  if (*stopped_ || !ready()) co_return;
  if (std::exchange(nodes_changed_, false)) gated_pods_.recount();
  for (GateRemoval& one : gated_pods_.open(kMaxOpened, election_.verdict().fence, expiry()))
    asio::co_spawn(executor_, openOne(std::move(one)), rethrow);
  for (PodRef& one : gated_pods_.released())
    asio::co_spawn(executor_, requeue(std::move(one)), rethrow);
  if (gated_pods_.changed()) reconcileSoon();
}

asio::awaitable<void> GateController::tick() {
  while (!*stopped_) {
    asio::steady_timer pause(executor_, kTick);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (*stopped_ || !ready()) continue;
    for (MinMemberRef& in : gated_pods_.pods().unknownMinMembers())
      if (reading_.insert(in.path).second)
        asio::co_spawn(executor_, readLeast(std::move(in)), rethrow);
    reconcileSoon();
    if (telling_ || queues_.empty()) continue;
    telling_ = true;
    asio::co_spawn(executor_, publishStatus(), rethrow);
  }
}

// The promise and the gate in one call; again is fine.
asio::awaitable<void> GateController::openOne(GateRemoval opening) {
  json::object meta{{"uid", opening.uid}};
  if (!opening.plan.empty()) {
    const json::value old = options_.deprecated_names ? json::value(opening.plan) : json::value();
    meta["annotations"] =
        json::object{{kReservationKey, opening.plan}, {kube::oldKeyOf(kReservationKey), old}};
  }
  const json::object gone{{"$patch", "delete"}, {"name", kQueueGate}};
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + opening.namespace_name + "/pods/" + opening.name};
  call.type = kube::kStrategicPatch;
  call.body =
      json::serialize(json::object{{"metadata", std::move(meta)},
                                   {"spec", json::object{{"schedulingGates", json::array{gone}}}}});
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (done) {
    gated_pods_.opened(opening.uid);
  } else {
    gated_pods_.notOpened(opening.uid, done.error().message());
    log::warn(
        "cannot remove the scheduling gate of a pod",
        {{"pod", opening.namespace_name + '/' + opening.name}, {"error", done.error().message()}});
  }
  gated_pods_.markChanged();
  reconcileSoon();
}

asio::awaitable<void> GateController::requeue(PodRef pod) {
  kube::Call call = requeuePatch(pod);
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> kicked = co_await client_.ask(std::move(call));
  if (!kicked && kicked.error().code() != ErrorCode::kNotFound)
    log::warn("cannot requeue a pod",
              {{"pod", pod.namespace_name + '/' + pod.name}, {"error", kicked.error().message()}});
}

asio::awaitable<void> GateController::readLeast(MinMemberRef in) {
  kube::Call call{kube::Verb::kGet, in.path};
  const Result<json::value> said = co_await client_.ask(std::move(call));
  reading_.erase(in.path);
  if (!said) {
    gated_pods_.setMinMember(
        in, Error(said.error())
                .context("reading the number of pods that start together from " + in.path));
    co_return;
  }
  gated_pods_.setMinMember(in, minMemberOf(*said, in));
  reconcileSoon();
}

kube::QueueStatus GateController::statusNow(const std::string& queue,
                                            const std::vector<GatedPodStatus>& waiting) {
  kube::QueueStatus status;
  status.used = queues_.used(queue);
  status.running = static_cast<std::int64_t>(queues_.running(queue));
  status.fault = queues_.fault(queue);
  for (const GatedPodStatus& one : waiting) {
    if (one.queue != queue) continue;
    ++status.pending;
    const auto known = std::find_if(status.waiting.begin(), status.waiting.end(),
                                    [&](const auto& other) { return other.reason == one.why; });
    if (known != status.waiting.end()) {
      ++known->pods;
    } else if (status.waiting.size() < kMaxReasons) {
      status.waiting.push_back({one.why, 1, one.namespace_name + '/' + one.name});
    }
  }
  return status;
}

asio::awaitable<void> GateController::publishStatus() {
  const std::vector<GatedPodStatus> waiting = gated_pods_.waiting();
  std::map<std::string, kube::QueueStatus> fresh;
  for (const auto& [name, queue] : queues_.all()) fresh[name] = statusNow(name, waiting);
  for (const auto& [name, status] : fresh) {
    const auto told = told_.find(name);
    if (told != told_.end() && told->second == status) continue;
    kube::Call call{kube::Verb::kPatch, std::string(kube::kQueuesPath) + '/' + name + "/status"};
    call.type = kube::kMergePatch;
    call.body = json::serialize(json::object{{"status", kube::statusOf(status)}});
    call.still = [this] { return options_.why_not().empty(); };
    const Result<json::value> done = co_await client_.ask(std::move(call));
    if (done) told_[name] = status;
    if (!done && done.error().code() != ErrorCode::kNotFound)
      log::warn("cannot write the status of a queue",
                {{"queue", name}, {"error", done.error().message()}});
  }
  telling_ = false;
}

}  // namespace divvy::scheduler
