// Which devices a request gets, or why it gets none. Pure: values in, values out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/ask.h"
#include "base/bytes.h"

namespace divvy::agent {

// One device as placement sees it. `reserved` is what tenants hold (the larger of their guarantee
// and their use); `foreign` is in use by processes that are no tenants.
struct Card {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  Bytes physical;
  Bytes reserved;
  Bytes foreign;
  Bytes context;                // what one context costs here
  unsigned cores_reserved = 0;  // percent that tenants ask for; may be more than 100
  bool healthy = true;

  Bytes free() const { return physical - reserved - foreign; }
};

enum class Why : std::uint8_t {
  kModel,         // another model was asked for
  kUuid,          // another UUID was asked for
  kTooLarge,      // more than the card has
  kBelowContext,  // less than one context costs here
  kMemory,        // not enough free memory now
  kUnhealthy,     // the card is out of service
};

// Why one device cannot serve the request.
struct Refusal {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  Why why = Why::kMemory;
  std::uint64_t needed = 0;     // bytes
  std::uint64_t available = 0;  // likewise

  // True when waiting cannot help.
  bool forever() const { return why != Why::kMemory && why != Why::kUnhealthy; }
  // "needs 4 GiB, 2 GiB free"
  std::string text() const;
};

// What the tenant gets on one device. `reserve` is what leaves the card's free memory: the limit,
// plus one context where contexts stay outside the share.
struct Placed {
  unsigned index = 0;
  Bytes limit;
  Bytes reserve;
  unsigned cores = 0;
};

struct Decision {
  std::vector<Placed> shares;     // exactly Ask::gpus of them when it fits, else empty
  std::vector<Refusal> refusals;  // in device order, for every device that was refused
  bool impossible = false;        // does not fit even on idle cards
  // One line: what was asked and why it does not fit. Empty when it fits.
  std::string summary;

  bool fits() const { return !shares.empty(); }
};

// First fit in device order, cards with enough unclaimed compute before the others: memory refuses,
// compute does not. Never places more than `free()` on a card.
Decision place(const Ask& ask, const std::vector<Card>& cards);

// "devices 0-2, 5 (NVIDIA H100): needs 4 GiB, 2 GiB free": one line per model and reason.
std::vector<std::string> explain(const Decision& decision);

// One line per sum, for devices on which the percentages of compute add to more than 100 once
// `shares` are there (`cards` are as before): what they mean then. Empty: on none.
std::vector<std::string> coresNotes(const std::vector<Placed>& shares,
                                    const std::vector<Card>& cards);

// Whether a share on `card` that reserves `held` now may reserve `wanted` instead. A
// card out of service only shrinks: what is free on it is not known.
bool canGrow(const Card& card, Bytes held, Bytes wanted);

}  // namespace divvy::agent
