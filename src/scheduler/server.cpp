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
#include "extender/protocol.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "metrics_endpoint.h"
#include "preemption/preemption_controller.h"
#include "queue/gate_controller.h"
#include "queue/requeuer.h"
#include "runtime/clock.h"
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
constexpr std::uint64_t kMaxFilter = 64u << 20;
constexpr std::uint64_t kMaxBind = 64u << 10;

constexpr std::chrono::seconds kExpireEvery{1};
// A bind has to end before kube-scheduler gives up on it (httpTimeout, 30 s).
constexpr kube::ClientOptions kTerms{5000, 5000, std::chrono::seconds(10), 2};

class Service {
 public:
  Service(asio::io_context& loop, const SchedulerOptions& options, vendors::Catalog catalog,
          std::unique_ptr<kube::Client> client, std::unique_ptr<LeaseWatcher> election)
      : loop_(loop),
        options_(options),
        catalog_(std::move(catalog)),
        client_(std::move(client)),
        election_(std::move(election)),
        cache_(catalog_, options.placing),
        rules_(options.placing),
        strays_(loop.get_executor(), *client_, catalog_, options.name, logLine, &stopped_),
        watches_(loop.get_executor(), *client_, &stopped_),
        kicker_(loop.get_executor(), *client_, cache_, counts_, [this] { return whyNot(); }),
        notices_(
            loop.get_executor(), *client_, cache_, [this] { return whyNot(); }, &stopped_),
        binder_(*client_, cache_, *election_, counts_,
                {options.all_feasible, options.reservation, [this] { return whyNot(); },
                 [this] { kicker_.lookAgain(); },
                 [this](const BindPlan& assigned) { return locksFor(assigned); }}),
        preemptor_(
            loop.get_executor(), *client_, cache_, counts_.preemption,
            {options.name, options.min_runtime.count(), [this] { return whyNot(); }, &stopped_}),
        labeller_(loop.get_executor(), *client_, agents_, counts_, options.hami_label,
                  [this] { return whyNot(); }),
        inventories_(
            loop.get_executor(), *client_,
            {options.name, options.inventory_learning.count(), [this] { return whyNot(); }}),
        handshaker_(loop.get_executor(), *client_, catalog_,
                    {options.handshakes, [this] { return whyNot(); },
                     [this](const kube::Node& node) { believe(node); }, &stopped_}),
        gatekeeper_(loop.get_executor(), *client_, catalog_, cache_, *election_,
                    {options.reservation, [this] { return whyNot(); }, options.min_runtime.count()},
                    preemptor_, counts_.preemption, &stopped_),
        changer_(loop.get_executor(), *client_, catalog_, cache_, counts_.changes,
                 {[this] {
                    const std::string why = whyNot();
                    return why.empty() && !gatekeeper_.known() ? "queues are not known yet" : why;
                  },
                  [this] { return election_->verdict().fence; },
                  [this](const std::string& uid) { return gatekeeper_.overQueueQuota(uid); },
                  [this](const kube::Pod& pod) {
                    if (const auto set = cache_.setPod(pod); !set) logLine(set.error().message());
                    gatekeeper_.setPod(pod);
                  },
                  [this](const std::string& node) { return agents_.on(node); }, &stopped_}) {}

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
    exporter_ = std::make_unique<Exporter>(
        loop_.get_executor(), cache_, counts_,
        Exporter::Options{options_.hami_metrics, [this] { return whyNot().empty(); },
                          [this] { return client_->calls(); }});
    listen = {options_.metrics_host, options_.metrics_port, {}, {}};
    Result<std::unique_ptr<http::Server>> metrics =
        http::Server::start(loop_.get_executor(), listen, {exporter_->route(), alive()});
    if (!metrics) return metrics.error();
    metrics_ = std::move(*metrics);
    const Result<void> desks = desks_.open(
        loop_.get_executor(), *client_, counts_,
        {options_.name, options_.idle_notice, options_.idle_extension, options_.bypass_notice,
         options_.platform, [this] { return whyNot(); }, &stopped_});
    if (!desks) return desks.error();
    followNodes();
    followPods();
    followQuotas();
    gatekeeper_.start();
    preemptor_.start();
    asio::co_spawn(loop_, expire(), rethrow);
    asio::co_spawn(loop_, notices_.run(), rethrow);
    handshaker_.start();
    election_->start([this] { takeOver(); }, logLine, &stopped_);
    return writePorts(
        options_.ports_file,
        {extender_->port(), webhook_ ? webhook_->port() : std::uint16_t{0}, metrics_->port()});
  }

  void stop() {
    stopped_ = true;
    loop_.stop();
  }

 private:
  bool answersWebhook() const { return rotator_ == nullptr || rotator_->serves(); }

  void keepCertificate() {
    if (!options_.own_certificate) {
      asio::co_spawn(loop_,
                     reloadWhenChanged(*webhook_, options_.certificate_file, options_.key_file,
                                       logLine, &stopped_),
                     rethrow);
      return;
    }
    rotator_ = std::make_unique<CertificateRotator>(*client_, *webhook_, *options_.own_certificate,
                                                    logLine);
    asio::co_spawn(loop_, rotator_->run(&stopped_), rethrow);
  }

  // Why nothing is filtered or bound here now. Empty: it is.
  std::string whyNot() const {
    const LeaderStatus verdict = election_->verdict();
    if (!verdict.leads) return "this replica does not lead: " + verdict.why + ": ask again";
    return watches_.known() ? "" : "the cluster is not known yet: ask again";
  }

  // What was bound until now may be another's doing, and what we promised another's by now.
  void takeOver() {
    logLine("the lease is ours: all is listed anew");
    preemptor_.forget();
    cache_.expire({std::numeric_limits<std::int64_t>::max()});
    gatekeeper_.takeOver();
    watches_.relist();
  }

  std::vector<HealthSource> sources() const {
    std::vector<HealthSource> all = watches_.sources();
    HealthSource lease{"the lease"};
    if (const auto since = election_->failingSince()) {
      lease.failing_ms = LeaseWatcher::now().ms - since->ms;
      lease.fault = election_->fault();
    }
    all.push_back(std::move(lease));
    all.push_back({"the webhook's certificate", answersWebhook()});
    return all;
  }

  void believe(const kube::Node& node) {
    changer_.heard(node);
    desks_.heard(node);
    const Result<void> set = cache_.setNode(node);
    if (!set) ++counts_.unreadable_nodes, logLine(set.error().message());
    unread_.told("node " + node.meta.name, cache_.unreadOf(node.meta.name));
    if (options_.inventory_learning.count() > 0)
      inventories_.see(node.meta, cache_.inventoryOf(node.meta.name));
    gatekeeper_.nodesChanged();
    kicker_.lookAgain();
  }

  void followNodes() {
    kube::EventHandlers nodes;
    nodes.path = "/api/v1/nodes";
    nodes.set = [this](const json::value& object) {
      Result<kube::Node> node = kube::nodeOf(object);
      if (node) return believe(handshaker_.heard(std::move(*node)));
      ++counts_.unreadable_nodes;
      logLine(node.error().message());
    };
    nodes.gone = [this](const std::string& uid, const std::string& name) {
      handshaker_.remove(uid);
      changer_.gone(name);
      desks_.gone(name);
      inventories_.remove(name);
      cache_.removeNode(uid, name);
      gatekeeper_.nodesChanged();
    };
    nodes.synced = [this] { kicker_.lookAgain(); };
    nodes.trouble = [](const Error& error) { logLine(error.message()); };
    nodes_ = &watches_.follow("nodes", std::move(nodes));
  }

  void take(const kube::Pod& pod) {
    const Result<void> set = cache_.setPod(pod);
    if (!set) ++counts_.unreadable_pods, logLine(set.error().message());
    if (!set) strays_.unreadable(pod, set.error().message());
    if (!cache_.countedForPlugin(pod.meta.uid)) strays_.see(pod);
    labeller_.set(pod, agents_.set(pod));
    gatekeeper_.setPod(pod);
    notices_.see(pod), changer_.see(pod);
    desks_.see(pod);
    const Result<void> seen = preemptor_.see(pod);
    if (!seen) ++counts_.unreadable_pods, logLine(seen.error().message());
    kicker_.lookAgain();
  }

  void followPods() {
    kube::EventHandlers pods;
    pods.path = "/api/v1/pods";
    pods.set = [this](const json::value& object) {
      const Result<kube::Pod> pod = kube::podOf(object);
      if (pod) return take(*pod);
      ++counts_.unreadable_pods;
      logLine(pod.error().message());
      kicker_.lookAgain();
    };
    pods.pod = [this](const kube::Pod& pod) { take(pod); };
    pods.gone = [this](const std::string& uid, const std::string&) {
      notices_.forget(uid);
      changer_.forget(uid);
      desks_.forget(uid);
      cache_.removePod(uid);
      agents_.remove(uid);
      labeller_.remove(uid);
      gatekeeper_.removePod(uid);
      preemptor_.gone(uid);
      kicker_.lookAgain();
    };
    pods.synced = [this] {
      kicker_.lookAgain();
      labeller_.look();
    };
    pods.trouble = [](const Error& error) { logLine(error.message()); };
    // A pod whose node is not known yet is looked at twice.
    pods.behind = nodes_;
    watches_.follow("pods", std::move(pods));
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
      if (!set) ++counts_.unreadable_quotas;
      if (!set) logLine(set.error().message());
      kicker_.lookAgain();
    };
    quotas.gone = [this](const std::string& uid, const std::string&) {
      cache_.removeQuota(uid);
      kicker_.lookAgain();
    };
    quotas.synced = [this] { kicker_.lookAgain(); };
    quotas.trouble = [](const Error& error) { logLine(error.message()); };
    watches_.follow("resource quotas", std::move(quotas));
  }

  // Reservations of those who never came to bind.
  asio::awaitable<void> expire() {
    while (!stopped_) {
      asio::steady_timer pause(loop_, kExpireEvery);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      counts_.expired += cache_.expire(now());
      kicker_.lookAgain();
    }
  }

  std::vector<Route> extenderRoutes() {
    return {
        {"POST", "/filter", kMaxFilter,
         [this](Query query) -> asio::awaitable<Answer> {
           const Stopwatch watch(&counts_.filter_seconds);
           co_return filter(query);
         }},
        {"POST", "/prioritize", kMaxFilter,
         [this](Query query) -> asio::awaitable<Answer> { co_return prioritize(query); }},
        {"POST", "/preempt", kMaxFilter,
         [this](Query query) -> asio::awaitable<Answer> { co_return preempt(query); }},
        {"POST", "/bind", kMaxBind,
         [this](Query query) -> asio::awaitable<Answer> {
           return binder_.answer(std::move(query));
         }},
        alive(),
        health("/readyz", [this] { return extenderReadiness(sources(), election_->verdict()); }),
    };
  }

  std::vector<Route> webhookRoutes() {
    return {
        {"POST", "/webhook", kMaxReview,
         [this](Query query) -> asio::awaitable<Answer> {
           const Stopwatch watch(&counts_.review_seconds);
           co_return admit(query);
         }},
        alive(),
        health("/readyz", [this] { return webhookReadiness(sources(), election_->verdict()); }),
    };
  }

  Answer filter(const Query& query) {
    const Result<ExtenderArgs> ask = parseFilter(query.body);
    if (!ask) {
      ++counts_.filter_errors;
      return {400, ask.error().message() + '\n', "text/plain"};
    }
    if (ask->whole_nodes && watches_.known()) return suppose(*ask);
    if (const std::string why = whyNot(); !why.empty()) {
      election_->look();  // our kube-scheduler may have become the leader just now
      ++counts_.filter_errors;
      return {200, filterError(why)};
    }
    counts_.expired += cache_.expire(now());
    const bool promised = gatekeeper_.knows(ask->pod.meta.uid);
    const Result<FilterResult> choice =
        promised                ? gatekeeper_.filterAndReserve(ask->pod, ask->names, expiry())
        : options_.all_feasible ? cache_.fitting(ask->pod, ask->names)
                                : cache_.filterAndReserve(ask->pod, ask->names, expiry());
    kicker_.lookAgain();  // what was reserved for it before may be others' now
    count(choice);
    if (choice && !promised && !choice->why.empty() && !choice->node && choice->fitting.empty()) {
      std::vector<std::string_view> nodes;  // where it helps that others end
      for (const auto& [name, why] : choice->why) nodes.push_back(name);
      preemptor_.refused(ask->pod, nodes);
    }
    if (choice) return {200, filterAnswer(*ask, *choice)};
    return refused(*ask, choice.error());
  }

  void count(const Result<FilterResult>& choice) {
    if (!choice) {
      ++(choice.error().code() == ErrorCode::kUsage ? counts_.refused : counts_.filter_errors);
    } else if (!choice->ours) {
      ++counts_.passed;
    } else {
      ++(choice->node || !choice->fitting.empty() ? counts_.placed : counts_.refused);
    }
  }

  engine::Instant expiry() const {
    const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(options_.reservation);
    return {now().ms + span.count()};
  }

  // Never an error of the pod's: kube-scheduler goes on without.
  Answer prioritize(const Query& query) const {
    const Result<ExtenderArgs> ask = parseFilter(query.body);
    if (!ask) return {400, ask.error().message() + '\n', "text/plain"};
    const Result<std::vector<unsigned>> scores = cache_.scores(ask->pod, ask->names);
    if (!scores) return {400, scores.error().message() + '\n', "text/plain"};
    return {200, prioritizeAnswer(*ask, *scores)};
  }

  // Who ends for a pod with devices is for us to say, and to do: kube-scheduler knows nothing of
  // them. What it tells here is which nodes would do but for processors and the like.
  Answer preempt(const Query& query) {
    const Result<ExtenderArgs> ask = parsePreempt(query.body);
    if (!ask) return {400, ask.error().message() + '\n', "text/plain"};
    // Of queues and gangs others decide when they start.
    if (whyNot().empty() && !gatekeeper_.knows(ask->pod.meta.uid))
      preemptor_.offered(ask->pod, ask->names);
    return {200, preemptAnswer()};
  }

  // What would be, for who asks with nodes of his own: nothing comes of it.
  Answer suppose(const ExtenderArgs& ask) const {
    const Result<FilterResult> choice = cache_.simulateFit(ask.pod, ask.nodes);
    return choice ? Answer{200, filterAnswer(ask, *choice)} : refused(ask, choice.error());
  }

  static Answer refused(const ExtenderArgs& ask, const Error& why) {
    if (why.code() == ErrorCode::kUsage) return {200, filterNever(ask, why.message())};
    return {200, filterError(why.message())};
  }

  Answer admit(const Query& query) {
    const auto beyond = [this](const kube::Pod& pod) {
      auto why = cache_.neverWithinQuota(pod);
      return why ? why
                 : tooManyDifferentShares(cache_.readRequest(pod), options_.most_different_shares);
    };
    const Result<Review> answer = review(
        query.body, catalog_, rules_, options_.name, beyond,
        [this](const kube::Pod& pod) { return gatekeeper_.admit(pod); }, options_.priorities);
    if (!answer) {
      ++counts_.not_reviews;
      return {400, answer.error().message() + '\n', "text/plain"};
    }
    ++(answer->allowed ? counts_.allowed : counts_.denied);
    return {200, answer->body};
  }

  asio::io_context& loop_;
  const SchedulerOptions& options_;
  vendors::Catalog catalog_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<LeaseWatcher> election_;
  SchedulerCache cache_;
  engine::Engine rules_;  // what can be right; it has no nodes
  UnassignedPodReporter strays_;
  Counters counts_;
  Informers watches_;
  const kube::Informer* nodes_ = nullptr;
  Requeuer kicker_;
  PendingConditionController notices_;
  Binder binder_;
  PreemptionController preemptor_;
  HamiAgentNodes agents_;
  HamiLabelController labeller_;
  NodeInventoryController inventories_;
  AgentHandshakeController handshaker_;
  GateController gatekeeper_;
  ResizeController changer_;
  EvictionControllers desks_;
  ChangedWarnings unread_;
  std::unique_ptr<http::Server> extender_;
  std::unique_ptr<http::Server> webhook_;
  std::unique_ptr<Exporter> exporter_;
  std::unique_ptr<http::Server> metrics_;
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
  LeaseWatcher::Options lease{options.lease_space, options.lease_name, options.identity};
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
