#include "queue/gate_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "queue/requeuer.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// From the first change to a look at who waits.
constexpr std::chrono::milliseconds kGather{10};
// What time alone changes, and what queues are told to have.
constexpr std::chrono::seconds kTick{1};
// At a time: each is a write.
constexpr std::size_t kMostOpened = 64;
constexpr std::size_t kMostReasons = 10;
constexpr std::int64_t kNano = 1'000'000'000;

}  // namespace

Gatekeeper::Gatekeeper(asio::any_io_executor executor, kube::Client& client,
                       const vendors::Catalog& catalog, Books& books, const Election& election,
                       Terms terms, Preemptor& preemptor, PreemptionCounts& counts,
                       const bool* stopped)
    : executor_(std::move(executor)),
      client_(client),
      election_(election),
      terms_(std::move(terms)),
      stopped_(stopped),
      clearances_(books, queues_, preemptor.lodgers(), preemptor.budgets(), counts,
                  {terms_.min_runtime, [&preemptor] { return preemptor.ready(); }, now,
                   [] { return wallNanoseconds() / kNano; }}),
      rooms_(books, preemptor.lodgers()),
      house_(catalog, books, queues_) {
  house_.countBy(&rooms_);
  house_.clearBy(&clearances_);
  preemptor.endFor(&clearances_);
}

void Gatekeeper::start() {
  followQueues();
  followSpaces();
  asio::co_spawn(executor_, tick(), rethrow);
}

// ---- what is told -------------------------------------------------------------------------------

void Gatekeeper::followQueues() {
  kube::Follower queues;
  queues.path = kube::kQueuesPath;
  queues.set = [this](const json::value& object) {
    Result<kube::Queue> queue = kube::queueOf(object);
    if (!queue) return say(queue.error().message());
    const std::string name = queue->meta.name;
    queue_names_[queue->meta.uid] = name;
    told_[name] = queue->status;
    // What we wrote there ourselves changes nothing.
    const auto known = queues_.all().find(name);
    const bool same = known != queues_.all().end() && known->second.sameTerms(*queue);
    queues_.set(std::move(*queue));
    if (same) return;
    house_.recount();
    lookAgain();
  };
  queues.gone = [this](const std::string& uid, const std::string& name) {
    // One of that name may have come since.
    queue_names_.erase(uid);
    const bool again = std::any_of(queue_names_.begin(), queue_names_.end(),
                                   [&](const auto& one) { return one.second == name; });
    if (again) return;
    queues_.remove(name);
    told_.erase(name);
    house_.recount();
    lookAgain();
  };
  queues.synced = [this] {
    queues_known_ = true;
    house_.recount();
    lookAgain();
  };
  queues.trouble = [this](const Error& error) {
    // No such kind here, or none that we may see: nobody uses queues.
    const bool absent = error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kIo;
    if (!absent) return say("queues: " + error.message());
    if (!queues_known_ && !absent_said_) say("there are no queues here: " + error.message());
    absent_said_ = true;
    queues_known_ = true;
  };
  asio::co_spawn(executor_, kube::follow(client_, std::move(queues), queues_rein_, stopped_),
                 rethrow);
}

void Gatekeeper::followSpaces() {
  kube::Follower spaces;
  spaces.path = "/api/v1/namespaces";
  spaces.set = [this](const json::value& object) {
    const Result<kube::Meta> meta = kube::metaOf(object);
    if (!meta) return say(meta.error().message());
    if (queues_.setSpace(meta->name, queueSaidBy(*meta)) && spaces_known_) house_.recount();
    lookAgain();
  };
  spaces.gone = [this](const std::string&, const std::string& name) { queues_.removeSpace(name); };
  spaces.synced = [this] {
    spaces_known_ = true;
    house_.recount();
    lookAgain();
  };
  spaces.trouble = [](const Error& error) { say("namespaces: " + error.message()); };
  asio::co_spawn(executor_, kube::follow(client_, std::move(spaces), spaces_rein_, stopped_),
                 rethrow);
}

void Gatekeeper::setPod(const kube::Pod& pod) {
  house_.setPod(pod, pod.created);
  if (house_.stirred()) lookAgain();
}

void Gatekeeper::removePod(const std::string& uid) {
  house_.removePod(uid);
  lookAgain();
}

// ---- what is asked ------------------------------------------------------------------------------

Result<Admitted> Gatekeeper::admit(const kube::Pod& pod) const {
  const Result<std::optional<GangWords>> gang = gangOf(pod);
  if (!gang) return gang.error();
  // Until it is known who has which queue everybody waits: not for long.
  if (!known()) return Admitted{true, "", ""};
  const Result<std::string> queue = queues_.queueFor(pod.meta.space, queueNamedBy(pod));
  if (!queue && queue.error().code() == ErrorCode::kUsage) return queue.error();
  // A queue that is not there may come.
  if (!queue) return Admitted{true, "", ""};
  return Admitted{*gang || !queue->empty() || isGated(pod), *queue, queues_.poolOf(*queue)};
}

bool Gatekeeper::knows(const std::string& uid) {
  // Before anybody else is given a place, those who were promised one get theirs.
  if (!house_.settled()) house_.settle(expiry());
  return house_.knows(uid);
}

Result<Choice> Gatekeeper::choose(const kube::Pod& pod, std::span<const std::string_view> nodes,
                                  engine::Instant expires) {
  return house_.choose(pod, nodes, expires);
}

// ---- what is done -------------------------------------------------------------------------------

engine::Instant Gatekeeper::expiry() const {
  const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(terms_.reservation);
  return {now().ms + span.count()};
}

bool Gatekeeper::ready() {
  if (!known() || !terms_.why_not().empty()) return false;
  if (!house_.settled()) house_.settle(expiry());
  return true;
}

void Gatekeeper::lookAgain() {
  if (looking_) return;
  looking_ = true;
  asio::co_spawn(executor_, look(), rethrow);
}

asio::awaitable<void> Gatekeeper::look() {
  asio::steady_timer pause(executor_, kGather);
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  looking_ = false;
  if (*stopped_ || !ready()) co_return;
  if (std::exchange(nodes_changed_, false)) house_.recount();
  for (Opening& one : house_.open(kMostOpened, election_.verdict().fence, expiry()))
    asio::co_spawn(executor_, openOne(std::move(one)), rethrow);
  for (Waiting& one : house_.released()) asio::co_spawn(executor_, kick(std::move(one)), rethrow);
  if (house_.stirred()) lookAgain();
}

asio::awaitable<void> Gatekeeper::tick() {
  while (!*stopped_) {
    asio::steady_timer pause(executor_, kTick);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    if (*stopped_ || !ready()) continue;
    for (LeastIn& in : house_.unknownLeast())
      if (reading_.insert(in.path).second)
        asio::co_spawn(executor_, readLeast(std::move(in)), rethrow);
    lookAgain();
    if (telling_ || queues_.empty()) continue;
    telling_ = true;
    asio::co_spawn(executor_, tellStatus(), rethrow);
  }
}

// The promise and the gate in one call; again is fine.
asio::awaitable<void> Gatekeeper::openOne(Opening opening) {
  json::object meta{{"uid", opening.uid}};
  if (!opening.plan.empty()) meta["annotations"] = json::object{{kPlanKey, opening.plan}};
  const json::object gone{{"$patch", "delete"}, {"name", kQueueGate}};
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + opening.space + "/pods/" + opening.name};
  call.type = kube::kStrategicPatch;
  call.body =
      json::serialize(json::object{{"metadata", std::move(meta)},
                                   {"spec", json::object{{"schedulingGates", json::array{gone}}}}});
  call.still = [this] { return terms_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (done) {
    house_.opened(opening.uid);
  } else {
    house_.notOpened(opening.uid, done.error().message());
    say("pod " + opening.space + '/' + opening.name + ": " + done.error().message());
  }
  house_.stir();
  lookAgain();
}

asio::awaitable<void> Gatekeeper::kick(Waiting pod) {
  kube::Call call = kickOf(pod);
  const Result<json::value> kicked = co_await client_.ask(std::move(call));
  if (!kicked && kicked.error().code() != ErrorCode::kNotFound) say(kicked.error().message());
}

asio::awaitable<void> Gatekeeper::readLeast(LeastIn in) {
  kube::Call call{kube::Verb::kGet, in.path};
  const Result<json::value> said = co_await client_.ask(std::move(call));
  reading_.erase(in.path);
  if (!said) {
    house_.setLeast(in,
                    Error(said.error()).context("how many start together is said by " + in.path));
    co_return;
  }
  house_.setLeast(in, leastSaidBy(*said, in));
  lookAgain();
}

kube::QueueStatus Gatekeeper::statusNow(const std::string& queue,
                                        const std::vector<Queued>& waiting) {
  kube::QueueStatus status;
  status.used = queues_.used(queue);
  status.running = static_cast<std::int64_t>(queues_.running(queue));
  status.fault = queues_.fault(queue);
  for (const Queued& one : waiting) {
    if (one.queue != queue) continue;
    ++status.pending;
    const auto known = std::find_if(status.waiting.begin(), status.waiting.end(),
                                    [&](const auto& other) { return other.reason == one.why; });
    if (known != status.waiting.end()) {
      ++known->pods;
    } else if (status.waiting.size() < kMostReasons) {
      status.waiting.push_back({one.why, 1, one.space + '/' + one.name});
    }
  }
  return status;
}

asio::awaitable<void> Gatekeeper::tellStatus() {
  const std::vector<Queued> waiting = house_.waiting();
  std::map<std::string, kube::QueueStatus> fresh;
  for (const auto& [name, queue] : queues_.all()) fresh[name] = statusNow(name, waiting);
  for (const auto& [name, status] : fresh) {
    const auto told = told_.find(name);
    if (told != told_.end() && told->second == status) continue;
    kube::Call call{kube::Verb::kPatch, std::string(kube::kQueuesPath) + '/' + name + "/status"};
    call.type = kube::kMergePatch;
    call.body = json::serialize(json::object{{"status", kube::statusOf(status)}});
    call.still = [this] { return terms_.why_not().empty(); };
    const Result<json::value> done = co_await client_.ask(std::move(call));
    if (done) told_[name] = status;
    if (!done && done.error().code() != ErrorCode::kNotFound)
      say("queue " + name + ": " + done.error().message());
  }
  telling_ = false;
}

}  // namespace divvy::scheduler
