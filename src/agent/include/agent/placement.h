// Which devices a request gets, or why it gets none. Pure: values in, values out.
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

// Of one card: as many as fit by memory. Who keeps others off takes all of them.
inline constexpr std::uint32_t kMaxTenants = 1u << 20;

// What a tenant takes of a card that it uses more at some hours than at others.
struct DailyUsage {
  engine::Charge charge;
  engine::UsageByHour daily;
  std::string pool;  // in which it was given
};

// One device as placement sees it. `reserved` is what tenants hold (the larger of their limit and
// their use, and contexts outside that); `foreign` is in use by processes that are no tenants.
struct Card {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  Bytes physical;
  Bytes reserved;
  Bytes guaranteed;  // of `reserved`, what is never swapped
  Bytes outside;     // of `reserved`, contexts outside the shares
  Bytes largest;     // the most that one tenant can have swapped
  Bytes foreign;
  Bytes budget;                                  // for tenants at once; 0: all that others leave
  unsigned overcommit_permille = kNoOvercommit;  // what may be promised, of what there is
  Bytes context;                                 // what one context costs here
  unsigned cores_reserved = 0;  // percent that tenants ask for; may be more than 100
  bool healthy = true;
  bool excluded = false;  // nobody new gets anything of it
  bool host_map = false;  // who can be swapped may have what is not there with the host
  unsigned tenants = 0;
  bool alone = false;                 // one of them keeps others off
  std::vector<std::string> given_in;  // the pools in which these got it, each once; "": none
  DeviceLocality place;
  std::vector<DailyUsage> by_day;  // of those tenants who say how their day goes

  bool overcommitted() const { return overcommit_permille > kNoOvercommit; }
  // What of it may be promised, and is (engine/memory.h).
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
  std::uint64_t available = 0;  // likewise
  std::string pool = {};        // which it is in; of those that are about pools
  std::string asked = {};       // the models that were asked for; of those that are about models

  // "needs 4 GiB, 2 GiB free"
  std::string text() const;
};

Refusal refusalOf(const Card& card, const engine::MemoryRefusal& refused);

// What the tenant gets on one device. `reserve` is what leaves the card's free memory: the limit,
// plus one context where contexts stay outside the share.
struct PlacedShare {
  unsigned index = 0;
  Bytes limit;
  Bytes reserve;
  unsigned cores = 0;
  Bytes guarantee;  // of the limit; all of it: never swapped
};

// What the agent was told of how to place.
struct PlacementOptions {
  std::vector<engine::Pool> pools;
  engine::DevicePolicy devices;  // of requests that do not say
  // Whose hours differ share a card before those whose are the same.
  engine::UsageByHourPolicy by_day{true, 0};
};

struct Decision {
  std::vector<PlacedShare> shares;  // exactly Ask::gpus of them when it fits, else empty
  std::vector<Refusal> refusals;    // in device order, for every device that will not do
  bool impossible = false;          // does not fit even on idle cards
  std::string pool;                 // in which they are; empty: in none
  bool alone = false;               // nobody else comes onto them (mutex)
  // One line: what was asked and why it does not fit. Empty when it fits.
  std::string summary;
  // As the engine has it, on a node without a name; none: it does not fit.
  std::optional<engine::Placement> placement;

  bool fits() const { return !shares.empty(); }
};

// By the placement engine, on a node with these cards. Compute is a weight here: memory refuses,
// compute does not. Cards with enough unclaimed compute come before the others, each in device
// order. What is promised beyond what there is, on all cards together, is at most `host_reserve`.
Decision place(const ShareRequest& ask, const std::vector<Card>& cards, Bytes host_reserve = {},
               const PlacementOptions& placing = {});

// What the engine sees of these cards, and of a request.
engine::Node nodeOf(const std::string& name, const std::vector<Card>& cards, Bytes host_reserve);
engine::Shape shapeOf(const ShareRequest& ask);

// What could be asked for instead, as options of divvy run: "--memory 12Gi", each alone the
// smallest change of its kind with which the request would fit now. Empty: it fits, or nothing of
// it helps.
std::vector<std::string> fixes(const ShareRequest& ask, const std::vector<Card>& cards,
                               Bytes host_reserve, const PlacementOptions& placing = {});

// The pool of each card; empty: none.
std::vector<std::string> poolsOf(const std::vector<Card>& cards, const PlacementOptions& placing);

// What one tenant has of a card, or all together, as Card counts it.
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
  std::uint64_t age_s = 0;           // since it was let in: what would be lost
  std::map<std::string, Held> held;  // by a card's UUID
  std::string pool = {};             // in which it got them; empty: in none
};

// Ids of tenants of lower priority than `asker` without whom the request would fit now; without any
// of them gone it would not. Those of lower priority first, then what has run for less on fewer
// devices. Empty: it fits, or nobody's end is enough. Ends nobody.
std::vector<std::string> victims(const ShareRequest& ask, Priority asker,
                                 const std::vector<Card>& cards,
                                 const std::vector<AllocationOwner>& holders, Bytes host_reserve,
                                 const PlacementOptions& placing = {});

// "devices 0-2, 5 (NVIDIA H100): needs 4 GiB, 2 GiB free": one line per model and reason.
std::vector<std::string> explain(const Decision& decision);

// One line per sum, for devices on which the percentages of compute add to more than 100 once
// `shares` are there (`cards` are as before): what they mean then. Empty: on none.
std::vector<std::string> coresNotes(const std::vector<PlacedShare>& shares,
                                    const std::vector<Card>& cards);

// Whether a share on `card` that reserves `held` now may reserve `wanted` instead. A
// card out of service only shrinks: what is free on it is not known.
bool canGrow(const Card& card, Bytes held, Bytes wanted);

// What is left of it while all tenants use all that they were promised.
Bytes hostLeft(const std::vector<Card>& cards, Bytes reserve);

// What is asked of this card, in bytes. Percent are of what tenants may have there, so that 100% is
// never more than can be had.
Bytes limitOn(const MemoryRequest& memory, const Card& card);
// What of a share is guaranteed on this card: all of it where memory is promised once.
Bytes guaranteeOn(const ShareRequest& ask, const Card& card);
// What of a share is never swapped: its guarantee, a context inside it at least.
Bytes floorOf(const Card& card, Bytes guarantee, Bytes limit, bool context_inside);

}  // namespace divvy::agent
