#include "preemption/preemption_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "events/pod_events.h"
#include "kube/eviction.h"
#include "queue/requeuer.h"
#include "runtime/clock.h"
#include "runtime/log.h"

// GCC 12 with -O2 takes the frame of call, which holds a pod, for one that another operator new
// made; both are Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// How often it is looked whether something is due that nobody tells of.
constexpr std::chrono::milliseconds kLook{100};
// Looked at in one go, while other requests wait; a node may take as long as one decision.
constexpr std::chrono::milliseconds kAtOnce{5};
// For one pod over all nodes: about a second of the processor.
constexpr std::uint64_t kMostTries = 50 * engine::kTriesOfDecision;
// Beside the time that victims have to end in: for kube-scheduler to come to it and bind.
constexpr std::int64_t kBindMs = 120'000;
constexpr std::int64_t kFirstCallMs = 1'000;
constexpr unsigned kMostDoublings = 5;
// Pods that end for those at the gate, before it is looked again at whom others need.
constexpr unsigned kStepsAtOnce = 8;
constexpr std::size_t kNamed = 5;  // victims in an Event

std::string nameOf(const std::string& space, const std::string& name) {
  return space + '/' + name;
}

}  // namespace

Preemptor::Preemptor(asio::any_io_executor executor, kube::Client& client, Books& books,
                     PreemptionCounts& counts, Terms terms)
    : executor_(executor),
      client_(client),
      books_(books),
      counts_(counts),
      terms_(std::move(terms)),
      watches_(executor, client, terms_.stopped),
      pause_(executor) {}

void Preemptor::start() {
  kube::Follower budgets;
  budgets.path = "/apis/policy/v1/poddisruptionbudgets";
  budgets.set = [this](const json::value& object) {
    Result<kube::DisruptionBudget> budget = kube::budgetOf(object);
    if (budget) budgets_.set(std::move(*budget));
    // The API server heeds it all the same.
    if (!budget) say("a disruption budget cannot be read: " + budget.error().message());
  };
  budgets.gone = [this](const std::string& uid, const std::string&) { budgets_.remove(uid); };
  budgets.synced = [] {};
  budgets.trouble = [](const Error& error) { say(error.message()); };
  watches_.follow("disruption budgets", std::move(budgets));
  asio::co_spawn(executor_, run(), rethrow);
}

Result<void> Preemptor::see(const kube::Pod& pod) {
  const std::string& uid = pod.meta.uid;
  Result<void> set = lodgers_.set(pod);
  const auto course = courses_.find(uid);
  if (!pod.node.empty() || pod.ended() || pod.meta.deleting) {
    if (course != courses_.end() && pod.node == course->second.plan.node) ++counts_.bound;
    end(uid);
  } else if (course != courses_.end()) {
    course->second.pod = pod;
  }
  if (!courses_.empty()) wake();
  return set;
}

void Preemptor::gone(const std::string& uid) {
  lodgers_.remove(uid);
  end(uid);
  if (!courses_.empty()) wake();
}

void Preemptor::refused(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  if (pod.preempts && lodgers_.anyBelow(pod.priority)) contenders_.refused(pod, nodes, now());
}

void Preemptor::offered(const kube::Pod& pod, std::span<const std::string_view> nodes) {
  if (pod.preempts && lodgers_.anyBelow(pod.priority)) contenders_.offered(pod, nodes, now());
}

void Preemptor::forget() {
  contenders_.clear();
  for (const auto& [uid, course] : courses_) books_.unclaim(uid);
  courses_.clear();
  if (clearances_ != nullptr) clearances_->forget();
}

void Preemptor::end(const std::string& uid) {
  contenders_.drop(uid);
  if (courses_.erase(uid) > 0) books_.unclaim(uid);
}

bool Preemptor::waitsStill(const std::string& uid) const {
  return contenders_.has(uid) && terms_.why_not().empty();
}

PreemptionTerms Preemptor::terms() const {
  constexpr std::int64_t kNano = 1'000'000'000;
  return {books_.config(), books_.pools(), terms_.min_runtime, wallNanoseconds() / kNano};
}

Result<std::optional<Claimant>> Preemptor::claimantOf(const kube::Pod& pod) const {
  Result<std::optional<engine::Request>> request = books_.asksOf(pod);
  if (!request) return request.error();
  if (!*request) return std::optional<Claimant>();
  const Result<Room> room = roomOf(pod);
  if (!room) return room.error();
  return std::optional(Claimant{pod.meta.uid, pod.priority, *room, std::move(**request)});
}

asio::awaitable<void> Preemptor::run() {
  while (!*terms_.stopped) {
    pause_.expires_after(kLook);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
    counts_.under_way = courses_.size() + (clearances_ == nullptr ? 0 : clearances_->underWay());
    if (!terms_.why_not().empty()) {
      forget();
      continue;
    }
    if (!watches_.known()) continue;
    co_await advance();
    for (const kube::Meta& one : contenders_.stale(now())) {
      const Waiting asked{one.space, one.name};
      co_await tell(kickOf(asked));
    }
    if (std::optional<Contender> contender = contenders_.next(now()))
      co_await attempt(std::move(*contender));
    if (clearances_ != nullptr) co_await clear();
  }
}

// Who has room by now is told; who had none in time has none kept any more.
asio::awaitable<void> Preemptor::advance() {
  std::vector<std::string> uids;
  for (const auto& [uid, course] : courses_) uids.push_back(uid);
  for (const std::string& uid : uids) {
    const auto at = courses_.find(uid);
    if (at == courses_.end()) continue;
    Course& course = at->second;
    if (course.until <= now()) {
      ++counts_.expired;
      say("pod " + nameOf(course.pod.meta.space, course.pod.meta.name) + " was not bound to " +
          course.plan.node + " in time: what others left there is everybody's again");
      courses_.erase(at);
      books_.unclaim(uid);
      continue;
    }
    if (course.next_call > now()) continue;
    const std::optional<Premises> premises = books_.premises(course.plan.node);
    if (!premises) {
      course.failed = true;
      continue;
    }
    const Result<bool> fits = fitsNow(*premises, course.claimant, lodgers_, terms());
    if (fits && *fits) {
      course.next_call = {now().ms + (kFirstCallMs << std::min(course.calls, kMostDoublings))};
      ++course.calls;
      co_await call(course);
      continue;
    }
    // Nobody is left who could still make room: others came in between.
    const std::vector<const Lodger*> there = lodgers_.on(course.plan.node);
    const bool going =
        std::any_of(there.begin(), there.end(), [](const Lodger* one) { return one->going; });
    if (!going && !course.failed) {
      course.failed = true;
      ++counts_.broken;
      contenders_.failed(uid, now());
    }
  }
}

asio::awaitable<void> Preemptor::call(Course course) {
  const kube::Meta& meta = course.pod.meta;
  if (course.pod.nominated != course.plan.node)
    co_await tell(nominateCall(meta.space, meta.name, meta.uid, course.plan.node));
  const Waiting waiting{meta.space, meta.name};
  co_await tell(kickOf(waiting));
}

asio::awaitable<void> Preemptor::tell(kube::Call call) {
  call.still = [this] { return terms_.why_not().empty(); };
  const Result<json::value> told = co_await client_.ask(std::move(call));
  if (!told && told.error().code() != ErrorCode::kNotFound) say(told.error().message());
}

std::optional<PreemptionPlan> Preemptor::planAt(const std::string& node, const Claimant& claimant,
                                                Withheld* withheld) const {
  const std::optional<Premises> premises = books_.premises(node);
  if (!premises) return std::nullopt;
  Result<std::optional<PreemptionPlan>> plan =
      planOn(*premises, claimant, lodgers_, budgets_, terms(), withheld);
  if (!plan) say("node " + node + ": " + plan.error().message());
  return plan ? std::move(*plan) : std::nullopt;
}

// The cheapest of all nodes; of equals the first by name.
asio::awaitable<std::optional<PreemptionPlan>> Preemptor::choose(const Contender& contender,
                                                                 const Claimant& claimant,
                                                                 Withheld* withheld) {
  std::optional<PreemptionPlan> best;
  std::size_t looked_at = 0;
  auto since = std::chrono::steady_clock::now();
  for (const std::string& node : contender.nodes) {
    if (withheld->tries >= kMostTries) {
      withheld->unsearched = contender.nodes.size() - looked_at;
      break;
    }
    std::optional<PreemptionPlan> plan = planAt(node, claimant, withheld);
    if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
    ++looked_at;
    if (std::chrono::steady_clock::now() - since < kAtOnce) continue;
    co_await asio::post(executor_, asio::use_awaitable);
    if (!waitsStill(claimant.uid)) co_return std::nullopt;
    since = std::chrono::steady_clock::now();
  }
  if (!best) co_return best;
  // Others came and went meanwhile.
  Withheld again;
  co_return planAt(best->node, claimant, &again);
}

asio::awaitable<void> Preemptor::attempt(Contender contender) {
  const std::string uid = contender.pod.meta.uid;
  const auto known = courses_.find(uid);
  if (known != courses_.end() && !known->second.failed) {
    contenders_.rest(uid, known->second.until);
    co_return;
  }
  Result<std::optional<Claimant>> claimant = claimantOf(contender.pod);
  if (!claimant || !*claimant) {
    contenders_.drop(uid);
    co_return;
  }
  Withheld withheld;
  std::optional<PreemptionPlan> plan = co_await choose(contender, **claimant, &withheld);
  if (!waitsStill(uid)) co_return;
  contenders_.failed(uid, now());  // until it is bound
  if (withheld.unsearched > 0) {
    ++counts_.cut;
    say("pod " + nameOf(contender.pod.meta.space, contender.pod.meta.name) + ": victims on " +
        std::to_string(withheld.unsearched) + " of " + std::to_string(contender.nodes.size()) +
        " nodes were not sought: its containers ask for shares of too many different sizes");
  }
  if (!plan) {
    ++counts_.none;
    co_return;
  }
  std::int64_t grace = 0;
  for (const std::string& victim : plan->victims)
    if (const Lodger* one = lodgers_.find(victim)) grace = std::max(grace, one->grace);
  for (const Lodger* one : lodgers_.on(plan->node))
    if (one->going) grace = std::max(grace, one->grace);
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Instant until{now().ms + grace * kMsPerSecond + kBindMs};
  const Result<void> claimed = books_.claim(contender.pod, plan->placement, until);
  if (!claimed) co_return;
  ++counts_.planned;
  courses_.insert_or_assign(
      uid, Course{std::move(contender.pod), std::move(**claimant), std::move(*plan), until});
  co_await carryOut(uid);
}

// One after the other: who is not asked to end because it came to nothing before stays.
asio::awaitable<void> Preemptor::carryOut(std::string uid) {
  const Course begun = courses_.at(uid);
  const kube::Meta& meta = begun.pod.meta;
  const std::vector<std::string>& victims = begun.plan.victims;
  std::string who;
  for (std::size_t at = 0; at < victims.size() && at < kNamed; ++at)
    if (const Lodger* one = lodgers_.find(victims[at]))
      who += (at == 0 ? "" : ", ") + nameOf(one->space, one->name);
  if (victims.size() > kNamed) who += " and others";
  const std::string what = victims.empty()
                               ? "waits for pods that are ending on " + begun.plan.node
                               : std::to_string(victims.size()) +
                                     (victims.size() == 1 ? " pod ends" : " pods end") +
                                     " for it (priority " + std::to_string(begun.pod.priority) +
                                     ") on " + begun.plan.node + ": " + who;
  say("pod " + nameOf(meta.space, meta.name) + ": " + what);
  co_await tell(nominateCall(meta.space, meta.name, meta.uid, begun.plan.node));
  for (const std::string& victim : victims) {
    // By a copy: it may be gone while we wait for answers.
    const Lodger* there = lodgers_.find(victim);
    if (there == nullptr || there->going) continue;
    const Lodger one = *there;
    if (!courses_.contains(uid)) co_return;
    // Who is bound, or gone, needs nobody's end any more.
    std::function<bool()> still = [this, uid] {
      return terms_.why_not().empty() && courses_.contains(uid);
    };
    std::string why = "ends on " + one.node + " for pod " + nameOf(meta.space, meta.name) +
                      " (uid " + uid + "): its priority is " + std::to_string(begun.pod.priority) +
                      ", this one's " + std::to_string(one.priority);
    const bool goes = co_await evict(one, std::move(still), "Preempted", std::move(why));
    if (goes) continue;
    const auto course = courses_.find(uid);
    if (course == courses_.end()) co_return;
    course->second.failed = true;
    ++counts_.broken;
    contenders_.failed(uid, now());
    co_return;
  }
  EventNote note{meta.space, meta.name, meta.uid, "Preempting", what};
  co_await tell(eventCall(note, terms_.scheduler, wallNanoseconds()));
}

asio::awaitable<bool> Preemptor::evict(Lodger victim, std::function<bool()> still,
                                       const char* reason, std::string why) {
  kube::EvictionAsk ask{victim.space, victim.name, victim.uid};
  ask.still = std::move(still);
  const Result<kube::Eviction> answer = co_await kube::evict(client_, std::move(ask));
  const std::string named = nameOf(victim.space, victim.name);
  if (!answer) {
    ++counts_.unanswered;
    say(answer.error().message());
    co_return false;
  }
  switch (answer->end) {
    case kube::EvictionEnd::kGone:
      ++counts_.gone;
      lodgers_.leaves(victim.uid);
      co_return true;
    case kube::EvictionEnd::kForbidden:
      ++counts_.forbidden;
      say(named + " stays: " + answer->why);
      co_return false;
    case kube::EvictionEnd::kRefused:
      ++counts_.refused;
      say(named + " stays: " + answer->why);
      co_return false;
    case kube::EvictionEnd::kEvicted:
      break;
  }
  ++counts_.evicted;
  lodgers_.leaves(victim.uid);
  EventNote note{victim.space, victim.name, victim.uid, reason, std::move(why)};
  co_await tell(eventCall(note, terms_.scheduler, wallNanoseconds()));
  co_return true;
}

// For those that wait at the gate. Of each that is refused the plan ends; what was evicted stays
// so.
asio::awaitable<void> Preemptor::clear() {
  clearances_->advance();
  for (unsigned steps = 0; steps < kStepsAtOnce; ++steps) {
    const std::optional<Clearances::Step> step = clearances_->next();
    if (!step) co_return;
    say(nameOf(step->victim.space, step->victim.name) + ' ' + step->why);
    std::function<bool()> still = [this, step] { return ready() && clearances_->stands(*step); };
    const bool goes = co_await evict(step->victim, std::move(still), step->reason, step->why);
    clearances_->answered(*step, goes);
  }
}

}  // namespace divvy::scheduler
