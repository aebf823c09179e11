#include "preemption/gated_preemption.h"

#include <algorithm>
#include <utility>

namespace divvy::scheduler {
namespace {

// At a time.
constexpr std::size_t kMostCourses = 32;
// Looked at for one plan: the first of those who may be asked.
constexpr std::size_t kMostAsked = 512;
constexpr std::size_t kMostTries = 1024;
// As often as long as a plan took there is none: others want to be answered meanwhile.
constexpr std::int64_t kRest = 9;
// Of one plan so many groups are looked at for whether it does without them.
constexpr std::size_t kMostSpared = 32;
// Beside the time that victims have to end in: for their room to be given away.
constexpr std::int64_t kStartMs = 120'000;
constexpr std::int64_t kFirstPauseMs = 1'000;
constexpr unsigned kMostDoublings = 6;

std::set<std::string> uidsOf(const Need& need) {
  std::set<std::string> uids;
  for (const kube::Pod& pod : need.pods) uids.insert(pod.meta.uid);
  return uids;
}

std::string countOf(std::size_t count, const char* one, const char* more) {
  return std::to_string(count) + (count == 1 ? one : more);
}

}  // namespace

// What queues have, as it would be: all is as it was afterwards.
class Clearances::Supposed {
 public:
  explicit Supposed(Queues& queues) : queues_(queues) {}
  ~Supposed() {
    for (const std::string& uid : added_) queues_.discharge(uid);
    for (auto& [uid, held] : taken_) queues_.charge(uid, std::move(held));
  }
  Supposed(const Supposed&) = delete;
  Supposed& operator=(const Supposed&) = delete;

  void without(const std::string& uid) {
    const auto held = queues_.held().find(uid);
    if (held == queues_.held().end()) return;
    taken_.emplace(uid, held->second);
    queues_.discharge(uid);
  }
  void again(const std::string& uid) {
    const auto held = taken_.find(uid);
    if (held == taken_.end()) return;
    queues_.charge(uid, std::move(held->second));
    taken_.erase(held);
  }
  void with(const std::string& name, Queues::Held held) {
    added_.push_back(name);
    queues_.charge(name, std::move(held));
  }

 private:
  Queues& queues_;
  std::map<std::string, Queues::Held> taken_;
  std::vector<std::string> added_;
};

Clearances::Clearances(Books& books, Queues& queues, const Lodgers& lodgers, const Budgets& budgets,
                       PreemptionCounts& counts, Terms terms)
    : books_(books),
      queues_(queues),
      lodgers_(lodgers),
      budgets_(budgets),
      counts_(counts),
      terms_(std::move(terms)) {}

PreemptionTerms Clearances::terms() const {
  return {books_.config(), {}, terms_.min_runtime, terms_.calendar()};
}

// ---- what is under way --------------------------------------------------------------------------

std::optional<std::string> Clearances::want(const Need& need) {
  const auto known = courses_.find(need.key);
  if (known != courses_.end()) {
    const bool same = uidsOf(known->second.need) == uidsOf(need);
    if (same && !spent(known->second)) return known->second.text;
    ++countsOf(known->second.plan).broken;
    end(need.key);
  }
  const engine::Instant began = terms_.now();
  if (!terms_.ready() || courses_.size() >= kMostCourses || began < rest_until_)
    return std::nullopt;
  if (!mayTry(need.key)) return std::nullopt;
  std::optional<Plan> plan = planFor(need);
  const engine::Instant ended = terms_.now();
  rest_until_ = {ended.ms + (ended.ms - began.ms) * kRest};
  if (!plan || !begin(need, std::move(*plan))) return std::nullopt;
  return courses_.at(need.key).text;
}

// All who make room are gone, and there was none all the same.
bool Clearances::spent(const Course& course) const {
  return !course.leaving.empty() &&
         std::none_of(course.leaving.begin(), course.leaving.end(),
                      [&](const std::string& uid) { return lodgers_.find(uid) != nullptr; });
}

bool Clearances::mayTry(const std::string& key) {
  const engine::Instant now = terms_.now();
  // Of those who were not heard of for longest nothing is remembered.
  if (tries_.size() >= kMostTries && !tries_.contains(key))
    tries_.erase(std::min_element(tries_.begin(), tries_.end(), [](const auto& a, const auto& b) {
      return a.second.next < b.second.next;
    }));
  Try& one = tries_[key];
  if (one.next > now) return false;
  one.next = {now.ms + (kFirstPauseMs << std::min(one.count, kMostDoublings))};
  ++one.count;
  return true;
}

bool Clearances::begin(const Need& need, Plan plan) {
  std::int64_t grace = 0;
  std::set<std::string> leaving(plan.victims.begin(), plan.victims.end());
  for (const engine::Placement& place : plan.places)
    for (const Lodger* one : lodgers_.on(place.node.text))
      if (one->going) leaving.insert(one->uid);
  // It is not on the devices that they are in the way.
  if (leaving.empty())
    for (const std::string& uid : lodgers_.going()) leaving.insert(uid);
  for (const std::string& uid : leaving)
    if (const Lodger* one = lodgers_.find(uid)) grace = std::max(grace, one->grace);
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Instant until{terms_.now().ms + grace * kMsPerSecond + kStartMs};
  for (std::size_t i = 0; i < need.pods.size(); ++i) {
    if (books_.claim(need.pods[i], plan.places[i], until)) continue;
    while (i-- > 0) books_.unclaim(need.pods[i].meta.uid);
    return false;
  }
  ++countsOf(plan).planned;
  std::string text = plan.victims.empty()
                         ? "waits for pods that are ending"
                         : countOf(plan.victims.size(), " pod ends", " pods end") + " for it";
  text += plan.terms.below ? ": of lower priority"
                           : ": queue " + need.queue + " takes back what others borrowed";
  std::vector<std::string> to_ask(plan.victims.rbegin(), plan.victims.rend());
  courses_.insert_or_assign(
      need.key, Course{need, std::move(plan), std::move(leaving), std::move(to_ask), until,
                       std::move(text), ++courses_begun_});
  return true;
}

void Clearances::end(const std::string& key) {
  const auto at = courses_.find(key);
  if (at == courses_.end()) return;
  for (const kube::Pod& pod : at->second.need.pods) books_.unclaim(pod.meta.uid);
  courses_.erase(at);
}

void Clearances::started(const std::string& key) {
  const auto at = courses_.find(key);
  if (at != courses_.end()) ++countsOf(at->second.plan).started;
  end(key);
  tries_.erase(key);
}

void Clearances::drop(const std::string& uid) {
  tries_.erase(uid);
  std::vector<std::string> keys;
  for (const auto& [key, course] : courses_)
    if (uidsOf(course.need).contains(uid)) keys.push_back(key);
  for (const std::string& key : keys) {
    ++countsOf(courses_.at(key).plan).broken;
    end(key);
  }
}

void Clearances::forget() {
  while (!courses_.empty()) end(courses_.begin()->first);
  tries_.clear();
}

void Clearances::advance() {
  std::vector<std::string> keys;
  for (const auto& [key, course] : courses_)
    if (course.until <= terms_.now()) keys.push_back(key);
  for (const std::string& key : keys) {
    ++countsOf(courses_.at(key).plan).expired;
    // A dead node's pods, or those whose finalizers hang, end nobody knows when.
    const std::set<std::string>& leaving = courses_.at(key).leaving;
    stuck_.insert(leaving.begin(), leaving.end());
    end(key);
  }
  std::erase_if(stuck_, [&](const std::string& uid) { return lodgers_.find(uid) == nullptr; });
}

// Others may have ended since by themselves, or be protected now.
bool Clearances::stillOwed(const Course& course) {
  Plan left = course.plan;
  std::erase_if(left.victims, [&](const std::string& uid) {
    const Lodger* one = lodgers_.find(uid);
    return one == nullptr || one->going;
  });
  Supposed supposed(queues_);
  supposeOthers(course.need, &supposed);
  engine::ReclaimTerms terms = course.plan.terms;
  if (!terms.below && !queues_.reclaims(course.need.queue)) return false;
  // fair() asks nobody else: whether others might end is nothing to it.
  terms.spared = sparedOf(left.victims);
  if (!fair(course.need, std::move(terms), left)) return false;
  for (const std::string& uid : left.victims) supposed.without(uid);
  const bool may = admitted(course.need, left.use);
  for (const std::string& uid : left.victims) supposed.again(uid);
  return may;
}

std::string Clearances::whyOf(const Course& course, const Lodger& victim) const {
  const kube::Pod& first = course.need.pods.front();
  const std::size_t count = course.need.pods.size();
  const std::string named = first.meta.space + '/' + first.meta.name;
  std::string text = "ends on " + victim.node + " for ";
  text += count == 1 ? "pod " + named
                     : std::to_string(count) + " pods that start together, as " + named;
  if (!course.need.queue.empty()) text += " of queue " + course.need.queue;
  if (!course.plan.terms.below) return text + ", which is guaranteed what was borrowed";
  return text + ": its priority is " + std::to_string(*course.plan.terms.below) + ", this one's " +
         std::to_string(victim.priority);
}

std::optional<Clearances::Step> Clearances::next() {
  if (!terms_.ready()) return std::nullopt;
  std::set<std::string> over;
  std::optional<Step> step;
  for (auto at = courses_.begin(); at != courses_.end() && !step; ++at) {
    auto& [key, course] = *at;
    if (course.until <= terms_.now()) continue;  // nothing is kept for them any more
    while (!course.to_ask.empty() && !step) {
      const Lodger* one = lodgers_.find(course.to_ask.back());
      course.to_ask.pop_back();
      if (one == nullptr || one->going) continue;
      if (!stillOwed(course)) {
        over.insert(key);
        break;
      }
      step = Step{key, course.serial, *one, course.plan.terms.below ? "Preempted" : "Reclaimed",
                  whyOf(course, *one)};
    }
  }
  for (const std::string& key : over) {
    ++countsOf(courses_.at(key).plan).broken;
    end(key);
  }
  return step;
}

void Clearances::answered(const Step& step, bool goes) {
  if (goes || !stands(step)) return;
  ++countsOf(courses_.at(step.key).plan).broken;
  end(step.key);
}

// ---- who has to end -----------------------------------------------------------------------------

// Told to end, and not known for not doing so.
std::set<std::string> Clearances::going() const {
  std::set<std::string> gone;
  for (const std::string& uid : lodgers_.going())
    if (!stuck_.contains(uid)) gone.insert(uid);
  return gone;
}

// These, or to be told for others than that one.
std::set<std::string> Clearances::goneBySoon(const std::string& but) const {
  std::set<std::string> gone = going();
  for (const auto& [key, course] : courses_)
    if (key != but) gone.insert(course.plan.victims.begin(), course.plan.victims.end());
  return gone;
}

// What others of the same queue are about to get is a part of what that is owed. Of other queues it
// makes nobody borrow more: it may come to nothing.
void Clearances::supposeOthers(const Need& need, Supposed* supposed) const {
  for (const std::string& uid : goneBySoon(need.key)) supposed->without(uid);
  for (const auto& [key, course] : courses_)
    if (key != need.key && course.need.queue == need.queue)
      supposed->with("claim of " + key, {course.need.queue, course.plan.use, {}});
}

// Who may not end now, and who is to end for others than that one: these may come to nothing, so
// that nothing is built on them.
std::set<engine::JobName> Clearances::spared(const std::string& but) const {
  std::vector<std::string> uids;
  uids.reserve(queues_.held().size());
  for (const auto& [uid, held] : queues_.held()) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  std::set<engine::JobName> all = sparedOf(uids);
  for (const auto& [key, course] : courses_)
    if (key != but)
      for (const std::string& uid : course.plan.victims) all.emplace(uid);
  return all;
}

// Of these those who may not end now.
std::set<engine::JobName> Clearances::sparedOf(const std::vector<std::string>& uids) const {
  std::set<engine::JobName> all;
  const PreemptionTerms terms = this->terms();
  Withheld withheld;
  for (const std::string& uid : uids) {
    const Lodger* one = lodgers_.find(uid);
    if (one == nullptr || !mayEnd(*one, budgets_, terms, &withheld)) all.emplace(uid);
  }
  return all;
}

ClearanceCounts& Clearances::countsOf(const Plan& plan) {
  return plan.terms.below ? counts_.gated : counts_.reclaims;
}

// What is owed goes first; only where nothing is, or that is not enough, priorities count.
std::vector<engine::ReclaimTerms> Clearances::waysFor(const Need& need, bool reclaims) {
  std::vector<engine::ReclaimTerms> ways;
  if (reclaims) ways.emplace_back();
  std::int64_t lowest = need.pods.front().priority;
  bool all = true;
  for (const kube::Pod& pod : need.pods) {
    lowest = std::min(lowest, pod.priority);
    all = all && pod.preempts;
  }
  if (!all) return ways;
  ways.emplace_back().below = lowest;
  ways.back().borrowed = reclaims;
  return ways;
}

std::optional<Clearances::Plan> Clearances::planFor(const Need& need) {
  const bool reclaims = !need.queue.empty() && queues_.reclaims(need.queue);
  const std::set<std::string> gone = going();
  Supposed supposed(queues_);
  supposeOthers(need, &supposed);
  const std::set<engine::JobName> spared = this->spared(need.key);
  for (engine::ReclaimTerms& way : waysFor(need, reclaims)) {
    const engine::ReclaimTerms said = way;
    way.spared = spared;
    for (const bool together : {true, false}) {
      way.together = together;
      std::optional<Plan> plan = tryPlan(need, way, gone, &supposed);
      if (plan) plan->terms = said;
      if (plan) return plan;
    }
    ++(said.below ? counts_.gated : counts_.reclaims).none;
  }
  return std::nullopt;
}

engine::Stakes Clearances::stakesOf(const Queues::Groups& groups,
                                    const PreemptionTerms& terms) const {
  engine::Stakes stakes;
  for (const std::vector<std::string>& group : groups) {
    if (stakes.of.size() + group.size() > kMostAsked) continue;
    for (const std::string& uid : group)
      if (const Lodger* one = lodgers_.find(uid)) stake(*one, budgets_, terms, &stakes);
  }
  return stakes;
}

// How much it is that they want depends on where they fit: first whoever might be asked is, then by
// what that came to.
std::optional<Clearances::Plan> Clearances::tryPlan(const Need& need,
                                                    const engine::ReclaimTerms& terms,
                                                    const std::set<std::string>& gone,
                                                    Supposed* supposed) {
  const std::vector<std::string> without(gone.begin(), gone.end());
  std::optional<std::vector<ModelUse>> use;
  for (int round = 0; round < 2; ++round) {
    const engine::Stakes stakes = stakesOf(queues_.givers(need.queue, use, terms), this->terms());
    if (stakes.of.empty() && gone.empty()) return std::nullopt;
    Result<std::optional<Clearing>> found = books_.clearing(need.pods, without, stakes);
    if (!found || !*found) return std::nullopt;
    Plan plan;
    plan.victims = std::move((*found)->victims);
    plan.places = std::move((*found)->places);
    plan.use = std::move((*found)->use);
    use = plan.use;
    if (accept(need, terms, gone, &plan, supposed)) return plan;
  }
  return std::nullopt;
}

// All of them may be asked at once, and then the queue may have that much.
bool Clearances::accept(const Need& need, const engine::ReclaimTerms& terms,
                        const std::set<std::string>& gone, Plan* plan, Supposed* supposed) {
  if (!fair(need, terms, *plan)) return false;
  const std::size_t chosen = plan->victims.size();
  for (const std::string& uid : plan->victims) supposed->without(uid);
  const bool enough = addForQueue(need, terms, plan, supposed);
  if (enough && chosen > 0 && plan->victims.size() > chosen)
    spareOthers(need, gone, plan, supposed);
  for (const std::string& uid : plan->victims) supposed->again(uid);
  if (!enough || (plan->victims.empty() && gone.empty())) return false;
  return roomBesideDevices(need, gone, *plan);
}

// Nobody ends for who would not find processors and memory then.
bool Clearances::roomBesideDevices(const Need& need, const std::set<std::string>& gone,
                                   const Plan& plan) const {
  std::set<std::string> without = gone;
  without.insert(plan.victims.begin(), plan.victims.end());
  std::vector<Rooms::Guest> guests;
  for (std::size_t i = 0; i < need.pods.size(); ++i)
    guests.push_back({&need.pods[i], plan.places[i].node.text});
  return Rooms(books_, lodgers_).over(guests, without).empty();
}

// Who has to end for the queue may make the room that others were chosen for.
void Clearances::spareOthers(const Need& need, const std::set<std::string>& gone, Plan* plan,
                             Supposed* supposed) {
  std::map<std::string, std::set<std::string>> together;
  for (const std::string& uid : plan->victims) {
    const Lodger* one = lodgers_.find(uid);
    together[one == nullptr || one->group.empty() ? uid : one->group].insert(uid);
  }
  std::size_t looked_at = 0;
  for (const auto& [name, group] : together) {
    if (++looked_at > kMostSpared) break;
    std::vector<std::string> left;
    for (const std::string& uid : plan->victims)
      if (!group.contains(uid)) left.push_back(uid);
    std::vector<std::string> without(gone.begin(), gone.end());
    without.insert(without.end(), left.begin(), left.end());
    for (const std::string& uid : group) supposed->again(uid);
    Result<std::optional<Clearing>> found = books_.clearing(need.pods, without, {});
    if (found && *found && (*found)->victims.empty() && admitted(need, (*found)->use)) {
      plan->victims = std::move(left);
      plan->places = std::move((*found)->places);
      plan->use = std::move((*found)->use);
    } else {
      for (const std::string& uid : group) supposed->without(uid);
    }
  }
}

bool Clearances::admitted(const Need& need, const std::vector<ModelUse>& use) {
  return need.queue.empty() || !queues_.refuse(need.queue, use);
}

bool Clearances::fair(const Need& need, engine::ReclaimTerms terms, const Plan& plan) {
  const std::set<std::string> chosen(plan.victims.begin(), plan.victims.end());
  terms.only.emplace();
  for (const std::string& uid : chosen) terms.only->emplace(uid);
  terms.together = true;
  std::size_t may = 0;
  for (const auto& group : queues_.givers(need.queue, plan.use, terms)) may += group.size();
  return may == chosen.size();
}

// Who is in the way of the queue, though not on the devices: of the first who may be asked those
// without whom it is not enough.
bool Clearances::addForQueue(const Need& need, const engine::ReclaimTerms& terms, Plan* plan,
                             Supposed* supposed) {
  const auto may = [&] { return need.queue.empty() || !queues_.refuse(need.queue, plan->use); };
  if (may()) return !plan->victims.empty() || !goneBySoon(need.key).empty();
  engine::ReclaimTerms all = terms;
  all.together = true;
  Queues::Groups asked = queues_.givers(need.queue, plan->use, all);
  if (asked.size() > kMostAsked) asked.resize(kMostAsked);
  for (const auto& group : asked)
    for (const std::string& uid : group) supposed->without(uid);
  const bool enough = admitted(need, plan->use);
  for (std::size_t i = asked.size(); i-- > 0;) {
    for (const std::string& uid : asked[i]) supposed->again(uid);
    if (!enough || admitted(need, plan->use)) continue;
    for (const std::string& uid : asked[i]) supposed->without(uid);
    plan->victims.insert(plan->victims.end(), asked[i].begin(), asked[i].end());
  }
  return enough;
}

}  // namespace divvy::scheduler
