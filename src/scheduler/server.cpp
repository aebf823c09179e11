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
#include "controllers/eviction_notice_controllers.h"
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
#include "kube/follow.h"
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

constexpr std::uint64_t kMostReview = 4u << 20;
constexpr std::uint64_t kMostFilter = 64u << 20;
constexpr std::uint64_t kMostBind = 64u << 10;

constexpr std::chrono::seconds kExpireEvery{1};
// A bind has to end before kube-scheduler gives up on it (httpTimeout, 30 s).
constexpr kube::ClientTerms kTerms{5000, 5000, std::chrono::seconds(10), 2};

class Service {
 public:
  Service(asio::io_context& loop, const ServeTerms& terms, vendors::Catalog catalog,
          std::unique_ptr<kube::Client> client, std::unique_ptr<Election> election)
      : loop_(loop),
        terms_(terms),
        catalog_(std::move(catalog)),
        client_(std::move(client)),
        election_(std::move(election)),
        books_(catalog_, terms.placing),
        rules_(terms.placing),
        strays_(loop.get_executor(), *client_, catalog_, terms.name, say, &stopped_),
        watches_(loop.get_executor(), *client_, &stopped_),
        kicker_(loop.get_executor(), *client_, books_, counts_, [this] { return whyNot(); }),
        notices_(
            loop.get_executor(), *client_, books_, [this] { return whyNot(); }, &stopped_),
        binder_(*client_, books_, *election_, counts_,
                {terms.all_feasible, terms.reservation, [this] { return whyNot(); },
                 [this] { kicker_.lookAgain(); },
                 [this](const Assigned& assigned) { return locksFor(assigned); }}),
        preemptor_(loop.get_executor(), *client_, books_, counts_.preemption,
                   {terms.name, terms.min_runtime.count(), [this] { return whyNot(); }, &stopped_}),
        labeller_(loop.get_executor(), *client_, agents_, counts_, terms.hami_label,
                  [this] { return whyNot(); }),
        inventories_(loop.get_executor(), *client_,
                     {terms.name, terms.inventory_learning.count(), [this] { return whyNot(); }}),
        handshaker_(loop.get_executor(), *client_, catalog_,
                    {terms.handshakes, [this] { return whyNot(); },
                     [this](const kube::Node& node) { believe(node); }, &stopped_}),
        gatekeeper_(loop.get_executor(), *client_, catalog_, books_, *election_,
                    {terms.reservation, [this] { return whyNot(); }, terms.min_runtime.count()},
                    preemptor_, counts_.preemption, &stopped_),
        changer_(loop.get_executor(), *client_, catalog_, books_, counts_.changes,
                 {[this] {
                    const std::string why = whyNot();
                    return why.empty() && !gatekeeper_.known() ? "queues are not known yet" : why;
                  },
                  [this] { return election_->verdict().fence; },
                  [this](const std::string& uid) { return gatekeeper_.beyondQueue(uid); },
                  [this](const kube::Pod& pod) {
                    if (const auto set = books_.setPod(pod); !set) say(set.error().message());
                    gatekeeper_.setPod(pod);
                  },
                  [this](const std::string& node) { return agents_.on(node); }, &stopped_}) {}

  Result<void> start() {
    if (const Result<void> set = books_.setPools(terms_.pools); !set) return set.error();
    if (const auto set = rules_.setPools(terms_.pools); !set) return set.error();
    http::Listen listen{terms_.host, terms_.port, {}, {}};
    Result<std::unique_ptr<http::Server>> extender =
        http::Server::start(loop_.get_executor(), listen, extenderRoutes());
    if (!extender) return extender.error();
    extender_ = std::move(*extender);
    const bool own = terms_.own_certificate.has_value();
    if (own || !terms_.certificate_file.empty()) {
      listen = {terms_.webhook_host, terms_.webhook_port, terms_.certificate_file, terms_.key_file,
                own};
      Result<std::unique_ptr<http::Server>> webhook =
          http::Server::start(loop_.get_executor(), listen, webhookRoutes());
      if (!webhook) return webhook.error();
      webhook_ = std::move(*webhook);
      keepCertificate();
    }
    exporter_ = std::make_unique<Exporter>(
        loop_.get_executor(), books_, counts_,
        Exporter::Terms{terms_.hami_metrics, [this] { return whyNot().empty(); },
                        [this] { return client_->calls(); }});
    listen = {terms_.metrics_host, terms_.metrics_port, {}, {}};
    Result<std::unique_ptr<http::Server>> metrics =
        http::Server::start(loop_.get_executor(), listen, {exporter_->route(), alive()});
    if (!metrics) return metrics.error();
    metrics_ = std::move(*metrics);
    const Result<void> desks =
        desks_.open(loop_.get_executor(), *client_, counts_,
                    {terms_.name, terms_.idle_notice, terms_.idle_extension, terms_.bypass_notice,
                     terms_.platform, [this] { return whyNot(); }, &stopped_});
    if (!desks) return desks.error();
    followNodes();
    followPods();
    followQuotas();
    gatekeeper_.start();
    preemptor_.start();
    asio::co_spawn(loop_, expire(), rethrow);
    asio::co_spawn(loop_, notices_.run(), rethrow);
    handshaker_.start();
    election_->start([this] { takeOver(); }, say, &stopped_);
    return writePorts(
        terms_.ports_file,
        {extender_->port(), webhook_ ? webhook_->port() : std::uint16_t{0}, metrics_->port()});
  }

  void stop() {
    stopped_ = true;
    loop_.stop();
  }

 private:
  bool answersWebhook() const { return keeper_ == nullptr || keeper_->serves(); }

  void keepCertificate() {
    if (!terms_.own_certificate) {
      asio::co_spawn(
          loop_,
          reloadWhenChanged(*webhook_, terms_.certificate_file, terms_.key_file, say, &stopped_),
          rethrow);
      return;
    }
    keeper_ = std::make_unique<Keeper>(*client_, *webhook_, *terms_.own_certificate, say);
    asio::co_spawn(loop_, keeper_->run(&stopped_), rethrow);
  }

  // Why nothing is filtered or bound here now. Empty: it is.
  std::string whyNot() const {
    const Verdict verdict = election_->verdict();
    if (!verdict.leads) return "this replica does not lead: " + verdict.why + ": ask again";
    return watches_.known() ? "" : "the cluster is not known yet: ask again";
  }

  // What was bound until now may be another's doing, and what we promised another's by now.
  void takeOver() {
    say("the lease is ours: all is listed anew");
    preemptor_.forget();
    books_.expire({std::numeric_limits<std::int64_t>::max()});
    gatekeeper_.takeOver();
    watches_.anew();
  }

  std::vector<Source> sources() const {
    std::vector<Source> all = watches_.sources();
    Source lease{"the lease"};
    if (const auto since = election_->failingSince()) {
      lease.failing_ms = Election::now().ms - since->ms;
      lease.fault = election_->fault();
    }
    all.push_back(std::move(lease));
    all.push_back({"the webhook's certificate", answersWebhook()});
    return all;
  }

  void believe(const kube::Node& node) {
    changer_.heard(node);
    desks_.heard(node);
    const Result<void> set = books_.setNode(node);
    if (!set) ++counts_.unreadable_nodes, say(set.error().message());
    unread_.told("node " + node.meta.name, books_.unreadOf(node.meta.name));
    if (terms_.inventory_learning.count() > 0)
      inventories_.see(node.meta, books_.inventoryOf(node.meta.name));
    gatekeeper_.nodesChanged();
    kicker_.lookAgain();
  }

  void followNodes() {
    kube::Follower nodes;
    nodes.path = "/api/v1/nodes";
    nodes.set = [this](const json::value& object) {
      Result<kube::Node> node = kube::nodeOf(object);
      if (node) return believe(handshaker_.heard(std::move(*node)));
      ++counts_.unreadable_nodes;
      say(node.error().message());
    };
    nodes.gone = [this](const std::string& uid, const std::string& name) {
      handshaker_.remove(uid);
      changer_.gone(name);
      desks_.gone(name);
      inventories_.remove(name);
      books_.removeNode(uid, name);
      gatekeeper_.nodesChanged();
    };
    nodes.synced = [this] { kicker_.lookAgain(); };
    nodes.trouble = [](const Error& error) { say(error.message()); };
    nodes_ = &watches_.follow("nodes", std::move(nodes));
  }

  void take(const kube::Pod& pod) {
    const Result<void> set = books_.setPod(pod);
    if (!set) ++counts_.unreadable_pods, say(set.error().message());
    if (!set) strays_.unreadable(pod, set.error().message());
    if (!books_.countedForPlugin(pod.meta.uid)) strays_.see(pod);
    labeller_.set(pod, agents_.set(pod));
    gatekeeper_.setPod(pod);
    notices_.see(pod), changer_.see(pod);
    desks_.see(pod);
    const Result<void> seen = preemptor_.see(pod);
    if (!seen) ++counts_.unreadable_pods, say(seen.error().message());
    kicker_.lookAgain();
  }

  void followPods() {
    kube::Follower pods;
    pods.path = "/api/v1/pods";
    pods.set = [this](const json::value& object) {
      const Result<kube::Pod> pod = kube::podOf(object);
      if (pod) return take(*pod);
      ++counts_.unreadable_pods;
      say(pod.error().message());
      kicker_.lookAgain();
    };
    pods.pod = [this](const kube::Pod& pod) { take(pod); };
    pods.gone = [this](const std::string& uid, const std::string&) {
      notices_.forget(uid);
      changer_.forget(uid);
      desks_.forget(uid);
      books_.removePod(uid);
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
    pods.trouble = [](const Error& error) { say(error.message()); };
    // A pod whose node is not known yet is looked at twice.
    pods.behind = nodes_;
    watches_.follow("pods", std::move(pods));
  }

  std::vector<std::string> locksFor(const Assigned& assigned) const {
    return terms_.locks == WhereAgents::kNever ? std::vector<std::string>()
                                               : locksOf(assigned.kinds, agents_.on(assigned.node));
  }

  void followQuotas() {
    kube::Follower quotas;
    quotas.path = "/api/v1/resourcequotas";
    quotas.set = [this](const json::value& object) {
      const Result<kube::ResourceQuota> quota = kube::resourceQuotaOf(object);
      const Result<void> set = quota ? books_.setQuota(*quota) : Result<void>(quota.error());
      if (!set) ++counts_.unreadable_quotas;
      if (!set) say(set.error().message());
      kicker_.lookAgain();
    };
    quotas.gone = [this](const std::string& uid, const std::string&) {
      books_.removeQuota(uid);
      kicker_.lookAgain();
    };
    quotas.synced = [this] { kicker_.lookAgain(); };
    quotas.trouble = [](const Error& error) { say(error.message()); };
    watches_.follow("resource quotas", std::move(quotas));
  }

  // Reservations of those who never came to bind.
  asio::awaitable<void> expire() {
    while (!stopped_) {
      asio::steady_timer pause(loop_, kExpireEvery);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      counts_.expired += books_.expire(now());
      kicker_.lookAgain();
    }
  }

  std::vector<Route> extenderRoutes() {
    return {
        {"POST", "/filter", kMostFilter,
         [this](Query query) -> asio::awaitable<Answer> {
           const Stopwatch watch(&counts_.filter_seconds);
           co_return filter(query);
         }},
        {"POST", "/prioritize", kMostFilter,
         [this](Query query) -> asio::awaitable<Answer> { co_return prioritize(query); }},
        {"POST", "/preempt", kMostFilter,
         [this](Query query) -> asio::awaitable<Answer> { co_return preempt(query); }},
        {"POST", "/bind", kMostBind,
         [this](Query query) -> asio::awaitable<Answer> {
           return binder_.answer(std::move(query));
         }},
        alive(),
        health("/readyz", [this] { return extenderReadiness(sources(), election_->verdict()); }),
    };
  }

  std::vector<Route> webhookRoutes() {
    return {
        {"POST", "/webhook", kMostReview,
         [this](Query query) -> asio::awaitable<Answer> {
           const Stopwatch watch(&counts_.review_seconds);
           co_return admit(query);
         }},
        alive(),
        health("/readyz", [this] { return webhookReadiness(sources(), election_->verdict()); }),
    };
  }

  Answer filter(const Query& query) {
    const Result<FilterAsk> ask = parseFilter(query.body);
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
    counts_.expired += books_.expire(now());
    const bool promised = gatekeeper_.knows(ask->pod.meta.uid);
    const Result<Choice> choice = promised ? gatekeeper_.choose(ask->pod, ask->names, expiry())
                                  : terms_.all_feasible
                                      ? books_.fitting(ask->pod, ask->names)
                                      : books_.choose(ask->pod, ask->names, expiry());
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

  void count(const Result<Choice>& choice) {
    if (!choice) {
      ++(choice.error().code() == ErrorCode::kUsage ? counts_.refused : counts_.filter_errors);
    } else if (!choice->ours) {
      ++counts_.passed;
    } else {
      ++(choice->node || !choice->fitting.empty() ? counts_.placed : counts_.refused);
    }
  }

  engine::Instant expiry() const {
    const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(terms_.reservation);
    return {now().ms + span.count()};
  }

  // Never an error of the pod's: kube-scheduler goes on without.
  Answer prioritize(const Query& query) const {
    const Result<FilterAsk> ask = parseFilter(query.body);
    if (!ask) return {400, ask.error().message() + '\n', "text/plain"};
    const Result<std::vector<unsigned>> scores = books_.scores(ask->pod, ask->names);
    if (!scores) return {400, scores.error().message() + '\n', "text/plain"};
    return {200, prioritizeAnswer(*ask, *scores)};
  }

  // Who ends for a pod with devices is for us to say, and to do: kube-scheduler knows nothing of
  // them. What it tells here is which nodes would do but for processors and the like.
  Answer preempt(const Query& query) {
    const Result<FilterAsk> ask = parsePreempt(query.body);
    if (!ask) return {400, ask.error().message() + '\n', "text/plain"};
    // Of queues and gangs others decide when they start.
    if (whyNot().empty() && !gatekeeper_.knows(ask->pod.meta.uid))
      preemptor_.offered(ask->pod, ask->names);
    return {200, preemptAnswer()};
  }

  // What would be, for who asks with nodes of his own: nothing comes of it.
  Answer suppose(const FilterAsk& ask) const {
    const Result<Choice> choice = books_.wouldFit(ask.pod, ask.nodes);
    return choice ? Answer{200, filterAnswer(ask, *choice)} : refused(ask, choice.error());
  }

  static Answer refused(const FilterAsk& ask, const Error& why) {
    if (why.code() == ErrorCode::kUsage) return {200, filterNever(ask, why.message())};
    return {200, filterError(why.message())};
  }

  Answer admit(const Query& query) {
    const auto beyond = [this](const kube::Pod& pod) {
      auto why = books_.neverWithinQuota(pod);
      return why ? why : tooManyDifferentShares(books_.asksOf(pod), terms_.most_different_shares);
    };
    const Result<Review> answer = review(
        query.body, catalog_, rules_, terms_.name, beyond,
        [this](const kube::Pod& pod) { return gatekeeper_.admit(pod); }, terms_.priorities);
    if (!answer) {
      ++counts_.not_reviews;
      return {400, answer.error().message() + '\n', "text/plain"};
    }
    ++(answer->allowed ? counts_.allowed : counts_.denied);
    return {200, answer->body};
  }

  asio::io_context& loop_;
  const ServeTerms& terms_;
  vendors::Catalog catalog_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Election> election_;
  Books books_;
  engine::Engine rules_;  // what can be right; it has no nodes
  Strays strays_;
  Counts counts_;
  Watches watches_;
  const kube::Rein* nodes_ = nullptr;
  Kicker kicker_;
  Notices notices_;
  Binder binder_;
  Preemptor preemptor_;
  HamiAgents agents_;
  Labeller labeller_;
  InventoryWriter inventories_;
  Handshaker handshaker_;
  Gatekeeper gatekeeper_;
  Changer changer_;
  ComplaintDesks desks_;
  Unheeded unread_;
  std::unique_ptr<http::Server> extender_;
  std::unique_ptr<http::Server> webhook_;
  std::unique_ptr<Exporter> exporter_;
  std::unique_ptr<http::Server> metrics_;
  std::unique_ptr<Keeper> keeper_;
  bool stopped_ = false;
};

}  // namespace

Result<void> serve(const ServeTerms& terms) {
  asio::io_context loop(1);
  Result<vendors::Catalog> catalog =
      readCatalog(terms.devices, terms.vendors, terms.model_resources);
  if (!catalog) return catalog.error();
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop.get_executor(), terms.access, kTerms);
  if (!client) return client.error();
  Election::Terms lease{terms.lease_space, terms.lease_name, terms.identity};
  Result<std::unique_ptr<Election>> election = Election::make(loop, terms.access, std::move(lease));
  if (!election) return election.error();
  Service service(loop, terms, std::move(*catalog), std::move(*client), std::move(*election));
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
