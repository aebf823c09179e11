// Cards, tenants and an arbiter in virtual time: the law as it is, everything around it simulated.
// One seed makes one course of events.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process.h"

namespace divvy::arbiter::world {

struct Settings {
  Constants constants;
  unsigned cards = 1;
  bool arbitrated = true;  // false: the cards' own time slices only
  Nanos slice = 2048 * kMicrosecond;
  Nanos switch_cost = 100 * kMicrosecond;
  Spread bell{5 * kMicrosecond, 40 * kMicrosecond};  // from a change until the arbiter reads it
  Spread wake{5 * kMicrosecond, 40 * kMicrosecond};  // from an order until waiters act on it
  Spread see{1 * kMicrosecond, 2 * kMicrosecond};    // and until the next launch does
  // At random instants the law is asked out of turn, and must have nothing to say.
  bool ask_out_of_turn = true;
  std::uint64_t seed = 1;
};

class World {
 public:
  explicit World(const Settings& settings);

  // Tenants are numbered from 0. It starts at once.
  unsigned add(const Entitlement& terms, std::vector<Program> processes, const Habits& habits = {});
  unsigned add(const Entitlement& terms, Program process, const Habits& habits = {});
  void remove(unsigned tenant);
  // Another law goes on, for which the cards have other numbers. `carry`: knowing what the one
  // before knew.
  void replaceLaw(bool carry = true);

  void runUntil(Nanos instant);
  Nanos now() const { return timeline_.now(); }
  Timeline& timeline() { return timeline_; }
  std::vector<Card>& cards() { return cards_; }
  SchedulingPolicy& policy() { return policy_; }

  // Executed on the card, over all processes.
  Nanos got(unsigned tenant, unsigned device = 0);
  bool ended(unsigned tenant) const;
  bool idle(unsigned tenant) const;       // neither at the gate nor on a card
  bool atTheGate(unsigned tenant) const;  // some process waits
  GroupStats stats(unsigned tenant);
  std::size_t orders() const { return orders_; }
  // What must never happen; empty if nothing did.
  const std::string& fault() const { return fault_; }

 private:
  struct TenantChannel {
    TenantKey key = 0;
    Entitlement terms;
    std::array<Nanos, kMaxGroupDevices> past{};  // used before the present law, by card
    bool removed = false;
    std::vector<std::unique_ptr<Process>> processes;
    unsigned live = 0;
    std::uint64_t seq = 0;
    Nanos heard_at = 0;  // the last order's arrival
    Gate gate = Gate::kOpen;
    Nanos busy_at_grant = 0;
    bool worked = false;  // said so since the grant
    bool credible = true;
  };

  // Of the present law.
  unsigned numberOf(unsigned card) const { return (card + laws_) % settings_.cards; }
  Entitlement termsOf(const TenantChannel& member) const;
  void ring();
  void nextWakeup(Nanos instant);
  void registerWithArbiter();
  void askOutOfTurn(Nanos until);
  Report reportOf(TenantChannel* member);
  void tell(const Order& order);
  Nanos pick(const Spread& spread);

  Settings settings_;
  Timeline timeline_;
  std::vector<Card> cards_;
  SchedulingPolicy policy_;
  Random random_;
  std::vector<std::unique_ptr<TenantChannel>> members_;
  Nanos next_wake_ = kNever;
  std::uint64_t seq_ = 0;
  unsigned laws_ = 0;
  std::size_t orders_ = 0;
  std::string fault_;
};

}  // namespace divvy::arbiter::world
