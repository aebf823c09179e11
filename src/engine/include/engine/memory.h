// Whether a share of memory fits a device, also where more is promised than there is. Pure.
//
// Where memory is promised once, what tenants reserve adds up to at most what they may have. With
// overcommit R, where B is what they may have beside contexts outside their shares: limits add up
// to at most R x B; each tenant can have all of its own while the others have what is never swapped
// of theirs; or, where what is not on the device can be used from the host, half of B, or as much
// as that leaves; and what is promised beyond B, of all devices of a node, is with the host.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model.h"
#include "engine/refusal.h"

namespace divvy::engine {

// What there is of one device's memory, and what is promised of it.
struct MemoryAccounts {
  Bytes physical;
  MemoryTerms terms;
  Bytes reserved;    // what tenants hold, contexts outside their shares included
  Bytes outside;     // of that, contexts outside
  Bytes guaranteed;  // of that, what is never swapped
  Bytes largest;     // the most that one tenant can have swapped
  friend bool operator==(const MemoryAccounts&, const MemoryAccounts&) = default;

  bool overcommitted() const { return terms.overcommit_permille > kNoOvercommit; }
  // Drivers take memory for processes without being asked: where tenants take turns on all there
  // is, so much is left to them.
  Bytes margin() const { return {overcommitted() ? physical.count / 256 : 0}; }
  // What tenants may have at once, whatever others do.
  Bytes most() const;
  // What they may have now, contexts outside their shares included.
  Bytes room() const;
  Bytes free() const { return room() - reserved; }
  // What has to be with the host while all tenants use all that they were promised.
  Bytes beyond() const { return largest.count == 0 ? Bytes{} : reserved - room(); }
  // What a percentage of its memory is of: never more than can be had.
  Bytes whole() const { return overcommitted() ? most() : physical; }
};

// What a share takes of a device's memory.
struct Part {
  Bytes limit;
  Bytes floor;    // of that, never swapped
  Bytes outside;  // a context outside the share

  Bytes reserve() const { return limit + outside; }
};

// Of a share that is guaranteed so much; none: nothing was said of it. A context inside it is never
// swapped either.
Part partOn(const MemoryAccounts& books, Bytes limit, std::optional<Bytes> guarantee,
            bool context_outside);

struct MemoryRefusal {
  DeviceWhy why = DeviceWhy::kMemory;
  Bytes needed;
  Bytes available;
};
// Refused whoever else is there; `guarantee` as asked for.
std::optional<MemoryRefusal> refuseEver(const MemoryAccounts& books, const Part& part,
                                        std::optional<Bytes> guarantee);
// Refused beside those that are there. `host_left`: of the node's reserve.
std::optional<MemoryRefusal> refuseNow(const MemoryAccounts& books, const Part& part,
                                       Bytes host_left);

// With a tenant more. What has to be with the host grows by `addedBeyond`.
MemoryAccounts with(const MemoryAccounts& books, const Part& part);
Bytes addedBeyond(const MemoryAccounts& books, const Part& part);

}  // namespace divvy::engine
