#include "cluster_console/cluster_watch.h"

#include <atomic>
#include <ctime>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "asio/rethrow.h"
#include "base/rfc3339.h"
#include "cluster_console/cluster_reading.h"
#include "json/path.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/queue.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// Watches that do not end by then are cut.
constexpr std::chrono::seconds kEnding{3};
// Errors that pass before this are not shown: watches are renewed all the time.
constexpr std::chrono::seconds kShown{5};
constexpr std::size_t kMaxEvents = 2000;
// Events of Divvy's scheduler, and of kube-scheduler under that name.
constexpr const char* kOwnEvents = "fieldSelector=source%3Ddivvy-scheduler";
// Of changes from consoles.
constexpr const char* kChangeEvents = "fieldSelector=source%3Ddivvy-console";

Error busy(std::chrono::milliseconds bound) {
  return {ErrorCode::kUnavailable, "the console has been busy with other questions for " +
                                       std::to_string(bound.count()) + " ms; ask again"};
}

}  // namespace

class ClusterWatch::Impl {
 public:
  Impl(std::unique_ptr<Cluster> cluster, const Options& options, std::string name)
      : cluster_(std::move(cluster)),
        facts_(options.team_label, options.agent_namespace),
        name_(std::move(name)) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    asio::post(loop_, [this] {
      stopped_ = true;
      // Ends the present watch or pause.
      for (Collection& one : collections_) one.informer.relist();
      guard_.reset();
    });
    if (thread_.joinable()) {
      ending_ = true;
      thread_.join();
    }
  }

  Result<void> start(kube::Access access, const kube::ClientOptions& terms) {
    Result<std::unique_ptr<kube::Client>> client =
        kube::Client::make(loop_.get_executor(), std::move(access), terms);
    if (!client) return client.error();
    client_ = std::move(*client);
    addObjects();
    addGroups();
    thread_ = std::thread([this] { serve(); });
    return {};
  }

  const std::string& name() const { return name_; }

  // Runs on the thread; the result is ready when it has run.
  template <typename T>
  std::future<T> post(std::function<T()> work) {
    auto task = std::make_shared<std::packaged_task<T()>>(std::move(work));
    std::future<T> result = task->get_future();
    asio::post(loop_, [task] { (*task)(); });
    return result;
  }

  Cluster& cluster() { return *cluster_; }

  std::vector<AgentPod> agents() const { return facts_.agents(); }

  console::ClusterReading read() {
    console::ClusterReading reading = facts_.read(*cluster_);
    for (const Collection& one : collections_)
      if (!one.hidden) reading.collections.push_back(stateOf(one));
    reading.events.assign(events_.begin(), events_.end());
    return reading;
  }

 private:
  using Set = std::function<Result<void>(const json::value&)>;
  using Gone = std::function<void(const std::string& uid, const std::string& name)>;

  struct Collection {
    std::string name;
    bool optional = false;  // a cluster may not have this kind of object
    bool hidden = false;    // another one stands for it in readings
    bool reached = false;
    bool absent = false;
    std::map<std::string, std::string> unread;  // by UID: name and fault of an unreadable object
    kube::Informer informer;
  };
  struct Terms {
    const char* name;
    std::string path;
    std::string query = {};
    bool optional = false;
    bool hidden = false;
  };

  // A loop with an end: after `ending_` it is cut.
  void serve() {
    while (!ending_) loop_.run_for(std::chrono::milliseconds(200));
    loop_.run_for(kEnding);
    loop_.stop();
  }

  static console::ClusterCollection stateOf(const Collection& one) {
    console::ClusterCollection state;
    state.name = one.name;
    state.reached = one.reached || one.absent;
    const auto failing = one.informer.failingSince();
    const bool shown = failing && (!one.reached || Clock::now() - *failing > kShown);
    if (shown && !one.absent) state.failure = one.informer.fault();
    state.unread = one.unread.size();
    if (!one.unread.empty()) state.example = one.unread.begin()->second;
    return state;
  }

  static void take(Collection& collection, const json::value& object, const Result<void>& result) {
    const std::string uid = textAt(object, {"metadata", "uid"});
    if (result) {
      collection.unread.erase(uid);
    } else {
      collection.unread[uid] =
          textAt(object, {"metadata", "name"}) + ": " + result.error().message();
    }
  }

  void add(Terms terms, Set set, Gone gone) {
    Collection& one = collections_.emplace_back();
    one.name = terms.name;
    one.optional = terms.optional;
    one.hidden = terms.hidden;
    kube::EventHandlers handlers;
    handlers.path = std::move(terms.path);
    handlers.query = std::move(terms.query);
    handlers.set = [&one, set = std::move(set)](const json::value& object) {
      take(one, object, set(object));
    };
    handlers.gone = [&one, gone = std::move(gone)](const std::string& uid,
                                                   const std::string& name) {
      one.unread.erase(uid);
      gone(uid, name);
    };
    handlers.synced = [&one] {
      one.reached = true;
      one.absent = false;
    };
    handlers.trouble = [&one](const Error& error) {
      one.absent = one.optional && error.code() == ErrorCode::kNotFound;
    };
    // Pods refer to nodes: with all nodes known, each pod is processed once.
    if (collections_.size() > 1) handlers.behind = &collections_.front().informer;
    asio::co_spawn(
        loop_, kube::runReflector(*client_, std::move(handlers), one.informer, &stopped_), rethrow);
  }

  void addObjects() {
    add(
        {"nodes", "/api/v1/nodes"},
        [this](const json::value& object) {
          facts_.setNode(object);
          return cluster_->setNode(object);
        },
        [this](const std::string& uid, const std::string& name) {
          facts_.removeNode(name);
          cluster_->removeNode(uid, name);
        });
    add(
        {"pods", "/api/v1/pods"},
        [this](const json::value& object) {
          facts_.setPod(object);
          return cluster_->setPod(object);
        },
        [this](const std::string& uid, const std::string&) {
          facts_.removePod(uid);
          cluster_->end(uid);
        });
    add(
        {"resourcequotas", "/api/v1/resourcequotas"},
        [this](const json::value& object) { return cluster_->setQuota(object); },
        [this](const std::string& uid, const std::string&) { cluster_->cache().removeQuota(uid); });
    add(
        {"poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets"},
        [this](const json::value& object) { return cluster_->setBudget(object); },
        [this](const std::string& uid, const std::string&) {
          cluster_->forecast().removeBudget(uid);
        });
  }

  void addGroups() {
    add(
        {"namespaces", "/api/v1/namespaces"},
        [this](const json::value& object) {
          facts_.setNamespace(object);
          return cluster_->setNamespace(object);
        },
        [this](const std::string&, const std::string& name) {
          facts_.removeNamespace(name);
          cluster_->forecast().removeNamespace(name);
        });
    add(
        {.name = "queues", .path = kube::kQueuesPath, .optional = true},
        [this](const json::value& object) {
          facts_.setQueue(object);
          return cluster_->setQueue(object);
        },
        [this](const std::string&, const std::string& name) {
          facts_.removeQueue(name);
          cluster_->forecast().removeQueue(name);
        });
    for (const char* query : {kOwnEvents, kChangeEvents})
      add(
          {.name = "events",
           .path = "/api/v1/events",
           .query = query,
           .hidden = query == kChangeEvents},
          [this](const json::value& object) {
            addEvent(object);
            return Result<void>();
          },
          // The API server deletes them after an hour; the page keeps them.
          [](const std::string&, const std::string&) {});
  }

  void addEvent(const json::value& object) {
    console::ClusterEvent event;
    event.uid = textAt(object, {"metadata", "uid"});
    // Events of nodes and queues are in a namespace as well: who may list it may read them.
    event.namespace_name = textAt(object, {"metadata", "namespace"});
    event.pod = textAt(object, {"involvedObject", "name"});
    event.reason = textAt(object, {"reason"});
    event.text = textAt(object, {"message"});
    event.actor = textAt(object, {"source", "component"});
    if (event.actor.empty()) event.actor = textAt(object, {"reportingComponent"});
    for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"})
      if (event.time_ms == 0)
        event.time_ms = rfc3339Ms(textAt(object, {field}), Rfc3339Form::kAnyOffset);
    // An event that is counted up again is the same one.
    std::erase_if(events_, [&](const auto& one) { return one.uid == event.uid; });
    events_.push_back(std::move(event));
    if (events_.size() > kMaxEvents) events_.pop_front();
  }

  std::unique_ptr<Cluster> cluster_;
  ClusterFacts facts_;
  const std::string name_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{loop_.get_executor()};
  std::unique_ptr<kube::Client> client_;
  bool stopped_ = false;
  std::list<Collection> collections_;  // informers keep their addresses
  std::deque<console::ClusterEvent> events_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

ClusterWatch::ClusterWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClusterWatch::~ClusterWatch() = default;

Result<std::unique_ptr<ClusterWatch>> ClusterWatch::start(const Options& options) {
  Result<std::unique_ptr<Cluster>> cluster = Cluster::open(options.cluster);
  if (!cluster) return cluster.error();
  const ConnectionOptions& connection = options.cluster.connection;
  Result<kube::Access> access = accessFor(connection);
  if (!access) return access.error();
  std::string name = access->context.empty() ? access->host : access->context;
  auto impl = std::make_unique<Impl>(std::move(*cluster), options, std::move(name));
  const Result<void> started = impl->start(std::move(*access), connection.with({}));
  if (!started) return started.error();
  return std::unique_ptr<ClusterWatch>(new ClusterWatch(std::move(impl)));
}

const std::string& ClusterWatch::name() const {
  return impl_->name();
}

Result<console::ClusterReading> ClusterWatch::read(std::chrono::milliseconds bound) {
  std::future<console::ClusterReading> reading =
      impl_->post<console::ClusterReading>([impl = impl_.get()] { return impl->read(); });
  if (reading.wait_for(bound) != std::future_status::ready) return busy(bound);
  return reading.get();
}

std::vector<AgentPod> ClusterWatch::agents(std::chrono::milliseconds bound) {
  std::future<std::vector<AgentPod>> agents =
      impl_->post<std::vector<AgentPod>>([impl = impl_.get()] { return impl->agents(); });
  if (agents.wait_for(bound) != std::future_status::ready) return {};
  return agents.get();
}

Result<void> ClusterWatch::run(std::function<void(Cluster&)> work,
                               std::chrono::milliseconds bound) {
  std::future<void> done =
      impl_->post<void>([impl = impl_.get(), work = std::move(work)] { work(impl->cluster()); });
  if (done.wait_for(bound) != std::future_status::ready) return busy(bound);
  done.get();
  return {};
}

}  // namespace divvy::cli
