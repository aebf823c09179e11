#include "scheduler/server.h"

#include <chrono>
#include <csignal>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/http_status.h"
#include "capacity/capacity_endpoint.h"
#include "codec/hami_agent_nodes.h"
#include "codec/share_variety.h"
#include "controllers/agent_handshake_controller.h"
#include "controllers/eviction_controller_registry.h"
#include "controllers/hami_label_controller.h"
#include "controllers/node_inventory_controller.h"
#include "controllers/pending_condition_controller.h"
#include "controllers/resize_controller.h"
#include "controllers/unassigned_pod_reporter.h"
#include "engine/engine.h"
#include "extender/binder.h"
#include "extender/extender_service.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kueue/kueue_controller.h"
#include "log/log.h"
#include "metrics_endpoint.h"
#include "preemption/preemption_controller.h"
#include "queue/gate_controller.h"
#include "queue/requeuer.h"
#include "runtime/clock.h"
#include "runtime/cluster_observer.h"
#include "runtime/health_route.h"
#include "runtime/informers.h"
#include "runtime/lease_watcher.h"
#include "runtime/log.h"
#include "runtime/ports_file.h"
#include "runtime/readiness.h"
#include "scheduler/cache.h"
#include "scheduler/resource_catalog.h"
#include "webhook/certificate_reloader.h"
#include "webhook/certificate_rotator.h"
#include "webhook/pod_webhook.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using http::Answer;
using http::Query;
using http::Route;

constexpr std::uint64_t kMaxReview = 4u << 20;

constexpr std::chrono::seconds kExpireEvery{1};
// A bind has to end before kube-scheduler gives up on it (httpTimeout, 30 s).
constexpr kube::ClientOptions kTerms{5000, 5000, std::chrono::seconds(10), 2};

// The address of /metrics, /capacity and /fit.
struct MetricsAddress {
  CapacityEndpoint capacity;
  std::unique_ptr<Exporter> exporter = {};
  std::unique_ptr<http::Server> server = {};
};

// Pods behind the scheduling gate, and workloads of Kueue that are to become such pods.
struct QueueControllers {
  GateController gate;
  std::unique_ptr<KueueController> kueue = {};
};

class Service {
 public:
  Service(asio::io_context& loop, const SchedulerOptions& options, vendors::Catalog catalog,
          std::unique_ptr<kube::Client> client, std::unique_ptr<LeaseWatcher> election)
      : loop_(loop),
        options_(options),
        catalog_(std::move(catalog)),
        client_(std::move(client)),
        lease_(std::move(election)),
        cache_(catalog_, options.placing),
        rules_(options.placing),
        unassigned_(loop.get_executor(), *client_, catalog_, cache_, options.name, logWarning,
                    &stopped_),
        informers_(loop.get_executor(), *client_, &stopped_),
        requeuer_(loop.get_executor(), *client_, cache_, counts_, [this] { return whyNot(); }),
        pending_(
            loop.get_executor(), *client_, cache_, [this] { return whyNot(); }, &stopped_),
        binder_(*client_, cache_, *lease_, counts_,
                {options.all_feasible, options.reservation, [this] { return whyNot(); },
                 [this] { requeuer_.requeueSoon(); },
                 [this](const BindPlan& assigned) { return locksFor(assigned); },
                 options.deprecated_names}),
        preemption_(loop.get_executor(), *client_, cache_, counts_.preemption,
                    {options.name, options.min_runtime.count(), [this] { return whyNot(); },
                     &stopped_, [this](const Error& error) { unreadablePod(error); }}),
        labels_(loop.get_executor(), *client_, agents_, counts_, options.hami_label,
                [this] { return whyNot(); }),
        inventories_(
            loop.get_executor(), *client_, cache_,
            {options.name, options.inventory_learning.count(), [this] { return whyNot(); }}),
        handshakes_(loop.get_executor(), *client_, catalog_,
                    {options.handshakes, [this] { return whyNot(); },
                     [this](const kube::Node& node) { onNode(node); }, &stopped_}),
        queues_(GateController(loop.get_executor(), *client_, catalog_, cache_, *lease_,
                               {options.reservation, [this] { return whyNot(); },
                                options.min_runtime.count(), options.deprecated_names},
                               preemption_, counts_.preemption, &stopped_)),
        resizes_(loop.get_executor(), *client_, catalog_, cache_, counts_.changes,
                 {[this] {
                    const std::string why = whyNot();
                    return why.empty() && !queues_.gate.known() ? "queues are not listed yet" : why;
                  },
                  [this] { return lease_->verdict().fence; },
                  [this](const std::string& uid) { return queues_.gate.overQueueQuota(uid); },
                  [this](const kube::Pod& pod) {
                    if (const auto set = cache_.setPod(pod); !set)
                      logUnreadable("pod", set.error());
                    queues_.gate.onPodUpdate(pod);
                  },
                  [this](const std::string& node) { return agents_.on(node); }, &stopped_}),
        metrics_{CapacityEndpoint(
            loop.get_executor(), cache_, preemption_.running_pods(),
            {options.name, options.identity, [this] { return whyNot(); }, &stopped_,
             [this](const std::vector<kube::KueueWorkload>& workloads,
                    const std::function<bool()>& over) {
               return queues_.kueue->wouldFit(workloads, over);
             }})},
        extender_calls_({cache_, queues_.gate, preemption_, requeuer_, binder_, *lease_, informers_,
                         counts_, options, [this] { return whyNot(); }}) {}

  Result<void> start() {
    if (const Result<void> set = cache_.setPools(options_.pools); !set) return set.error();
    if (const auto set = rules_.setPools(options_.pools); !set) return set.error();
    http::Listen listen{options_.host, options_.port, {}, {}};
    Result<std::unique_ptr<http::Server>> extender =
        http::Server::start(loop_.get_executor(), listen, extenderRoutes());
    if (!extender) return extender.error();
    extender_ = std::move(*extender);
    const bool own = options_.own_certificate.has_value();
    if (own || !options_.certificate_file.empty()) {
      listen = {options_.webhook_host, options_.webhook_port, options_.certificate_file,
                options_.key_file, own};
      Result<std::unique_ptr<http::Server>> webhook =
          http::Server::start(loop_.get_executor(), listen, webhookRoutes());
      if (!webhook) return webhook.error();
      webhook_ = std::move(*webhook);
      keepCertificate();
    }
    metrics_.exporter = std::make_unique<Exporter>(
        loop_.get_executor(), cache_, counts_,
        Exporter::Options{{options_.hami_metrics, options_.deprecated_names},
                          [this] { return whyNot().empty(); },
                          [this] { return client_->calls(); }});
    listen = {options_.metrics_host, options_.metrics_port, {}, {}};
    std::vector<Route> routes = metrics_.capacity.routes();
    routes.push_back(metrics_.exporter->route());
    routes.push_back(alive());
    Result<std::unique_ptr<http::Server>> metrics =
        http::Server::start(loop_.get_executor(), listen, std::move(routes));
    if (!metrics) return metrics.error();
    metrics_.server = std::move(*metrics);
    const Result<void> desks = evictions_.open(
        loop_.get_executor(), *client_, counts_,
        {options_.name, options_.idle_notice, options_.idle_extension, options_.bypass_notice,
         options_.platform, [this] { return whyNot(); }, &stopped_});
    if (!desks) return desks.error();
    GateController::WorkloadParts parts = queues_.gate.workloadParts();
    queues_.kueue = std::make_unique<KueueController>(
        loop_.get_executor(), *client_,
        WorkloadFit({catalog_, cache_, parts.reservations, &parts.preemption, parts.has_gang}),
        counts_.kueue,
        KueueController::Options{[this] { return whyNot(); }, &stopped_, parts.settled});
    followPods(followNodes());
    followQuotas();
    queues_.gate.start();
    preemption_.start();
    asio::co_spawn(loop_, expire(), rethrow);
    asio::co_spawn(loop_, pending_.run(), rethrow);
    asio::co_spawn(loop_, metrics_.capacity.run(), rethrow);
    handshakes_.start();
    lease_->start([this] { takeOver(); }, logWarning, &stopped_);
    return writePorts(options_.ports_file,
                      {extender_->port(), webhook_ ? webhook_->port() : std::uint16_t{0},
                       metrics_.server->port()});
  }

  void stop() {
    stopped_ = true;
    loop_.stop();
  }

 private:
  bool answersWebhook() const { return rotator_ == nullptr || rotator_->serves(); }

  void keepCertificate() {
    if (!options_.own_certificate) {
      asio::co_spawn(
          loop_,
          reloadWhenChanged(*webhook_, options_.certificate_file, options_.key_file, &stopped_),
          rethrow);
      return;
    }
    rotator_ = std::make_unique<CertificateRotator>(*client_, *webhook_, *options_.own_certificate);
    asio::co_spawn(loop_, rotator_->run(&stopped_), rethrow);
  }

  // Why nothing is filtered or bound here now. Empty: it is.
  std::string whyNot() const {
    const LeaderStatus verdict = lease_->verdict();
    if (!verdict.leads) return "this replica does not lead: " + verdict.why + ": retry";
    return informers_.known() ? "" : "the cluster is not listed yet: retry";
  }

  // Another replica may have bound pods until now, and given away this one's reservations.
  void takeOver() {
    log::info("this replica leads now; it lists the cluster again");
    preemption_.forget();
    cache_.expire({std::numeric_limits<std::int64_t>::max()});
    queues_.gate.takeOver();
    queues_.kueue->takeOver();
    informers_.relist();
  }

  std::vector<HealthSource> sources() const {
    std::vector<HealthSource> all = informers_.sources();
    HealthSource lease{"the lease"};
    if (const auto since = lease_->failingSince()) {
      lease.failing_ms = LeaseWatcher::now().ms - since->ms;
      lease.fault = lease_->fault();
    }
    all.push_back(std::move(lease));
    all.push_back({"the webhook's certificate", answersWebhook()});
    return all;
  }

  // Observers of nodes and pods, which are called after the cache, in this order.
  std::vector<ClusterObserver*> observers() {
    return {&unassigned_, &labels_,      &queues_.gate, &pending_,         &resizes_,
            &evictions_,  &inventories_, &preemption_,  &metrics_.capacity};
  }

  void onNode(const kube::Node& node) {
    const Result<void> set = cache_.setNode(node);
    if (!set) {
      ++counts_.unreadable_nodes;
      logUnreadable("node", set.error());
    }
    unread_.update("node " + node.meta.name, cache_.nodes().unreadOf(node.meta.name));
    for (ClusterObserver* observer : observers()) observer->onNodeUpdate(node);
    requeuer_.requeueSoon();
  }

  const kube::Informer& followNodes() {
    kube::EventHandlers nodes;
    nodes.path = "/api/v1/nodes";
    nodes.set = [this](const json::value& object) {
      Result<kube::Node> node = kube::nodeOf(object);
      if (node) return onNode(handshakes_.observe(std::move(*node)));
      ++counts_.unreadable_nodes;
      logUnreadable("node", node.error());
    };
    nodes.gone = [this](const std::string& uid, const std::string& name) {
      handshakes_.remove(uid);
      cache_.removeNode(uid, name);
      for (ClusterObserver* observer : observers()) observer->onNodeDelete(name);
    };
    nodes.synced = [this] { requeuer_.requeueSoon(); };
    nodes.trouble = logWatchTrouble("nodes");
    return informers_.follow("nodes", std::move(nodes));
  }

  void unreadablePod(const Error& error) {
    ++counts_.unreadable_pods;
    logUnreadable("pod", error);
  }

  void onPod(const kube::Pod& pod) {
    const Result<void> set = cache_.setPod(pod);
    if (!set) {
      unreadablePod(set.error());
      unassigned_.unreadable(pod, set.error().message());
    }
    for (ClusterObserver* observer : observers()) observer->onPodUpdate(pod);
    requeuer_.requeueSoon();
  }

  void followPods(const kube::Informer& nodes) {
    kube::EventHandlers pods;
    pods.path = "/api/v1/pods";
    pods.set = [this](const json::value& object) {
      const Result<kube::Pod> pod = kube::podOf(object);
      if (pod) return onPod(*pod);
      unreadablePod(pod.error());
      requeuer_.requeueSoon();
    };
    pods.pod = [this](const kube::Pod& pod) { onPod(pod); };
    pods.gone = [this](const std::string& uid, const std::string&) {
      cache_.removePod(uid);
      for (ClusterObserver* observer : observers()) observer->onPodDelete(uid);
      requeuer_.requeueSoon();
    };
    pods.synced = [this] {
      requeuer_.requeueSoon();
      labels_.reconcile();
    };
    pods.trouble = logWatchTrouble("pods");
    // A pod before its node would be processed twice.
    pods.behind = &nodes;
    queues_.kueue->start(informers_.follow("pods", std::move(pods)));
  }

  std::vector<std::string> locksFor(const BindPlan& assigned) const {
    return options_.locks == WhereAgents::kNever
               ? std::vector<std::string>()
               : locksOf(assigned.kinds, agents_.on(assigned.node));
  }

  void followQuotas() {
    kube::EventHandlers quotas;
    quotas.path = "/api/v1/resourcequotas";
    quotas.set = [this](const json::value& object) {
      const Result<kube::ResourceQuota> quota = kube::resourceQuotaOf(object);
      const Result<void> set = quota ? cache_.setQuota(*quota) : Result<void>(quota.error());
      if (!set) {
        ++counts_.unreadable_quotas;
        logUnreadable("resourcequota", set.error());
      }
      requeuer_.requeueSoon();
    };
    quotas.gone = [this](const std::string& uid, const std::string&) {
      cache_.removeQuota(uid);
      requeuer_.requeueSoon();
    };
    quotas.synced = [this] { requeuer_.requeueSoon(); };
    quotas.trouble = logWatchTrouble("resourcequotas");
    informers_.follow("resource quotas", std::move(quotas));
  }

  // Ends reservations of pods that were never bound.
  asio::awaitable<void> expire() {
    while (!stopped_) {
      asio::steady_timer pause(loop_, kExpireEvery);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      counts_.expired += cache_.expire(now());
      requeuer_.requeueSoon();
    }
  }

  std::vector<Route> extenderRoutes() {
    std::vector<Route> routes = extender_calls_.routes();
    routes.push_back(alive());
    routes.push_back(
        health("/readyz", [this] { return extenderReadiness(sources(), lease_->verdict()); }));
    return routes;
  }

  std::vector<Route> webhookRoutes() {
    return {
        {"POST", "/webhook", kMaxReview,
         [this](Query query) -> asio::awaitable<Answer> {
           const Stopwatch watch(&counts_.review_seconds);
           co_return admit(query);
         }},
        alive(),
        health("/readyz", [this] { return webhookReadiness(sources(), lease_->verdict()); }),
    };
  }

  Answer admit(const Query& query) {
    const auto beyond = [this](const kube::Pod& pod) {
      auto why = cache_.pods().neverWithinQuota(pod);
      return why ? why
                 : tooManyDifferentShares(cache_.pods().readRequest(pod),
                                          options_.most_different_shares);
    };
    const Result<Review> answer = review(
        query.body, {.catalog = catalog_,
                     .rules = rules_,
                     .scheduler = options_.name,
                     .beyond = beyond,
                     .gate = [this](const kube::Pod& pod) { return queues_.gate.admit(pod); },
                     .priorities = options_.priorities});
    if (!answer) {
      ++counts_.not_reviews;
      return {http_status::kBadRequest, answer.error().message() + '\n', "text/plain"};
    }
    ++(answer->allowed ? counts_.allowed : counts_.denied);
    return {http_status::kOk, answer->body};
  }

  asio::io_context& loop_;
  const SchedulerOptions& options_;
  vendors::Catalog catalog_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<LeaseWatcher> lease_;
  SchedulerCache cache_;
  engine::Engine rules_;  // checks requests; it has no nodes
  UnassignedPodReporter unassigned_;
  Counters counts_;
  Informers informers_;
  Requeuer requeuer_;
  PendingConditionController pending_;
  Binder binder_;
  PreemptionController preemption_;
  HamiAgentNodes agents_;
  HamiLabelController labels_;
  NodeInventoryController inventories_;
  AgentHandshakeController handshakes_;
  QueueControllers queues_;
  ResizeController resizes_;
  MetricsAddress metrics_;
  ExtenderService extender_calls_;
  EvictionControllers evictions_;
  ChangedWarnings unread_;
  std::unique_ptr<http::Server> extender_;
  std::unique_ptr<http::Server> webhook_;
  std::unique_ptr<CertificateRotator> rotator_;
  bool stopped_ = false;
};

}  // namespace

Result<void> serve(const SchedulerOptions& options) {
  asio::io_context loop(1);
  Result<vendors::Catalog> catalog =
      readCatalog(options.devices, options.vendors, options.model_resources);
  if (!catalog) return catalog.error();
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop.get_executor(), options.access, kTerms);
  if (!client) return client.error();
  LeaseWatcher::Options lease{options.lease_namespace, options.lease_name, options.identity};
  Result<std::unique_ptr<LeaseWatcher>> election =
      LeaseWatcher::make(loop, options.access, std::move(lease));
  if (!election) return election.error();
  Service service(loop, options, std::move(*catalog), std::move(*client), std::move(*election));
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& fault, int) {
    if (!fault) service.stop();
  });
  const Result<void> started = service.start();
  if (!started) return started.error();
  loop.run();
  return {};
}

}  // namespace divvy::scheduler
