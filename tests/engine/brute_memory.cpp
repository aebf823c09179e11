// Promises of memory, each rule as it is meant: of all who would be there then.
#include <algorithm>

#include "brute.h"

namespace divvy::engine::brute {
namespace {

std::int64_t number(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.count);
}

Bytes bytes(std::int64_t count) {
  return {static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0))};
}

std::int64_t amountOf(const DeviceMemory& memory, const Card& card) {
  if (const auto* bytes = std::get_if<Bytes>(&memory)) return number(*bytes);
  const __int128 all = card.promisedOnce() ? number(card.is.memory) : card.most();
  return static_cast<std::int64_t>(all * std::get<Percent>(memory).value / 100);
}

std::int64_t sum(const std::vector<Charge>& charges, std::int64_t (*of)(const Charge&)) {
  std::int64_t all = 0;
  for (const Charge& one : charges) all += of(one);
  return all;
}

}  // namespace

std::int64_t Card::most() const {
  const std::int64_t all = number(is.memory);
  const std::int64_t budget = number(is.terms.budget);
  const std::int64_t margin = promisedOnce() ? 0 : all / 256;
  return std::max<std::int64_t>((budget == 0 ? all : std::min(all, budget)) - margin, 0);
}

std::int64_t Card::room() const {
  const std::int64_t margin = promisedOnce() ? 0 : number(is.memory) / 256;
  const std::int64_t left = number(is.memory) - number(is.terms.foreign) - margin;
  return std::max<std::int64_t>(std::min(most(), left), 0);
}

std::int64_t Card::held() const {
  return sum(charges, [](const Charge& one) { return number(one.memory); });
}

std::int64_t Card::stays() const {
  return sum(charges, [](const Charge& one) { return number(one.memory - one.swappable); });
}

std::int64_t Card::outside() const {
  return sum(charges, [](const Charge& one) { return number(one.outside); });
}

std::int64_t Card::largest() const {
  std::int64_t most = 0;
  for (const Charge& one : charges) most = std::max(most, number(one.largest));
  return most;
}

std::int64_t Card::beyond() const {
  return largest() == 0 ? 0 : std::max<std::int64_t>(held() - room(), 0);
}

std::int64_t hostLeft(const Node& node, const std::vector<Card>& cards) {
  std::int64_t left = number(node.host_reserve);
  for (const Card& card : cards) left -= card.beyond();
  return left;
}

Charge chargeFor(const DeviceRequest& ask, bool context_outside, const Card& card) {
  const std::int64_t limit = amountOf(ask.memory, card);
  const std::int64_t outside = context_outside ? number(card.is.terms.context) : 0;
  std::int64_t stays = limit;
  if (!card.promisedOnce()) {
    stays = ask.guarantee ? std::min(amountOf(*ask.guarantee, card), limit) : 0;
    if (!context_outside) stays = std::max(stays, std::min(number(card.is.terms.context), limit));
  }
  const Bytes swappable = bytes(limit - stays);
  return {card.is.uuid, bytes(limit + outside), ask.compute, 1, bytes(outside), swappable,
          swappable};
}

std::optional<DeviceRefusal> refuseMemory(const Card& card, const DeviceRequest& ask,
                                          bool context_outside, std::int64_t host_left) {
  const auto no = [&](DeviceWhy why, std::int64_t needed, std::int64_t available) {
    return DeviceRefusal{card.is.uuid, why, bytes(needed).count, bytes(available).count};
  };
  const OvercommitPolicy& terms = card.is.terms;
  const Charge own = chargeFor(ask, context_outside, card);
  const std::int64_t outside = number(own.outside);
  const std::int64_t limit = number(own.memory) - outside;
  const std::int64_t wanted = limit + outside;
  const std::int64_t physical = number(card.is.memory);
  const bool maps = terms.host_map && !card.promisedOnce() && own.swappable.count > 0;
  const std::int64_t ratio = terms.overcommit_permille;
  if (maps && wanted > card.most() * ratio / 1000)
    return no(DeviceWhy::kOverPromiseLimit, wanted, card.most() * ratio / 1000);
  if (!maps && wanted > physical) return no(DeviceWhy::kTooLarge, wanted, physical);
  if (!maps && wanted > card.most()) return no(DeviceWhy::kBudget, wanted, card.most());
  if (ask.guarantee && amountOf(*ask.guarantee, card) > limit)
    return no(DeviceWhy::kGuaranteeAboveShare, amountOf(*ask.guarantee, card), limit);
  if (outside == 0 && limit < number(terms.context))
    return no(DeviceWhy::kBelowContext, limit, number(terms.context));
  if (card.promisedOnce()) {
    const std::int64_t free = card.room() - card.held();
    if (wanted > free) return no(DeviceWhy::kMemory, wanted, free);
    return std::nullopt;
  }
  // B: what limits share.
  const std::int64_t shared = std::max<std::int64_t>(card.room() - card.outside() - outside, 0);
  const std::int64_t floors = card.stays() - card.outside();
  if (!maps && limit > std::max<std::int64_t>(shared - floors, 0))
    return no(DeviceWhy::kGuaranteeConflict, limit, shared - floors);
  const std::int64_t promised = card.held() - card.outside();
  if (limit > std::max<std::int64_t>(shared * ratio / 1000 - promised, 0))
    return no(DeviceWhy::kOvercommit, limit, shared * ratio / 1000 - promised);
  const std::int64_t stays = wanted - number(own.swappable);
  const std::int64_t half = std::max<std::int64_t>(card.room() - card.outside(), 0) / 2;
  const std::int64_t largest = terms.host_map ? std::min(card.largest(), half) : card.largest();
  const std::int64_t can_stay = card.room() - card.stays() - largest;
  if (stays > std::max<std::int64_t>(can_stay, 0))
    return no(DeviceWhy::kGuarantee, stays, can_stay);
  Card after = card;
  after.charges.push_back(own);
  // With nothing that can be swapped nothing can be with the host; the rules above see to it.
  const std::int64_t added = std::max<std::int64_t>(after.held() - after.room(), 0) - card.beyond();
  if (added > std::max<std::int64_t>(host_left, 0))
    return no(DeviceWhy::kHostReserve, added, host_left);
  return std::nullopt;
}

}  // namespace divvy::engine::brute
