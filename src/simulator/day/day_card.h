// One card of a day: whose memory is there, who works and how fast, and when that changes. Private.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "day/series.h"
#include "day/time_slices.h"

namespace divvy::simulator {

// A pod and what has become of it.
struct Tenant {
  const Pod* pod = nullptr;
  const DayWorkload* workload = nullptr;
  std::size_t come = 0;   // of its bursts
  std::size_t begun = 0;  // of these; the last one is what it works at
  bool working = false;
  double left = 0;  // of that, milliseconds of a whole card
  double rate = 0;
  Bytes resident;
  std::optional<std::int64_t> fetched_ms;  // when its memory will be there
  double fetch_s = 0;                      // so long its memory was waited for, this burst
  std::int64_t idle_since_ms = 0;
  std::int64_t ready_ms = 0;  // it has started
  std::int64_t wants_since_ms = 0;
  std::optional<std::size_t> card;
  bool waiting = false, stopped = false;
  std::uint64_t stamp = 0;  // of what it was told to do later

  const Burst& burst() const { return pod->bursts[begun - 1]; }
  // Requests come over the length of a burst, whenever they are served: so much has come and is
  // not done. What others work at is there from the beginning, and never more than its rate allows.
  double behind(std::int64_t now) const;
};

class DayCard {
 public:
  DayCard(Bytes memory, double link) : memory_(memory), link_(link) {}

  bool used() const { return !tenants_.empty(); }
  double busy() const;
  const std::vector<Tenant*>& tenants() const { return tenants_; }

  void add(Tenant& tenant);
  void remove(const Tenant& tenant);
  // Work up to now is done, at the rates so far; so much of it, in milliseconds of a whole card.
  double advance(std::int64_t now);
  // After a change: memory moves, rates are new. When the next of them is done, or there.
  std::optional<std::int64_t> update(std::int64_t now);
  double fetchedBytes() const { return fetched_; }

 private:
  std::vector<TenantDemand> demandsOf(const std::vector<Tenant*>& workers, std::int64_t now) const;
  std::int64_t nextOf(const Tenant& tenant, std::int64_t now) const;
  bool fetch(Tenant& tenant, const TenantDemand& demand, double ratio, std::int64_t now);
  void makeRoom(const Tenant* whose, const std::vector<Tenant*>& workers,
                const std::vector<TenantDemand>& demands);

  Bytes memory_;
  double link_;
  std::vector<Tenant*> tenants_;
  std::int64_t settled_ms_ = 0;
  double fetched_ = 0;
};

}  // namespace divvy::simulator
