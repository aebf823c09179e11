// Chooses the devices of a request, or explains the refusal. Pure: values in, values out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/device_locality.h"
#include "agent/oversubscription.h"
#include "agent/share_request.h"
#include "base/bytes.h"
#include "engine/allocation.h"
#include "engine/memory.h"
#include "engine/pool.h"
#include "engine/request.h"

namespace divvy::agent {

// Tenants of one device: memory is the limit, not their number. A tenant with exclusive use takes
// all.
inline constexpr std::uint32_t kMaxTenants = 1u << 20;

// The charge of a tenant on a card, with its expected use by hour.
struct DailyUsage {
  engine::Charge charge;
  engine::UsageByHour daily;
  std::string pool;  // pool of the allocation
};

// One device as placement sees it. `reserved`: memory that tenants hold (the larger of limit and
// use, and contexts outside the share). `foreign`: used by unmanaged processes.
struct Card {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  Bytes physical;
  Bytes reserved;
  Bytes guaranteed;  // part of `reserved` that is never swapped
  Bytes outside;     // part of `reserved`: contexts outside the shares
  Bytes largest;     // the most that one tenant can have swapped out
  Bytes foreign;
  Bytes budget;  // for tenants at once; 0: all that is free of `foreign`
  unsigned overcommit_permille = kNoOvercommit;  // promised, of the memory for tenants at once
  Bytes context;                                 // cost of one context
  unsigned cores_reserved = 0;                   // percent that tenants request; may exceed 100
  bool healthy = true;
  bool excluded = false;  // no new allocations
  bool host_map = false;  // swappable memory may be used from the host
  unsigned tenants = 0;
  bool alone = false;                 // one tenant shares with none
  std::vector<std::string> given_in;  // pools of the tenants' allocations, each once; "": none
  DeviceLocality place;
  std::vector<DailyUsage> by_day;  // of the tenants with an expected use

  bool overcommitted() const { return overcommit_permille > kNoOvercommit; }
  // The device's memory and its promises, for the engine (engine/memory.h).
  engine::MemoryAccounts placementInput() const;
  Bytes margin() const { return placementInput().margin(); }
  Bytes most() const { return placementInput().most(); }
  Bytes room() const { return placementInput().room(); }
  Bytes free() const { return placementInput().free(); }
  Bytes beyond() const { return placementInput().beyond(); }
};

// Why one device cannot serve the request.
struct Refusal {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  engine::DeviceWhy why = engine::DeviceWhy::kMemory;
  std::uint64_t needed = 0;     // bytes
  std::uint64_t available = 0;  // bytes
  std::string pool = {};        // the device's pool; for refusals about pools
  std::string asked = {};       // requested models; for refusals about models

  // "needs 4 GiB, 2 GiB free"
  std::string text() const;
};

Refusal refusalOf(const Card& card, const engine::MemoryRefusal& refused);

// A tenant's share of one device. `reserve` is subtracted from the card's free memory: the limit,
// plus one context if contexts stay outside the share.
struct PlacedShare {
  unsigned index = 0;
  Bytes limit;
  Bytes reserve;
  unsigned cores = 0;
  Bytes guarantee;  // part of `limit`; equal to it: never swapped
};

// The agent's options for placement.
struct PlacementOptions {
  std::vector<engine::Pool> pools;
  engine::DevicePolicy devices;  // default for requests without a policy
  // Tenants with different busy hours share a card in preference to tenants with the same.
  engine::UsageByHourPolicy by_day{true, 0};
};

struct Decision {
  std::vector<PlacedShare> shares;  // exactly ShareRequest::gpus if it fits, else empty
  std::vector<Refusal> refusals;    // in device order, for every device that does not fit
  bool impossible = false;          // does not fit idle cards either
  std::string pool;                 // pool of the devices; empty: none
  bool alone = false;               // no other tenant may use the devices (mutex)
  // The request and the reasons why it does not fit, in one line. Empty if it fits.
  std::string summary;
  // The engine's placement, on a node without a name; nothing: it does not fit.
  std::optional<engine::Placement> placement;

  bool fits() const { return !shares.empty(); }
};

// Places the request with the engine, on a node with these cards. Memory refuses; compute is only a
// weight.
// Cards with enough unclaimed compute come first, each group in device order. Memory promised
// beyond the available memory, on all cards together, is at most `host_reserve`.
Decision place(const ShareRequest& ask, const std::vector<Card>& cards, Bytes host_reserve = {},
               const PlacementOptions& placing = {});

// The engine's view of these cards, and of a request.
engine::Node nodeOf(const std::string& name, const std::vector<Card>& cards, Bytes host_reserve);
engine::Shape shapeOf(const ShareRequest& ask);

// Alternatives to the request, as options of divvy run: "--memory 12Gi". Each alone is the smallest
// change of its kind with which the request would fit now. Empty: it fits, or no change helps.
std::vector<std::string> fixes(const ShareRequest& ask, const std::vector<Card>& cards,
                               Bytes host_reserve, const PlacementOptions& placing = {});

// The pool of each card; empty: none.
std::vector<std::string> poolsOf(const std::vector<Card>& cards, const PlacementOptions& placing);

// The shares of one tenant, or of all together, of a device. Fields as in Card.
struct Held {
  Bytes reserved;
  Bytes guaranteed;
  Bytes outside;
  Bytes largest;
  unsigned cores = 0;
  unsigned tenants = 0;
  bool alone = false;
  std::vector<std::string> given_in;
};

struct AllocationOwner {
  std::string id;
  Priority priority = Priority::kNormal;
  std::uint64_t age_s = 0;           // since admission: the work that would be lost
  std::map<std::string, Held> held;  // by a card's UUID
  std::string pool = {};             // pool of the allocation; empty: none
};

// Returns the IDs of tenants of lower priority than `asker` without which the request would fit
// now. All of them are needed.
// Prefers lower priorities, then tenants that ran for less time on fewer devices. Empty: it fits,
// or no set of victims suffices. Evicts nothing.
std::vector<std::string> victims(const ShareRequest& ask, Priority asker,
                                 const std::vector<Card>& cards,
                                 const std::vector<AllocationOwner>& holders, Bytes host_reserve,
                                 const PlacementOptions& placing = {});

// "devices 0-2, 5 (NVIDIA H100): needs 4 GiB, 2 GiB free": one line per model and reason.
std::vector<std::string> explain(const Decision& decision);

// Explains percentages of compute that add up to more than 100 with `shares`, one line per sum.
// `cards` are without `shares`. Empty: no device exceeds 100.
std::vector<std::string> coresNotes(const std::vector<PlacedShare>& shares,
                                    const std::vector<Card>& cards);

// Whether a share on `card` that reserves `held` may reserve `wanted` instead. A card out of
// service permits only smaller shares: its free memory is unknown.
bool canGrow(const Card& card, Bytes held, Bytes wanted);

// The rest of `reserve` while all tenants use all that they were promised.
Bytes hostLeft(const std::vector<Card>& cards, Bytes reserve);

// Requested bytes on this card. A percentage is of the memory that tenants may have there, so that
// 100% can be had.
Bytes limitOn(const MemoryRequest& memory, const Card& card);
// The part of a share that is guaranteed on this card: all of it where memory is promised once.
Bytes guaranteeOn(const ShareRequest& ask, const Card& card);
// The part of a share that is never swapped: the guarantee, at least one context if it is inside.
Bytes floorOf(const Card& card, Bytes guarantee, Bytes limit, bool context_inside);

}  // namespace divvy::agent
