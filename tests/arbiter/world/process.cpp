#include "process.h"

#include <algorithm>

namespace divvy::arbiter::world {

Process::Process(Timeline* timeline, std::vector<Card>* cards, const Constants& constants,
                 const Habits& habits, Program program, std::uint64_t seed,
                 std::function<void()> ring)
    : timeline_(*timeline),
      cards_(*cards),
      constants_(constants),
      habits_(habits),
      program_(std::move(program)),
      random_(seed),
      ring_(std::move(ring)) {
  for (Card& card : cards_) contexts_.push_back(card.addContext());
}

void Process::start() {
  advance();
}

Nanos Process::pick(const Spread& spread) {
  return spread.least +
         static_cast<Nanos>(random_() % static_cast<std::uint64_t>(spread.most - spread.least + 1));
}

Nanos Process::got(unsigned device) {
  return cards_[device].got(contexts_[device]);
}

void Process::told(const Order& order, std::uint64_t seq) {
  order_ = order;
  seq_ = seq;
  if (order.gate == Gate::kHold) lookDrained();
  advance();
}

// Estimated time of what is in flight.
Nanos Process::outstanding(unsigned device) const {
  const InFlight& there = in_flight_on_[device];
  return there.kernels == 0 ? 0 : std::max(there.end - timeline_.now(), Nanos{0});
}

Nanos Process::inflightUntil() const {
  Nanos last = 0;
  for (const InFlight& there : in_flight_on_)
    if (there.kernels > 0) last = std::max(last, there.end);
  return in_flight_ ? last : 0;
}

bool Process::admitted(const Step& step) const {
  if (order_.gate == Gate::kHold) return false;
  const bool open = order_.gate == Gate::kOpen;
  const Nanos bound = open ? habits_.open_bound : order_.inflight;
  const InFlight& there = in_flight_on_[step.device];
  if (there.kernels == 0 || there.time + step.time <= bound) return true;
  const Nanos left = outstanding(step.device);
  if (left + step.time <= bound && there.kernels == 1) return true;
  // One long kernel follows another without a hole.
  return there.kernels == 1 && left <= std::min(bound / 4, 500 * kMicrosecond);
}

void Process::setWaiting(bool waiting) {
  at_gate_ = waiting;
  // Waiting for what is in flight is no waiting for others.
  if (order_.gate != Gate::kHold) waiting = false;
  if (waiting == waiting_) return;
  waiting_ = waiting;
  ring_();
}

void Process::advance() {
  while (!ended_ && !asleep_) {
    if (!has_step_) {
      step_ = program_(random_, timeline_.now());
      has_step_ = true;
    }
    if (step_.kind == Step::Kind::kEnd) {
      if (unfinished_ > 0) return;
      ended_ = true;
      ring_();
      return;
    }
    if (step_.kind == Step::Kind::kSync && unfinished_ > 0) return;
    if (step_.kind == Step::Kind::kLaunch) {
      if (!admitted(step_)) {
        setWaiting(true);
        // What is in flight will be short enough by itself.
        const Nanos margin = std::min(order_.inflight / 4, 500 * kMicrosecond);
        const Nanos left = outstanding(step_.device);
        if (order_.gate == Gate::kRun && in_flight_on_[step_.device].kernels == 1 && left > margin)
          timeline_.in(left - margin, [this] { advance(); });
        return;
      }
      submit(step_);
      setWaiting(false);
    }
    has_step_ = false;
    const Nanos pause = step_.kind == Step::Kind::kLaunch  ? habits_.launch_cost
                        : step_.kind == Step::Kind::kSleep ? step_.time
                                                           : 0;
    if (pause == 0) continue;
    asleep_ = true;
    timeline_.in(pause, [this] {
      asleep_ = false;
      advance();
    });
  }
}

void Process::submit(Step step) {
  const Nanos now = timeline_.now();
  ++unfinished_;
  InFlight& there = in_flight_on_[step.device];
  ++there.kernels;
  there.time += step.time;
  there.end = std::max(there.end, now) + step.time;
  last_activity_ = now;
  if (order_.gate != Gate::kOpen && !in_flight_) {
    in_flight_ = true;
    ring_();
  }
  Kernel kernel;
  kernel.left = step.time;
  kernel.released = step.released;
  kernel.done = [this, device = step.device, length = step.time,
                 done = std::move(step.done)](Nanos elapsed) {
    if (done) done();
    finished(device, length, elapsed);
  };
  cards_[step.device].submit(contexts_[step.device], std::move(kernel));
}

void Process::finished(unsigned device, Nanos length, Nanos elapsed) {
  const Nanos now = timeline_.now();
  --unfinished_;
  InFlight& there = in_flight_on_[device];
  --there.kernels;
  there.time -= length;
  there.end = now + there.time;
  last_activity_ = now;
  if (order_.gate != Gate::kOpen) {
    timeline_.in(pick(habits_.settle), [this, device, elapsed] {
      if (!habits_.lies) busy_[device] += elapsed;
      lookDrained();
    });
  }
  if (unfinished_ == 0) {
    timeline_.in(constants_.idle, [this, now] {
      if (unfinished_ > 0 || last_activity_ != now || !in_flight_) return;
      in_flight_ = false;
      ring_();
    });
  }
  lookDrained();
  advance();
}

void Process::lookDrained() {
  if (order_.gate != Gate::kHold || drained_ == seq_) return;
  Nanos longest = 0;
  for (unsigned device = 0; device < contexts_.size(); ++device) {
    if (in_flight_on_[device].kernels == 0) continue;
    const Nanos left = outstanding(device);
    // Nobody knows about more than one, or one that is late.
    if (in_flight_on_[device].kernels > 1 || left == 0) return;
    longest = std::max(longest, left);
  }
  if (longest > order_.overlap) {
    timeline_.in(longest - order_.overlap, [this] { lookDrained(); });
    return;
  }
  drained_ = seq_;
  ring_();
}

}  // namespace divvy::arbiter::world
