// Tenants that swap, and the law that tells them when, in virtual time. What a process does with an
// order is what its mover would do: drain, copy chunk by chunk, say so. One seed makes one course
// of events; at each of them the card's and the law's books are checked.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "arbiter/residency.h"
#include "timeline.h"

namespace divvy::arbiter::world {

struct MemorySettings {
  ResidencyConstants constants;
  ResidencyBudget device;
  unsigned devices = 1;
  Nanos latency_min = 5 * kMicrosecond;  // from a change until somebody acts on it
  Nanos latency_max = 40 * kMicrosecond;
  std::uint64_t seed = 1;
};

// One tenant: one process.
class Swapper {
 public:
  std::uint64_t mapped(unsigned device) const { return at_[device].mapped; }
  std::uint64_t has(unsigned device) const { return at_[device].mapped + at_[device].pinned; }
  std::uint64_t hosted(unsigned device) const { return at_[device].hosted; }
  bool ready() const;
  bool parked() const { return terms.parked; }

  TenantKey key = 0;
  ResidencyEntitlement terms;
  bool busy = false;       // it has something to run
  bool capturing = false;  // refuses to close
  bool frozen = false;     // does nothing at all
  bool distrusted = false;
  bool maps_host = true;  // its driver can
  // So far.
  Nanos ran = 0;
  Nanos wanted = 0;  // and was not let run
  std::uint64_t copied_out = 0;
  std::uint64_t copied_in = 0;
  unsigned parks = 0;
  std::deque<Nanos> waits;  // from becoming busy to running

 private:
  friend class MemoryWorld;
  struct Place {
    std::uint64_t swappable = 0;
    std::uint64_t born = 0;  // of these, with no contents yet: they come in without a copy
    std::uint64_t mapped = 0;
    std::uint64_t hosted = 0;  // used where it is, with the host
    std::uint64_t pinned = 0;
    std::uint64_t want = 0;
    std::uint64_t allowed = 0;   // as it has noticed
    std::uint64_t promised = 0;  // the most of any order that is not known to be replaced
  };

  std::array<Place, kMaxGroupDevices> at_{};
  ResidencyTarget order_;   // the last one written
  std::uint64_t sent_ = 0;  // orders
  std::uint64_t seen_ = 0;  // the last it noticed
  bool closed_ = false;     // drained, for memory to leave
  bool moving_ = false;
  bool refused_ = false;
  bool gone_ = false;
  bool rang_ = true;
  Nanos idle_since_ = 0;
  Nanos waits_since_ = -1;
  Nanos until_ = 0;       // how long it is busy; 0: for good
  bool parking_ = false;  // on its way, or back
};

class MemoryWorld {
 public:
  explicit MemoryWorld(const MemorySettings& settings);

  // They live as long as the world.
  Swapper& add(const ResidencyEntitlement& terms);
  void remove(Swapper* swapper);
  // More, or less, of what can be swapped.
  void allocate(Swapper* swapper, std::uint64_t bytes, unsigned device = 0);
  void free(Swapper* swapper, std::uint64_t bytes, unsigned device = 0);
  // Of what cannot be.
  void pin(Swapper* swapper, std::uint64_t bytes, unsigned device = 0);
  // It has work for that long; kNever: without end. 0: none any more.
  void run(Swapper* swapper, Nanos work);
  void setBudget(std::uint64_t bytes);
  // Something about it changed.
  void changed(Swapper* swapper);

  void runUntil(Nanos instant);
  Nanos now() const { return timeline_.now(); }
  Timeline& timeline() { return timeline_; }
  Residency& policy() { return policy_; }
  const std::deque<std::unique_ptr<Swapper>>& swappers() const { return swappers_; }
  std::size_t events() const { return events_; }
  // What must never happen; empty if nothing did.
  const std::string& fault() const { return fault_; }
  // More than this on a card is a fault; the budget unless somebody lowers that.
  std::uint64_t limit = 0;
  // How long it takes to park a tenant, and whether that works.
  Nanos park_time = 200 * kMillisecond;
  std::function<bool()> parks = [] { return true; };
  // Told of each order, before the tenant is.
  std::function<void(const Swapper&, const ResidencyTarget&)> on_order;

 private:
  void pass();
  void ring(Swapper* swapper = nullptr);
  void registerWithArbiter();
  void report(Swapper* swapper);
  void send(Swapper* swapper, const ResidencyTarget& order);
  void notice(Swapper* swapper, std::uint64_t number);
  void attend(Swapper* swapper);
  void park(Swapper* swapper);
  void unpark(Swapper* swapper);
  void work(Swapper* swapper);
  bool leave(Swapper* swapper, unsigned device);
  bool come(Swapper* swapper, unsigned device);
  bool host(Swapper* swapper, unsigned device);
  bool promote(Swapper* swapper, unsigned device);
  void moveIn(Swapper* swapper, unsigned device, std::uint64_t copied);
  void runs();
  void check();
  ResidencyReport stayOf(const Swapper& swapper) const;
  Nanos latency();
  bool runsNow(const Swapper& swapper) const;

  const MemorySettings settings_;
  Timeline timeline_;
  Residency policy_;
  std::mt19937_64 random_;
  std::deque<std::unique_ptr<Swapper>> swappers_;
  std::array<Nanos, kMaxGroupDevices> out_until_{};
  std::array<Nanos, kMaxGroupDevices> in_until_{};
  Nanos passed_ = 0;
  bool rung_ = false;
  Nanos wake_ = kNever;
  std::size_t events_ = 0;
  TenantKey next_key_ = 1;
  std::string fault_;
};

}  // namespace divvy::arbiter::world
