// A process of a tenant: a program that launches kernels, and the gate before it as the interposer
// has it: it holds, bounds what is in flight, drains, settles, and says what it does.
#pragma once

#include <array>
#include <functional>
#include <random>
#include <vector>

#include "card.h"

namespace divvy::arbiter::world {

using Random = std::mt19937_64;

// What a program does next.
struct Step {
  enum class Kind { kLaunch, kSync, kSleep, kEnd } kind = Kind::kEnd;
  unsigned device = 0;
  Nanos time = 0;                  // of the kernel, or of the sleep
  const bool* released = nullptr;  // the kernel spins until then
  std::function<void()> done;      // the kernel has ended
};
inline Step launch(Nanos time, unsigned device = 0) {
  return {Step::Kind::kLaunch, device, time, nullptr, {}};
}
inline Step sync() {
  return {Step::Kind::kSync, 0, 0, nullptr, {}};
}
inline Step sleepFor(Nanos time) {
  return {Step::Kind::kSleep, 0, time, nullptr, {}};
}

// Called whenever the one before is done; kEnd: the program has ended.
using Program = std::function<Step(Random& random, Nanos now)>;

// Uniform between the two.
struct Spread {
  Nanos least;
  Nanos most;
};

struct Habits {
  Spread settle{20 * kMicrosecond,
                200 * kMicrosecond};  // from a kernel's end until it is accounted
  Nanos launch_cost = 3 * kMicrosecond;
  Nanos open_bound = 8 * kMillisecond;  // what a program has in flight where nobody bounds it
  bool lies = false;                    // accounts nothing
};

class Process {
 public:
  // `ring`: something changed that the arbiter may wait for.
  Process(Timeline* timeline, std::vector<Card>* cards, const Constants& constants,
          const Habits& habits, Program program, std::uint64_t seed, std::function<void()> ring);

  void start();
  // Launches nothing any more.
  void kill() { ended_ = true; }
  // The agent's word has reached it.
  void told(const Order& order, std::uint64_t seq);

  // What it says.
  bool waiting() const { return waiting_; }
  bool inFlight() const { return in_flight_; }
  std::uint64_t drained() const { return drained_; }
  Nanos inflightUntil() const;
  Nanos busy(unsigned device) const { return busy_[device]; }

  bool ended() const { return ended_; }
  bool atTheGate() const { return at_gate_; }  // the truth, whatever it says
  bool idle() const { return unfinished_ == 0 && !at_gate_; }
  Nanos got(unsigned device);

 private:
  void advance();
  bool admitted(const Step& step) const;
  Nanos outstanding(unsigned device) const;
  void submit(Step step);
  void finished(unsigned device, Nanos length, Nanos elapsed);
  void lookDrained();
  void setWaiting(bool waiting);
  Nanos pick(const Spread& spread);

  Timeline& timeline_;
  std::vector<Card>& cards_;
  Constants constants_;
  Habits habits_;
  Program program_;
  Random random_;
  std::function<void()> ring_;
  std::vector<unsigned> contexts_;

  Order order_;
  std::uint64_t seq_ = 0;
  std::uint64_t drained_ = 0;
  bool waiting_ = false;
  bool in_flight_ = false;
  bool ended_ = false;
  bool at_gate_ = false;
  bool asleep_ = false;
  bool has_step_ = false;
  Step step_;
  unsigned unfinished_ = 0;
  // Of each device, as estimated.
  struct InFlight {
    unsigned kernels = 0;
    Nanos time = 0;
    Nanos end = 0;
  };
  std::array<InFlight, kMaxGroupDevices> in_flight_on_{};
  Nanos last_activity_ = 0;
  std::array<Nanos, kMaxGroupDevices> busy_{};
};

}  // namespace divvy::arbiter::world
