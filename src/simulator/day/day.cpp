#include "simulator/day.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <tuple>

#include "day/day_card.h"
#include "day/day_clusters.h"
#include "day/day_marks.h"
#include "day/side_by_side.h"

namespace divvy::simulator {
namespace {

constexpr double kMsPerHour = 3'600'000;
constexpr std::int64_t kBetweenSamples = 15 * 60'000;
// From when somebody is told to end until its card is free.
constexpr std::int64_t kEvictMs = 2'000;
constexpr std::size_t kMaxSeen = 1u << 20;

enum class EventKind : std::uint8_t { kSample, kCard, kBurst, kIdle, kDeparture, kArrival };

// Of those at one time cards go first: what is done makes room.
struct DayEvent {
  std::int64_t at_ms = 0;
  EventKind kind = EventKind::kArrival;
  std::size_t who = 0;  // a pod or a card
  std::uint64_t stamp = 0;
  friend bool operator>(const DayEvent& a, const DayEvent& b) {
    return std::tie(a.at_ms, a.kind, a.who, a.stamp) > std::tie(b.at_ms, b.kind, b.who, b.stamp);
  }
};

struct SimulatedCard {
  DayCard card;
  std::uint64_t stamp = 0;  // of the change that was announced last
  std::int64_t used_since_ms = 0;
};

class Day {
 public:
  Day(const Scenario& scenario, std::uint32_t overcommit, std::uint64_t seed, DayClusters clusters,
      const engine::UsageByHourPolicy& daily)
      : scenario_(scenario),
        shared_(overcommit != 0),
        pods_(podsOf(scenario, seed)),
        clusters_(std::move(clusters)),
        tenants_(pods_.size()),
        waiting_(scenario.workloads.size()) {
    stats_.overcommit = overcommit;
    stats_.daily = daily;
    stats_.pods = static_cast<double>(pods_.size());
    stats_.cluster_gpu_hours.resize(scenario.clusters.size());
    for (std::size_t i = 0; i < clusters_.cards(); ++i) {
      const Cluster& cluster = scenario.clusters[clusters_.clusterOf(i)];
      cards_.push_back({DayCard(cluster.gpu_memory, cluster.link), 0, 0});
    }
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      tenants_[i].pod = &pods_[i];
      tenants_[i].workload = &scenario.workloads[pods_[i].workload];
    }
  }

  Result<DayStats> run() {
    if (!pods_.empty()) push(pods_[0].comes_ms, EventKind::kArrival, 0);
    const auto end = static_cast<std::int64_t>(scenario_.hours * kMsPerHour);
    const auto samples = static_cast<std::size_t>(end / kBetweenSamples);
    seen_every_ = 1 + cards_.size() * samples / kMaxSeen;
    for (std::int64_t at = kBetweenSamples; at < end; at += kBetweenSamples)
      push(at, EventKind::kSample, 0);
    while (!events_.empty() && !error_) {
      const DayEvent event = events_.top();
      events_.pop();
      now_ = event.at_ms;
      handle(event);
    }
    if (error_) return *error_;
    finish();
    return stats_;
  }

 private:
  void push(std::int64_t at, EventKind kind, std::size_t who, std::uint64_t stamp = 0) {
    events_.push({at, kind, who, stamp});
  }

  void handle(const DayEvent& event) {
    switch (event.kind) {
      case EventKind::kArrival:
        return arrive(event.who);
      case EventKind::kBurst:
        return burst(event.who);
      case EventKind::kDeparture:
        return maybeLeave(event.who);
      case EventKind::kSample:
        return sample();
      case EventKind::kIdle:
        if (tenants_[event.who].stamp == event.stamp) stop(event.who);
        return;
      case EventKind::kCard:
        if (cards_[event.who].stamp == event.stamp) changed(event.who);
        return;
    }
  }

  void arrive(std::size_t pod) {
    if (pod + 1 < pods_.size()) push(pods_[pod + 1].comes_ms, EventKind::kArrival, pod + 1);
    if (!pods_[pod].bursts.empty()) push(pods_[pod].bursts[0].at_ms, EventKind::kBurst, pod);
    push(pods_[pod].leaves_ms, EventKind::kDeparture, pod);
    enqueue(pod);
  }

  void burst(std::size_t pod) {
    Tenant& tenant = tenants_[pod];
    ++tenant.come;
    if (tenant.come < pods_[pod].bursts.size())
      push(pods_[pod].bursts[tenant.come].at_ms, EventKind::kBurst, pod);
    if (tenant.stopped) {
      tenant.stopped = false;
      enqueue(pod);
    } else if (tenant.card) {
      changed(*tenant.card);
    }
  }

  // Joins those who wait for a place, and asks for all of them who may be next.
  void enqueue(std::size_t pod) {
    tenants_[pod].waiting = true;
    tenants_[pod].wants_since_ms = now_;
    waiting_[pods_[pod].workload].push_back(pod);
    placeWaiting();
  }

  // The most urgent first, then who waits longest. Pods of a workload are alike: where one has no
  // room, the others have none.
  void placeWaiting() {
    std::vector<bool> blocked(waiting_.size());
    for (;;) {
      std::size_t best = waiting_.size();
      const auto key = [&](std::size_t at) {
        const Tenant& head = tenants_[waiting_[at].front()];
        return std::tuple(head.workload->urgency, head.wants_since_ms, waiting_[at].front());
      };
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        if (waiting_[i].empty() || blocked[i]) continue;
        if (best == waiting_.size() || key(i) < key(best)) best = i;
      }
      if (best == waiting_.size() || error_) return;
      const std::size_t pod = waiting_[best].front();
      std::int64_t delay = 0;
      Result<std::optional<std::size_t>> card = clusters_.place(pod, *tenants_[pod].workload);
      if (card && !*card && scenario_.sharing.preempt && evictFor(pod)) {
        card = clusters_.place(pod, *tenants_[pod].workload);
        delay = kEvictMs;
      }
      if (!card) {
        error_ = card.error();
      } else if (*card) {
        waiting_[best].pop_front();
        assign(pod, **card, delay);
      } else {
        blocked[best] = true;
      }
    }
  }

  void assign(std::size_t pod, std::size_t at, std::int64_t delay) {
    Tenant& tenant = tenants_[pod];
    const double waited = static_cast<double>(now_ + delay - tenant.wants_since_ms) / 1000;
    waits_.add(waited);
    if (tenant.workload->urgency == Urgency::kHigh) urgent_waits_.add(waited);
    advance(at);
    SimulatedCard& state = cards_[at];
    if (!state.card.used()) {
      state.used_since_ms = now_;
      stats_.gpus_peak = std::max(stats_.gpus_peak, static_cast<double>(++used_));
    }
    tenant.waiting = false;
    tenant.card = at;
    tenant.ready_ms = now_ + delay + tenant.workload->start_ms;
    tenant.idle_since_ms = now_;
    state.card.add(tenant);
    announceIdle(pod);
    changed(at);
  }

  void advance(std::size_t card) { work_ms_ += cards_[card].card.advance(now_); }

  // Bursts that are done end, others begin, and the card's next change is announced.
  void changed(std::size_t at) {
    advance(at);
    std::vector<std::size_t> done;
    for (Tenant* tenant : cards_[at].card.tenants()) {
      const auto pod = static_cast<std::size_t>(tenant - tenants_.data());
      if (tenant->working && tenant->left == 0) {
        note(*tenant);
        tenant->working = false;
        tenant->idle_since_ms = now_;
        done.push_back(pod);
      }
      if (!tenant->working && tenant->begun < tenant->come) {
        ++tenant->begun;
        tenant->working = true;
        tenant->fetch_s = 0;
        tenant->left = tenant->burst().duty * static_cast<double>(tenant->burst().length_ms);
        ++tenant->stamp;
      }
    }
    announce(at);
    for (const std::size_t pod : done) {
      announceIdle(pod);
      maybeLeave(pod);
    }
  }

  void announce(std::size_t at) {
    SimulatedCard& state = cards_[at];
    ++state.stamp;
    if (const auto next = state.card.update(now_)) push(*next, EventKind::kCard, at, state.stamp);
  }

  void announceIdle(std::size_t pod) {
    Tenant& tenant = tenants_[pod];
    if (!shared_ || tenant.workload->idle_stop_ms == 0 || tenant.working || !tenant.card) return;
    push(now_ + tenant.workload->idle_stop_ms, EventKind::kIdle, pod, ++tenant.stamp);
  }

  void note(const Tenant& tenant) {
    const Burst& burst = tenant.burst();
    const auto length = static_cast<double>(burst.length_ms);
    const double slowdown = static_cast<double>(now_ - burst.at_ms) / length;
    const bool urgent = tenant.workload->urgency == Urgency::kHigh;
    slowdowns_.add(slowdown, burst.duty * length);
    fetches_.add(tenant.fetch_s);
    fetched_bursts_ += tenant.fetch_s > 0 ? 1 : 0;
    bursts_ += 1;
    if (!urgent) return;
    urgent_slowdowns_.add(slowdown, burst.duty * length);
    urgent_fetches_.add(tenant.fetch_s);
  }

  void stop(std::size_t pod) {
    stats_.stops += 1;
    removeFromCard(pod);
    tenants_[pod].stopped = true;
    placeWaiting();
  }

  void maybeLeave(std::size_t pod) {
    Tenant& tenant = tenants_[pod];
    const bool worked = tenant.begun == pods_[pod].bursts.size() && !tenant.working;
    if (now_ < pods_[pod].leaves_ms || !worked) return;
    if (tenant.card) {
      removeFromCard(pod);
      placeWaiting();
    } else if (tenant.waiting) {
      std::deque<std::size_t>& line = waiting_[pods_[pod].workload];
      line.erase(std::find(line.begin(), line.end(), pod));
      tenant.waiting = false;
    }
  }

  void removeFromCard(std::size_t pod) {
    Tenant& tenant = tenants_[pod];
    const std::size_t at = *tenant.card;
    advance(at);
    SimulatedCard& state = cards_[at];
    state.card.remove(tenant);
    clusters_.release(pod, at);
    tenant.card.reset();
    tenant.rate = 0;
    tenant.fetched_ms.reset();
    ++tenant.stamp;
    if (!state.card.used()) unuse(at);
    announce(at);
  }

  void unuse(std::size_t at) {
    --used_;
    const Cluster& cluster = scenario_.clusters[clusters_.clusterOf(at)];
    const double hours = static_cast<double>(now_ - cards_[at].used_since_ms) / kMsPerHour;
    stats_.gpu_hours += hours;
    stats_.cost += hours * cluster.price;
    stats_.cluster_gpu_hours[clusters_.clusterOf(at)] += hours;
  }

  bool evictFor(std::size_t pod) {
    engine::EvictionCosts costs;
    for (std::size_t at = 0; at < tenants_.size(); ++at) {
      Tenant& tenant = tenants_[at];
      if (!tenant.card || tenant.workload->kind == PodKind::kService) continue;
      if (tenant.workload->urgency <= tenants_[pod].workload->urgency) continue;
      advance(*tenant.card);
      engine::EvictionCost& cost = costs.of[engine::RequestId(std::to_string(at))];
      cost.priority = -static_cast<std::int64_t>(tenant.workload->urgency);
      cost.work_lost = static_cast<std::int64_t>(lostBy(tenant));
    }
    if (costs.of.empty()) return false;
    const auto victims = clusters_.victims(pod, *tenants_[pod].workload, costs);
    if (!victims) {
      error_ = victims.error();
      return false;
    }
    for (const std::size_t victim : *victims) evict(victim);
    return !victims->empty();
  }

  // Milliseconds of a card since the last checkpoint of what it works at.
  static double lostBy(const Tenant& tenant) {
    if (!tenant.working) return 0;
    const double done =
        tenant.burst().duty * static_cast<double>(tenant.burst().length_ms) - tenant.left;
    const double step = tenant.burst().duty * static_cast<double>(tenant.workload->checkpoint_ms);
    return step > 0 ? std::fmod(done, step) : done;
  }

  void evict(std::size_t pod) {
    Tenant& tenant = tenants_[pod];
    const double lost = lostBy(tenant);
    stats_.evictions += 1;
    stats_.lost_hours += lost / kMsPerHour;
    removeFromCard(pod);
    tenant.left += lost;
    // It waits only if it has something to do.
    if (tenant.working || tenant.workload->kind == PodKind::kBatch) {
      tenant.waiting = true;
      tenant.wants_since_ms = now_;
      waiting_[pods_[pod].workload].push_front(pod);
    } else {
      tenant.stopped = true;
    }
  }

  void sample() {
    double busy = 0;
    for (std::size_t i = 0; i < cards_.size(); ++i) {
      const DayCard& card = cards_[i].card;
      busy += card.busy();
      if (card.used() && i % seen_every_ == 0) observed_.push_back(observedOn(card));
    }
    stats_.curve.push_back(
        {static_cast<double>(now_) / kMsPerHour, static_cast<double>(used_), busy});
  }

  // Who works needs all of his memory.
  static engine::ObservedUse observedOn(const DayCard& card) {
    engine::ObservedUse observed;
    for (const Tenant* tenant : card.tenants()) {
      observed.promised = observed.promised + tenant->workload->memory;
      if (tenant->working) observed.used = observed.used + tenant->workload->memory;
    }
    return observed;
  }

  void finish() {
    double undone = 0;
    for (const Tenant& tenant : tenants_) {
      undone += tenant.working ? tenant.left : 0;
      for (std::size_t i = tenant.begun; i < tenant.pod->bursts.size(); ++i)
        undone += tenant.pod->bursts[i].duty * static_cast<double>(tenant.pod->bursts[i].length_ms);
      if (tenant.card) unuse(*tenant.card);
    }
    for (const SimulatedCard& state : cards_) stats_.fetched_tb += state.card.fetchedBytes() / 1e12;
    stats_.undone_hours = undone / kMsPerHour;
    stats_.work_hours = work_ms_ / kMsPerHour - stats_.lost_hours;
    if (stats_.gpu_hours > 0) stats_.utilisation = 100 * stats_.work_hours / stats_.gpu_hours;
    stats_.safe_overcommit = engine::safeOvercommit(observed_, gib(1), gib(1u << 17));
    stats_.wait_p50 = waits_.at(0.5, 0);
    stats_.wait_p99 = waits_.at(0.99, 0);
    stats_.urgent_wait_p99 = urgent_waits_.at(0.99, 0);
    stats_.slowdown_p50 = slowdowns_.at(0.5, 1);
    stats_.slowdown_p99 = slowdowns_.at(0.99, 1);
    stats_.urgent_slowdown_p99 = urgent_slowdowns_.at(0.99, 1);
    stats_.fetch_p99 = fetches_.at(0.99, 0);
    stats_.urgent_fetch_p99 = urgent_fetches_.at(0.99, 0);
    if (bursts_ > 0) stats_.fetches_percent = 100 * fetched_bursts_ / bursts_;
  }

  const Scenario& scenario_;
  bool shared_;
  std::vector<Pod> pods_;
  DayClusters clusters_;
  std::vector<Tenant> tenants_;  // by pod
  std::vector<SimulatedCard> cards_;
  std::vector<std::deque<std::size_t>> waiting_;  // by workload
  std::priority_queue<DayEvent, std::vector<DayEvent>, std::greater<>> events_;
  std::int64_t now_ = 0;
  std::size_t used_ = 0;
  std::vector<engine::ObservedUse> observed_;
  std::size_t seen_every_ = 1;  // of the cards: there is a bound
  double work_ms_ = 0, bursts_ = 0, fetched_bursts_ = 0;
  WeightedSamples waits_, urgent_waits_, slowdowns_, urgent_slowdowns_, fetches_, urgent_fetches_;
  DayStats stats_;
  std::optional<Error> error_;
};

}  // namespace

Result<DayStats> runDay(const Scenario& scenario, std::uint32_t overcommit, std::uint64_t seed,
                        const engine::UsageByHourPolicy& daily) {
  Result<DayClusters> clusters = DayClusters::of(scenario, overcommit, seed, daily);
  if (!clusters) return clusters.error();
  return Day(scenario, overcommit, seed, std::move(*clusters), daily).run();
}

}  // namespace divvy::simulator
