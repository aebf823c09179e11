// Whether a share of memory fits a device, with and without overcommit. Pure.
//
// Without overcommit, reservations sum to at most the memory that tenants may have.
//
// With overcommit R, let B be the memory for tenants beside contexts outside their shares. Limits
// sum to at most R x B. Each tenant can have all of its share while the other tenants keep the
// parts that are never swapped. Where memory can be used from the host, half of B is enough
// instead, or as much as those parts leave. Memory promised beyond B, on all devices of a node,
// must fit the host reserve.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model.h"
#include "engine/refusal.h"

namespace divvy::engine {

// One device's memory, and the promised amounts of it.
struct MemoryAccounts {
  Bytes physical;
  OvercommitPolicy terms;
  Bytes reserved;    // held by tenants, contexts outside their shares included
  Bytes outside;     // part of `reserved`: contexts outside the shares
  Bytes guaranteed;  // part of `reserved`: never swapped
  Bytes largest;     // the most that one tenant can have swapped
  friend bool operator==(const MemoryAccounts&, const MemoryAccounts&) = default;

  bool overcommitted() const { return terms.overcommit_permille > kNoOvercommit; }
  // Memory left to drivers, which take memory for processes without a request: only where tenants
  // take turns on all memory.
  Bytes margin() const { return {overcommitted() ? physical.count / 256 : 0}; }
  // Memory that tenants may have at once, regardless of foreign use.
  Bytes most() const;
  // Memory that tenants may have now, contexts outside their shares included.
  Bytes room() const;
  Bytes free() const { return room() - reserved; }
  // Memory that must be at the host while all tenants use all their promised memory.
  Bytes beyond() const { return largest.count == 0 ? Bytes{} : reserved - room(); }
  // The base of percentages: never more than can be had.
  Bytes whole() const { return overcommitted() ? most() : physical; }
};

// A share's part of a device's memory.
struct Part {
  Bytes limit;
  Bytes floor;    // part of `limit` that is never swapped
  Bytes outside;  // a context outside the share

  Bytes reserve() const { return limit + outside; }
};

// Returns the part for a share with this guarantee. None: no guarantee was requested. A context
// inside the share is never swapped.
Part partOn(const MemoryAccounts& accounts, Bytes limit, std::optional<Bytes> guarantee,
            bool context_outside);

struct MemoryRefusal {
  DeviceWhy why = DeviceWhy::kMemory;
  Bytes needed;
  Bytes available;
};
// Refusals regardless of other tenants; `guarantee` as requested.
std::optional<MemoryRefusal> refuseEver(const MemoryAccounts& accounts, const Part& part,
                                        std::optional<Bytes> guarantee);
// Refusals beside the present tenants. `host_left`: the rest of the node's host reserve.
std::optional<MemoryRefusal> refuseNow(const MemoryAccounts& accounts, const Part& part,
                                       Bytes host_left);

// with(): the accounts with one more tenant. addedBeyond(): the growth of beyond() by it.
MemoryAccounts with(const MemoryAccounts& accounts, const Part& part);
Bytes addedBeyond(const MemoryAccounts& accounts, const Part& part);

}  // namespace divvy::engine
