#include "agent/placement.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

namespace divvy::agent {
namespace {

constexpr unsigned kAllCores = 100;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Model names are compared without blanks and dashes: "rtx4090" finds "NVIDIA GeForce RTX 4090".
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += lower(c);
  }
  return result;
}

bool modelMatches(const std::vector<std::string>& wanted, const std::string& model) {
  const std::string name = plain(model);
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& part) {
           return name.find(plain(part)) != std::string::npos;
         });
}

bool uuidMatches(const std::vector<std::string>& wanted, const std::string& uuid) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [&](const std::string& prefix) {
           return prefix.size() <= uuid.size() &&
                  std::equal(prefix.begin(), prefix.end(), uuid.begin(),
                             [](char a, char b) { return lower(a) == lower(b); });
         });
}

Refusal refusalOf(const Card& card, Why why, Bytes needed, Bytes available) {
  return {card.index, card.uuid, card.model, why, needed.count, available.count};
}

Bytes times(Bytes bytes, unsigned permille) {
  const auto product = static_cast<unsigned __int128>(bytes.count) * permille / 1000;
  return {product > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(product)};
}

// What has to be with the host grows by so much.
Bytes addedBeyond(const Card& card, const Part& part) {
  return (card.reserved + part.limit + part.outside - card.room()) - card.beyond();
}

// Of memory that is never swapped nothing can be elsewhere.
bool mapsHost(const Card& card, const Part& part) {
  return card.host_map && card.overcommitted() && part.floor < part.limit;
}

Part partOf(const Ask& ask, const Card& card) {
  const Bytes limit = limitOn(ask.memory, card);
  return {limit, floorOf(card, guaranteeOn(ask, card), limit, ask.context_inside),
          ask.context_inside ? Bytes{} : card.context};
}

std::optional<Refusal> refuse(const Ask& ask, const Card& card, Bytes host_left) {
  const Bytes limit = limitOn(ask.memory, card);
  const Bytes reserve = ask.context_inside ? limit : limit + card.context;
  const auto refusal = [&](Why why, std::uint64_t needed, std::uint64_t available) {
    return Refusal{card.index, card.uuid, card.model, why, needed, available};
  };
  if (!uuidMatches(ask.uuids, card.uuid)) return refusal(Why::kUuid, 0, 0);
  if (!modelMatches(ask.models, card.model)) return refusal(Why::kModel, 0, 0);
  const bool maps = mapsHost(card, partOf(ask, card));
  const Bytes promised = times(card.most(), card.overcommit_permille);
  if (maps && reserve > promised) return refusal(Why::kPromise, reserve.count, promised.count);
  if (!maps && reserve > card.physical)
    return refusal(Why::kTooLarge, reserve.count, card.physical.count);
  if (!maps && reserve > card.most())
    return refusal(Why::kBudget, reserve.count, card.most().count);
  if (ask.guaranteed && limitOn(*ask.guaranteed, card) > limit)
    return refusal(Why::kGuaranteeAboveLimit, limitOn(*ask.guaranteed, card).count, limit.count);
  if (ask.context_inside && limit < card.context) {
    return refusal(Why::kBelowContext, limit.count, card.context.count);
  }
  if (!card.healthy) return refusal(Why::kUnhealthy, 0, 0);
  if (card.overcommitted()) return refusePart(card, partOf(ask, card), host_left);
  if (reserve > card.free()) return refusal(Why::kMemory, reserve.count, card.free().count);
  return std::nullopt;
}

std::string summarise(const Ask& ask, const std::vector<Card>& cards, std::size_t fitting) {
  std::string text = ask.memory.text();
  if (ask.gpus > 1) text += " on each of " + std::to_string(ask.gpus) + " devices";
  if (cards.size() < ask.gpus) {
    return text + " asked, this machine has " + std::to_string(cards.size()) +
           (cards.size() == 1 ? " device" : " devices");
  }
  text += " asked: " + std::to_string(fitting) + " of " + std::to_string(cards.size()) +
          (cards.size() == 1 ? " device fits" : " devices fit");
  return text;
}

// "device 3", "devices 0-2, 5": `devices` ascends.
std::string spans(const std::vector<unsigned>& devices) {
  std::string text = devices.size() == 1 ? "device " : "devices ";
  for (std::size_t first = 0; first < devices.size();) {
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    if (first != 0) text += ", ";
    text += std::to_string(devices[first]);
    if (last != first) text += "-" + std::to_string(devices[last]);
    first = last + 1;
  }
  return text;
}

// Leaves the first `count`, or those that add least to what is swapped out; false: that is more
// than the host has left.
bool chooseWithin(Bytes host_left, const Ask& ask, std::size_t count,
                  std::vector<const Card*>& fitting) {
  const auto added = [&](const Card* card) {
    return card->overcommitted() ? addedBeyond(*card, partOf(ask, *card)) : Bytes{};
  };
  const auto fits = [&] {
    Bytes sum;
    for (std::size_t i = 0; i < count; ++i) sum = sum + added(fitting[i]);
    return sum <= host_left;
  };
  if (!fits())
    std::stable_sort(fitting.begin(), fitting.end(),
                     [&](const Card* a, const Card* b) { return added(a) < added(b); });
  const bool good = fits();
  fitting.resize(count);
  return good;
}

}  // namespace

bool Refusal::forever() const {
  switch (why) {
    case Why::kMemory:
    case Why::kUnhealthy:
    case Why::kBeside:
    case Why::kOvercommit:
    case Why::kGuarantee:
    case Why::kHostReserve:
      return false;
    default:
      return true;
  }
}

std::string Refusal::text() const {
  switch (why) {
    case Why::kModel:
      return "is another model";
    case Why::kUuid:
      return "its UUID is " + uuid;
    case Why::kTooLarge:
      return "needs " + formatBytes({needed}) + ", the card has " + formatBytes({available});
    case Why::kBelowContext:
      return formatBytes({needed}) + " is less than one context costs here (" +
             formatBytes({available}) + "); ask for more, or use --context-overhead outside";
    case Why::kMemory:
      return "needs " + formatBytes({needed}) + ", " + formatBytes({available}) + " free";
    case Why::kUnhealthy:
      return "is out of service";
    case Why::kBudget:
      return "needs " + formatBytes({needed}) + ", tenants may have " + formatBytes({available}) +
             " there at once";
    case Why::kPromise:
      return "needs " + formatBytes({needed}) + ", at most " + formatBytes({available}) +
             " may be promised there (--overcommit)";
    case Why::kBeside:
      return "needs " + formatBytes({needed}) + " at once, " + formatBytes({available}) +
             " can be had beside what is never swapped of others";
    case Why::kOvercommit:
      return "needs " + formatBytes({needed}) + ", " + formatBytes({available}) +
             " may still be promised (--overcommit)";
    case Why::kGuarantee:
      return "keeps " + formatBytes({needed}) + " from being swapped, " + formatBytes({available}) +
             " can be beside what others were promised";
    case Why::kGuaranteeAboveLimit:
      return "guarantees " + formatBytes({needed}) + " of " + formatBytes({available}) +
             "; accepted: at most all of it";
    case Why::kHostReserve:
      return "needs " + formatBytes({needed}) + " of the host's memory for what is swapped out, " +
             formatBytes({available}) + " left of the reserve (--host-reserve)";
  }
  return "cannot be used";
}

Bytes limitOn(const MemoryAsk& memory, const Card& card) {
  return memory.on(card.overcommitted() ? card.most() : card.physical);
}

Bytes guaranteeOn(const Ask& ask, const Card& card) {
  const Bytes limit = limitOn(ask.memory, card);
  if (!card.overcommitted() || ask.unswappable) return limit;
  return ask.guaranteed ? std::min(limitOn(*ask.guaranteed, card), limit) : Bytes{};
}

Bytes floorOf(const Card& card, Bytes guarantee, Bytes limit, bool context_inside) {
  return context_inside ? std::max(guarantee, std::min(card.context, limit)) : guarantee;
}

Bytes hostLeft(const std::vector<Card>& cards, Bytes reserve) {
  Bytes beyond;
  for (const Card& card : cards) beyond = beyond + card.beyond();
  return reserve - beyond;
}

std::optional<Refusal> refusePart(const Card& card, const Part& part, Bytes host_left) {
  const Bytes room = card.room() - card.outside - part.outside;
  const Bytes limits = card.reserved - card.outside;
  const bool maps = mapsHost(card, part);
  if (!maps && part.limit > room - card.guaranteed)
    return refusalOf(card, Why::kBeside, part.limit, room - card.guaranteed);
  const Bytes promised = times(room, card.overcommit_permille);
  if (part.limit > promised - limits)
    return refusalOf(card, Why::kOvercommit, part.limit, promised - limits);
  const Bytes stays = part.floor + part.outside;
  // Who could never have all of it there keeps half of the card's, beside what is never swapped.
  const Bytes half = {(card.room() - card.outside).count / 2};
  const Bytes largest = card.host_map ? std::min(card.largest, half) : card.largest;
  const Bytes can_stay = card.room() - card.outside - card.guaranteed - largest;
  if (stays > can_stay) return refusalOf(card, Why::kGuarantee, stays, can_stay);
  const Bytes added = addedBeyond(card, part);
  if (added > host_left) return refusalOf(card, Why::kHostReserve, added, host_left);
  return std::nullopt;
}

Decision place(const Ask& ask, const std::vector<Card>& cards, Bytes host_reserve) {
  Decision decision;
  const Bytes host_left = hostLeft(cards, host_reserve);
  std::size_t possible = 0;
  std::vector<const Card*> fitting;
  for (const Card& card : cards) {
    std::optional<Refusal> refusal = refuse(ask, card, host_left);
    if (refusal) {
      possible += refusal->forever() ? 0 : 1;
      decision.refusals.push_back(std::move(*refusal));
      continue;
    }
    ++possible;
    fitting.push_back(&card);
  }
  if (ask.gpus == 0 || fitting.size() < ask.gpus) {
    decision.impossible = possible < ask.gpus || ask.gpus == 0;
    decision.summary = summarise(ask, cards, fitting.size());
    return decision;
  }
  const unsigned cores = ask.coresEach();
  const auto roomy = [&](const Card* card) { return card->cores_reserved + cores <= kAllCores; };
  std::stable_partition(fitting.begin(), fitting.end(), roomy);
  if (!chooseWithin(host_left, ask, ask.gpus, fitting)) {
    for (const Card* card : fitting)
      decision.refusals.push_back(
          refusalOf(*card, Why::kHostReserve, addedBeyond(*card, partOf(ask, *card)), host_left));
    std::sort(decision.refusals.begin(), decision.refusals.end(),
              [](const Refusal& a, const Refusal& b) { return a.index < b.index; });
    decision.summary = summarise(ask, cards, 0);
    return decision;
  }
  std::sort(fitting.begin(), fitting.end(),
            [](const Card* a, const Card* b) { return a->index < b->index; });
  for (const Card* card : fitting) {
    const Bytes limit = limitOn(ask.memory, *card);
    const Bytes reserve = ask.context_inside ? limit : limit + card->context;
    decision.shares.push_back({card->index, limit, reserve, cores, guaranteeOn(ask, *card)});
  }
  return decision;
}

std::vector<std::string> coresNotes(const std::vector<Placed>& shares,
                                    const std::vector<Card>& cards) {
  std::map<std::pair<unsigned, unsigned>, std::vector<unsigned>> sums;  // (sum, own) -> devices
  for (const Placed& share : shares) {
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [&](const Card& c) { return c.index == share.index; });
    if (card == cards.end()) continue;
    const unsigned sum = card->cores_reserved + share.cores;
    if (share.cores != 0 && sum > kAllCores) sums[{sum, share.cores}].push_back(share.index);
  }
  std::vector<std::string> notes;
  for (const auto& [figures, devices] : sums) {
    const auto [sum, own] = figures;
    notes.push_back("cores on " + spans(devices) + " add up to " + std::to_string(sum) +
                    "%: " + std::to_string(own) + "% is " +
                    std::to_string((own * 200 + sum) / (2 * sum)) + "% while all are busy");
  }
  return notes;
}

std::vector<std::string> explain(const Decision& decision) {
  struct Group {
    std::string model;
    std::string text;
    std::vector<unsigned> devices;
  };
  std::vector<Group> groups;
  for (const Refusal& refusal : decision.refusals) {
    const std::string text = refusal.text();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.model == refusal.model && other.text == text;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {refusal.model, text, {}});
    group->devices.push_back(refusal.index);
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    lines.push_back(spans(group.devices) + " (" + group.model + "): " + group.text);
  }
  return lines;
}

bool canGrow(const Card& card, Bytes held, Bytes wanted) {
  return wanted <= held || (card.healthy && wanted - held <= card.free());
}

}  // namespace divvy::agent
