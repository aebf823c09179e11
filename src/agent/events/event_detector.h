// Derives events of tenants from two successive views of them. Pure: views and instants in, events
// out. Private.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/protocol.h"

namespace divvy::agent {

// Numbers of allocations that were refused. They saturate.
struct RefusedAllocations {
  std::uint64_t over_limit = 0;   // because they exceed their tenant's limit
  std::uint64_t device_full = 0;  // within it
  friend bool operator==(const RefusedAllocations&, const RefusedAllocations&) = default;
};

class EventDetector {
 public:
  // Returns the events since the last call. Only the memory fields of `node` are used. Tenants of
  // the first call have no past: an earlier agent reported the values of their counters.
  std::vector<EventView> detect(const Snapshot& node, std::uint64_t now_ms);
  // Returns the events of a tenant that ends now: refusals since the last call. `last` is its final
  // view, which no later call has.
  std::vector<EventView> detectEnd(const TenantView& last);

  // Returns the allocations that were refused, as far as they were detected: of all tenants, and of
  // those that have ended.
  const RefusedAllocations& refusedAllocations() const { return refused_; }

 private:
  struct PreviousSample {
    bool out = false;  // the swap-out was reported
    std::uint64_t out_since_ms = 0;
    std::uint64_t out_bytes = 0;  // the largest so far
    std::string out_reason;
    std::string lent_to;
    std::uint64_t refused = 0;
    std::uint64_t refused_short = 0;
    std::uint64_t waits = 0;
    std::string refusal;
    bool seen = false;
  };

  static void detectMemoryEvents(const TenantView& tenant, const Snapshot& node,
                                 std::uint64_t now_ms, PreviousSample* past,
                                 std::vector<EventView>* events);
  void detectRefusals(const TenantView& tenant, const PreviousSample& past,
                      std::vector<EventView>* events);

  std::map<std::string, PreviousSample> tenants_;
  std::map<unsigned, bool> thrash_;
  RefusedAllocations refused_;
  bool looked_ = false;
};

// "90s", "5m", "8h".
std::string spanWord(std::uint64_t ms);

}  // namespace divvy::agent
