#include "dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/http_status.h"
#include "dispatch/workload_event.h"
#include "log/log.h"

namespace divvy::hub {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// Between two rounds, and until the next one if nothing changes.
constexpr std::chrono::milliseconds kShortPause{200}, kLongPause{2000};
constexpr std::chrono::seconds kBetweenEvents{60};
constexpr std::chrono::seconds kLongestRound{2};
// So long a nominated workload counts as one that gets devices there.
constexpr std::chrono::seconds kPlacedFor = 3 * kPatience;
constexpr std::size_t kAtOnce = 32;  // decisions between two other events of the loop
constexpr std::size_t kMaxRows = 1000;
constexpr const char* kNominated = "ClusterNominated";  // reason of an Event
constexpr const char* kApplied =
    "Kueue applies the status of workloads, and cannot clear a nomination of another manager; set "
    "its feature gate WorkloadRequestUseMergePatch";

std::string joined(const std::vector<std::string>& all, const char* between) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : between) + one;
  return text;
}

// One of the checks waits for this kind of decision.
bool isPending(const kube::KueueWorkload& workload, const std::string& check) {
  return std::any_of(workload.checks.begin(), workload.checks.end(), [&](const auto& state) {
    return state.name == check && state.state == "Pending";
  });
}

// From that second to now, by the clocks of two machines: at least 0, and a day at most.
std::chrono::seconds timeSince(std::int64_t second) {
  if (second == 0) return std::chrono::seconds(0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::chrono::seconds time =
      std::chrono::duration_cast<std::chrono::seconds>(now) - std::chrono::seconds(second);
  return std::clamp<std::chrono::seconds>(time, std::chrono::seconds(0), std::chrono::hours(24));
}

}  // namespace

Dispatcher::Dispatcher(asio::any_io_executor executor, kube::Client& manager,
                       std::vector<WorkerPort> workers, Options options)
    : executor_(executor),
      manager_(manager),
      workers_(std::move(workers)),
      options_(options),
      pause_(executor) {}

// ---- observed objects ---------------------------------------------------------------------------

void Dispatcher::follow(const char* path, kube::Informer& informer,
                        std::function<Result<void>(const json::value&)> set,
                        std::function<void(const std::string& uid)> gone) {
  kube::EventHandlers handlers;
  handlers.path = path;
  handlers.set = [this, path, set = std::move(set)](const json::value& object) {
    if (const Result<void> read = set(object); !read) {
      ++counts_.unreadable;
      log::warn("cannot read an object; it does not count",
                {{"path", path}, {"error", read.error().message()}});
    }
    changed();
  };
  handlers.gone = [this, gone = std::move(gone)](const std::string& uid, const std::string&) {
    gone(uid);
    changed();
  };
  handlers.synced = [] {};
  handlers.trouble = [path](const Error& error) {
    log::warn("watch failed; it is repeated", {{"path", path}, {"error", error.message()}});
  };
  asio::co_spawn(executor_,
                 kube::runReflector(manager_, std::move(handlers), informer, options_.stopped),
                 rethrow);
}

void Dispatcher::start() {
  follow(
      kube::kKueueChecksPath, informers_.checks,
      [this](const json::value& object) -> Result<void> {
        Result<kube::KueueCheck> check = kube::kueueCheckOf(object);
        if (!check) return check.error();
        const std::string uid = check->meta.uid;
        if (check->controller != kube::kMultiKueueController) return {};
        const bool known = checks_.contains(uid) && checks_[uid].config == check->config;
        checks_[uid] = std::move(*check);
        if (!known) informers_.workloads.relist();
        return {};
      },
      [this](const std::string& uid) { checks_.erase(uid); });
  follow(
      kube::kMultiKueueConfigsPath, informers_.configs,
      [this](const json::value& object) -> Result<void> {
        Result<kube::MultiKueueConfig> config = kube::multiKueueConfigOf(object);
        if (!config) return config.error();
        configs_[config->meta.uid] = std::move(*config);
        return {};
      },
      [this](const std::string& uid) { configs_.erase(uid); });
  follow(
      kube::kKueueWorkloadsPath, informers_.workloads,
      [this](const json::value& object) { return onWorkload(object); },
      [this](const std::string& uid) { waiting_.erase(uid); });
  asio::co_spawn(executor_, run(), rethrow);
}

Result<void> Dispatcher::onWorkload(const json::value& object) {
  const Result<kube::KueueWorkload> workload = kube::kueueWorkloadOf(object);
  if (!workload) return workload.error();
  const auto check = std::find_if(checks_.begin(), checks_.end(), [&](const auto& one) {
    return isPending(*workload, one.second.meta.name);
  });
  const bool waits = workload->quota_reserved && workload->active && !workload->finished &&
                     !workload->evicted && !workload->meta.deleting && workload->cluster.empty() &&
                     check != checks_.end();
  if (!waits) {
    waiting_.erase(workload->meta.uid);
    return {};
  }
  PendingWorkload one = pendingOf(object, *workload);
  one.config = check->second.config;
  one.nominated_at = Clock::now();
  // By another hub, or by this one before its start. All private ones are nominated without a fit.
  one.fits = one.nominated.size() == 1;
  one.since = one.nominated_at - timeSince(workload->quota_since);
  if (const auto known = waiting_.find(one.meta.uid); known != waiting_.end()) {
    const PendingWorkload& before = known->second;
    one.since = before.since;
    if (before.nominated == one.nominated) {
      one.nominated_at = before.nominated_at;
      one.fits = before.fits;
    }
    one.reasons = before.reasons;
    one.told = before.told;
    one.told_at = before.told_at;
  }
  waiting_[one.meta.uid] = std::move(one);
  return {};
}

void Dispatcher::changed() {
  changed_ = true;
  pause_.cancel();
}

// ---- questions ----------------------------------------------------------------------------------

bool Dispatcher::accepts(const PendingWorkload& one, const std::string& cluster) const {
  if (!one.named.empty() && one.named != cluster) return false;
  return std::any_of(configs_.begin(), configs_.end(), [&](const auto& config) {
    const std::vector<std::string>& clusters = config.second.clusters;
    return config.second.meta.name == one.config &&
           std::find(clusters.begin(), clusters.end(), cluster) != clusters.end();
  });
}

bool Dispatcher::isUndecided(const PendingWorkload& one) const {
  return one.nominated.empty() || Clock::now() - one.nominated_at >= kPatience;
}

// Workloads that were nominated there just now, as they fit, get their devices before others. Those
// that wait there for longer hold nothing.
FitQuestion Dispatcher::questionFor(const std::string& worker) {
  Pointers placed, others;
  for (const auto& [uid, one] : waiting_) {
    if (one.question == nullptr || !accepts(one, worker)) continue;
    const bool is_nominated =
        std::find(one.nominated.begin(), one.nominated.end(), worker) != one.nominated.end();
    const bool is_recent = Clock::now() - one.nominated_at < kPlacedFor;
    if (is_nominated && one.fits && is_recent) placed.push_back(&one);
    if (!is_nominated && isUndecided(one)) others.push_back(&one);
  }
  if (others.empty()) return {};
  std::sort(placed.begin(), placed.end(), [](const auto* first, const auto* second) {
    return first->nominated_at > second->nominated_at;
  });
  sortByTurn(others);
  return questionAbout(placed, others, first_[worker] % others.size());
}

// Of all workers at the same time.
asio::awaitable<std::map<std::string, Dispatcher::Asked>> Dispatcher::askAll() {
  std::map<std::string, Asked> asked;
  asio::steady_timer done(executor_, Clock::time_point::max());
  std::size_t open = 0;
  for (const WorkerPort& worker : workers_) {
    if (!worker.answers()) continue;
    FitQuestion question = questionFor(worker.name);
    if (question.uids.empty()) continue;
    Asked& one = asked[worker.name];
    one.question = std::move(question);
    ++open;
    asio::co_spawn(
        executor_,
        [](const WorkerPort& to, Asked& about) -> asio::awaitable<void> {
          std::string list = about.question.list;
          about.answer = co_await to.ask(std::move(list), about.question.uids.size());
        }(worker, one),
        [&open, &done](std::exception_ptr fault) {
          rethrow(std::move(fault));
          if (--open == 0) done.cancel();
        });
  }
  while (open > 0) co_await done.async_wait(asio::as_tuple(asio::use_awaitable));
  for (const auto& [worker, one] : asked) setFirst(worker, one);
  co_return asked;
}

// What had no place in a question, or was not tried, is first in the next one.
void Dispatcher::setFirst(const std::string& worker, const Asked& asked) {
  if (!asked.answer || !*asked.answer) return;
  const std::vector<WorkloadFit>& fits = **asked.answer;
  const auto others = fits.begin() + static_cast<std::ptrdiff_t>(asked.question.placed);
  const auto tried = std::count_if(others, fits.end(),
                                   [](const WorkloadFit& fit) { return fit.fits.has_value(); });
  const bool all = asked.question.whole && tried == fits.end() - others;
  first_[worker] =
      all ? 0 : first_[worker] + static_cast<std::size_t>(std::max<std::ptrdiff_t>(tried, 1));
}

std::vector<Candidate> Dispatcher::candidatesFor(const PendingWorkload& one,
                                                 const Round& round) const {
  std::vector<Candidate> candidates;
  for (const auto& [uid, config] : configs_) {
    if (config.meta.name != one.config) continue;
    for (const std::string& cluster : config.clusters) {
      Candidate& candidate = candidates.emplace_back();
      candidate.cluster = cluster;
      candidate.why = "the hub does not know this cluster (--clusters)";
      for (const WorkerPort& worker : workers_) {
        if (worker.name != cluster) continue;
        candidate.price = worker.price;
        candidate.answers = worker.answers();
        candidate.why.clear();
      }
      if (one.question == nullptr) candidate.why = "the workload is too large to be asked about";
      const auto answer = round.asked.find(cluster);
      if (answer == round.asked.end() || !answer->second.answer) continue;
      const Result<std::vector<WorkloadFit>>& fits = *answer->second.answer;
      if (!fits) {
        candidate.why = fits.error().message();
        candidate.failed = true;
        continue;
      }
      const std::vector<std::string>& uids = answer->second.question.uids;
      const auto at = std::find(uids.begin(), uids.end(), one.meta.uid);
      if (at == uids.end()) continue;
      const WorkloadFit& fit = (*fits)[static_cast<std::size_t>(at - uids.begin())];
      const bool is_outdated = round.relieved.contains(cluster) && !fit.never;
      if (!is_outdated || fit.fits != false) candidate.fits = fit.fits;
      candidate.why = fit.why;
      candidate.never = fit.never;
    }
  }
  return candidates;
}

// ---- decisions ----------------------------------------------------------------------------------

asio::awaitable<void> Dispatcher::run() {
  while (!*options_.stopped) {
    changed_ = false;
    co_await round();
    const auto now = Clock::now();
    const auto next = [&] { return now + (changed_ ? kShortPause : kLongPause); };
    while (!*options_.stopped && Clock::now() < next()) {
      pause_.expires_at(next());
      co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
}

asio::awaitable<void> Dispatcher::round() {
  const bool known =
      informers_.checks.fresh() && informers_.configs.fresh() && informers_.workloads.fresh();
  if (!known || waiting_.empty()) co_return;
  ++counts_.rounds;
  Round round;
  round.asked = co_await askAll();
  Pointers turns;
  for (const auto& [uid, one] : waiting_)
    if (isUndecided(one)) turns.push_back(&one);
  sortByTurn(turns);
  std::vector<std::string> uids;
  for (const PendingWorkload* one : turns) uids.push_back(one->meta.uid);
  // New workloads are not asked about before the next round.
  const auto end = Clock::now() + kLongestRound;
  std::size_t decided = 0;
  for (const std::string& uid : uids) {
    if (Clock::now() > end) {
      changed_ = true;
      break;
    }
    co_await decide(uid, round);
    if (++decided % kAtOnce == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
}

asio::awaitable<void> Dispatcher::decide(const std::string& uid, Round& round) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) co_return;
  const auto now = Clock::now();
  const auto since = [now](Clock::time_point then) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - then);
  };
  const PendingWorkload one = found->second;
  if (one.applied && !options_.clears_nominations) {
    std::string message = kApplied;
    co_await tell(uid, "CannotNominate", std::move(message), true);
    co_return;
  }
  const Nomination nomination = nominate(
      candidatesFor(one, round),
      {one.nominated, one.named, since(one.since), since(one.nominated_at), options_.spill_after});
  found->second.reasons = nomination.reasons;
  if (nomination.undecided) {
    changed_ = true;  // the next round is soon
    co_return;
  }
  // GCC 12 destroys some temporaries in the operand of co_await twice: there are none.
  std::string message = joined(nomination.reasons, "; ");
  if (message.empty()) message = "the MultiKueueConfig " + one.config + " has no cluster";
  if (nomination.clusters == one.nominated) {
    if (one.nominated.empty()) co_await tell(uid, "NoClusterFits", std::move(message), false);
    co_return;
  }
  relieve(uid, nomination.clusters, &round);
  if (!co_await write(one, nomination.clusters)) co_return;
  for (const std::string& cluster : nomination.clusters)
    if (std::find(one.nominated.begin(), one.nominated.end(), cluster) == one.nominated.end())
      ++counts_.nominations[cluster];
  if (const auto still = waiting_.find(uid); still != waiting_.end()) {
    still->second.nominated = nomination.clusters;
    still->second.nominated_at = Clock::now();
    still->second.fits = nomination.fits;
    message = joined(nomination.clusters, ", ") + ". " + message;
    co_await tell(uid, kNominated, std::move(message), false);
  }
}

// Workloads were tried beside this one in clusters in which it fits too, and that do not get it.
void Dispatcher::relieve(const std::string& uid, const std::vector<std::string>& nominated,
                         Round* round) {
  for (const auto& [cluster, one] : round->asked) {
    if (!one.answer || !*one.answer) continue;
    if (std::find(nominated.begin(), nominated.end(), cluster) != nominated.end()) continue;
    const std::vector<std::string>& uids = one.question.uids;
    const auto at = std::find(uids.begin(), uids.end(), uid);
    if (at == uids.end()) continue;
    if ((**one.answer)[static_cast<std::size_t>(at - uids.begin())].fits.value_or(false))
      round->relieved.insert(cluster);
  }
}

// With the version: the decision is for the workload as it was.
asio::awaitable<bool> Dispatcher::write(const PendingWorkload& one,
                                        const std::vector<std::string>& clusters) {
  const std::string name = one.meta.namespace_name + '/' + one.meta.name;
  kube::Call call{kube::Verb::kPatch, "/apis/" + std::string(kube::kKueueVersion) + "/namespaces/" +
                                          one.meta.namespace_name + "/workloads/" + one.meta.name +
                                          "/status?fieldManager=divvy-dispatcher"};
  call.type = kube::kMergePatch;
  call.body = json::serialize(json::object{
      {"metadata", json::object{{"uid", one.meta.uid}, {"resourceVersion", one.meta.version}}},
      {"status",
       json::object{{"nominatedClusterNames", json::array(clusters.begin(), clusters.end())}}}});
  const Result<kube::Reply> reply = co_await manager_.send(std::move(call));
  if (reply && reply->good()) co_return true;
  if (reply && reply->status == http_status::kConflict) {
    ++counts_.conflicts;  // the watch reports the later version
    co_return false;
  }
  ++counts_.failed_writes;
  const Error error = reply ? kube::errorOf(*reply) : reply.error();
  log::warn("cannot nominate clusters for a workload",
            {{"workload", name}, {"error", error.message()}});
  co_return false;
}

asio::awaitable<void> Dispatcher::tell(const std::string& uid, const char* reason,
                                       std::string message, bool warning) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) co_return;
  PendingWorkload& one = found->second;
  const std::string told = std::string(reason) + ' ' + message;
  const auto now = Clock::now();
  const bool is_repeated =
      reason != std::string_view(kNominated) && !one.told.empty() && one.told.starts_with(reason);
  const bool soon = is_repeated && now < one.told_at + kBetweenEvents;
  if (one.told == told || soon) co_return;
  one.told = told;
  one.told_at = now;
  const std::string name = one.meta.namespace_name + '/' + one.meta.name;
  WorkloadEvent event{reason, std::move(message), warning};
  kube::Call call = workloadEvent(one.meta, std::move(event));
  const Result<kube::Reply> sent = co_await manager_.send(std::move(call));
  if (!sent || !sent->good())
    log::warn("cannot write an Event",
              {{"workload", name},
               {"error", sent ? kube::errorOf(*sent).message() : sent.error().message()}});
}

json::array Dispatcher::rows() const {
  Pointers all;
  for (const auto& [uid, one] : waiting_) all.push_back(&one);
  sortByTurn(all);
  all.resize(std::min(all.size(), kMaxRows));
  json::array rows;
  for (const PendingWorkload* one : all)
    rows.push_back(json::object{
        {"workload", one->meta.namespace_name + '/' + one->meta.name},
        {"nominated", json::array(one->nominated.begin(), one->nominated.end())},
        {"waiting_s",
         std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - one->since).count()},
        {"reasons", json::array(one->reasons.begin(), one->reasons.end())}});
  return rows;
}

}  // namespace divvy::hub
