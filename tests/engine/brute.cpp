#include "brute.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>

namespace divvy::engine::brute {
namespace {

std::string small(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool named(const std::vector<ModelName>& list, ModelMatch match, const std::string& model) {
  for (const ModelName& one : list) {
    const std::string a = small(one.text);
    const std::string b = small(model);
    if (match == ModelMatch::kExact ? a == b : b.find(a) != std::string::npos) return true;
  }
  return false;
}

bool listed(const std::vector<DeviceUuid>& list, const DeviceUuid& uuid) {
  return std::count(list.begin(), list.end(), uuid) > 0;
}

const ColocationRule* companyOn(const Card& card, const Shape& shape) {
  for (const ColocationRule& one : shape.company)
    if (one.kind.empty() || one.kind == card.is.kind) return &one;
  return nullptr;
}

// Somebody is there whom it may not be beside.
bool badCompany(const Card& card, const Shape& shape) {
  const ColocationRule* company = companyOn(card, shape);
  if (company == nullptr) return false;
  for (const Charge& one : card.charges)
    if (one.sort != 0 && (company->beside & (1 << one.sort)) == 0) return true;
  return false;
}

std::optional<DeviceRefusal> refuse(const Card& card, const DeviceRequest& ask, const Shape& shape,
                                    std::int64_t host_left) {
  const Selector* chosen = &shape.selector;
  for (const KindSelector& one : shape.by_kind) {
    if (one.kind == card.is.kind) chosen = &one.selector;
  }
  const Selector& s = *chosen;
  const auto no = [&](DeviceWhy why, std::int64_t needed = 0, std::int64_t available = 0) {
    const bool about_pool = why == DeviceWhy::kNotInPool || why == DeviceWhy::kPreviousPoolTenants;
    return DeviceRefusal{card.is.uuid, why, static_cast<std::uint64_t>(needed),
                         static_cast<std::uint64_t>(available),
                         PoolName(about_pool ? card.pool : "")};
  };
  if (!ask.kind.empty() && ask.kind.text != card.is.kind.text) return no(DeviceWhy::kKind);
  if (card.pool != shape.pool.value_or(PoolName()).text) return no(DeviceWhy::kNotInPool);
  if (card.is.health == Health::kUnhealthy) return no(DeviceWhy::kUnhealthy);
  if (card.is.cordoned) return no(DeviceWhy::kCordoned);
  if (card.is.mode == Mode::kExternal) return no(DeviceWhy::kHeldByOtherPlugin);
  for (const auto& [pool, count] : card.given_in)
    if (count > 0 && pool != card.pool) return no(DeviceWhy::kPreviousPoolTenants);
  if (card.is.mode == Mode::kMig) return no(DeviceWhy::kPartitioned);
  if (named(s.not_models, s.match, card.is.model.text)) return no(DeviceWhy::kModelExcluded);
  if (!s.models.empty() && !named(s.models, s.match, card.is.model.text)) {
    return no(DeviceWhy::kModelNotAsked);
  }
  if (listed(s.not_uuids, card.is.uuid)) return no(DeviceWhy::kUuidExcluded);
  if (!s.uuids.empty() && !listed(s.uuids, card.is.uuid)) return no(DeviceWhy::kUuidNotAsked);
  const std::int64_t slots =
      card.is.mode == Mode::kExclusive && card.is.slots > 1 ? 1 : card.is.slots;
  if (card.tenants >= slots) return no(DeviceWhy::kSlots, 1, 0);
  if (badCompany(card, shape)) return no(DeviceWhy::kColocation);
  if (auto memory = refuseMemory(card, ask, shape.context_outside, host_left)) return memory;
  const bool weight = card.is.compute_rule == ComputeRule::kWeight;
  const bool mutex = shape.devices && shape.devices->mutex;
  if (!weight && ask.compute.milli > card.computeLeft()) {
    return no(DeviceWhy::kCompute, ask.compute.milli, card.computeLeft());
  }
  if (mutex && card.tenants > 0) return no(DeviceWhy::kInUse);
  if (weight) return std::nullopt;
  if (ask.compute.milli == 1000 && card.tenants > 0) return no(DeviceWhy::kInUse);
  if (ask.compute.milli == 0 && card.computeLeft() == 0) return no(DeviceWhy::kHeld);
  return std::nullopt;
}

std::int64_t tenantsFor(const Card& card, const Shape& shape) {
  if (!shape.devices || !shape.devices->mutex) return 1;
  return card.is.mode == Mode::kExclusive ? 1 : card.is.slots;
}

std::vector<DeviceRequest> asksOf(const Container& one) {
  std::vector<DeviceRequest> asks{one.devices};
  asks.insert(asks.end(), one.others.begin(), one.others.end());
  return asks;
}

// One ask, and the container that has it; init containers are the first.
struct Wanted {
  DeviceRequest ask;
  std::size_t container = 0;
};

// Whether all of a set will do for it; then it has them.
bool give(std::vector<Card>* cards, const DeviceRequest& ask, unsigned set, const Shape& shape,
          const Node& node) {
  for (std::size_t i = 0; i < cards->size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    Card& card = (*cards)[i];
    if (refuse(card, ask, shape, hostLeft(node, *cards))) return false;
    card.charges.push_back(chargeFor(ask, shape.context_outside, card));
    card.compute += ask.compute.milli;
    card.tenants += tenantsFor(card, shape);
  }
  return true;
}

// Every subset of cards for every ask, one after the other, until `then` likes what all got.
bool placeable(const std::vector<Card>& cards, const std::vector<Wanted>& all, const Shape& shape,
               const Node& node, std::vector<unsigned>* got,
               const std::function<bool(const std::vector<unsigned>&)>& then) {
  if (got->size() == all.size()) return then(*got);
  const DeviceRequest& ask = all[got->size()].ask;
  const DevicePolicy policy = shape.devices.value_or(DevicePolicy{});
  for (unsigned set = 0; set < 1u << cards.size(); ++set) {
    if (static_cast<std::uint32_t>(__builtin_popcount(set)) != ask.count) continue;
    std::vector<Card> after = cards;
    if (ask.count > 0 && together(node, policy, set).fault) continue;
    if (!give(&after, ask, set, shape, node)) continue;
    got->push_back(set);
    const bool good = placeable(after, all, shape, node, got, then);
    got->pop_back();
    if (good) return true;
  }
  return false;
}

// Sidecars and containers at once, and each other init container beside the sidecars before it,
// where these were put.
bool placeable(const std::vector<Card>& cards, const Shape& shape, const Node& node) {
  std::vector<Wanted> end;
  std::map<std::size_t, std::vector<Wanted>> init;
  for (std::size_t c = 0; c < shape.init.size(); ++c)
    for (const DeviceRequest& ask : asksOf(shape.init[c]))
      (shape.init[c].sidecar ? end : init[c]).push_back({ask, c});
  for (std::size_t c = 0; c < shape.containers.size(); ++c)
    for (const DeviceRequest& ask : asksOf(shape.containers[c]))
      end.push_back({ask, shape.init.size() + c});
  const auto initGood = [&](const std::vector<unsigned>& sets) {
    return std::all_of(init.begin(), init.end(), [&](const auto& one) {
      std::vector<Card> then = cards;
      for (std::size_t k = 0; k < end.size(); ++k)
        if (end[k].container < one.first) give(&then, end[k].ask, sets[k], shape, node);
      std::vector<unsigned> got;
      return placeable(then, one.second, shape, node, &got, [](const auto&) { return true; });
    });
  };
  std::vector<unsigned> got;
  return placeable(cards, end, shape, node, &got, initGood);
}

std::int64_t sumOrMost(const Shape& shape, std::int64_t (*of)(const Container&)) {
  std::int64_t most = 0;
  std::int64_t there = 0;
  for (const Container& one : shape.init) {
    most = std::max(most, there + of(one));
    if (one.sidecar) there += of(one);
  }
  for (const Container& one : shape.containers) there += of(one);
  return std::max(most, there);
}
std::int64_t cpuOf(const Container& c) {
  return c.cpu.milli;
}
std::int64_t memoryOf(const Container& c) {
  return static_cast<std::int64_t>(c.memory.count);
}

NodeRefusal saying(NodeWhy why, std::int64_t needed = 0, std::int64_t available = 0) {
  NodeRefusal refusal;
  refusal.why = why;
  refusal.needed = static_cast<std::uint64_t>(needed);
  refusal.available = static_cast<std::uint64_t>(available);
  return refusal;
}

// Of the cards in `good` the most, up to so many, that may be together as far as these parts of the
// policy go.
std::uint32_t mostTogether(const Node& node, const DevicePolicy& policy, unsigned good,
                           std::uint32_t count) {
  std::uint32_t most = 0;
  for (unsigned set = 1; set < 1u << node.devices.size(); ++set) {
    const auto size = static_cast<std::uint32_t>(__builtin_popcount(set));
    if ((set & ~good) != 0 || size > count || together(node, policy, set).fault) continue;
    most = std::max(most, size);
  }
  return most;
}

// One part of the policy after the other: the first with which it cannot be.
std::optional<NodeRefusal> apartRefused(const Node& node, const DeviceRequest& ask,
                                        const Shape& shape, unsigned good) {
  const DevicePolicy policy = shape.devices.value_or(DevicePolicy{});
  DevicePolicy parts;
  const auto refused = [&](NodeWhy why) -> std::optional<NodeRefusal> {
    const std::uint32_t most = mostTogether(node, parts, good, ask.count);
    if (most >= ask.count) return std::nullopt;
    return saying(why, ask.count, most);
  };
  parts.numa = policy.numa;
  if (auto no = refused(NodeWhy::kNuma)) return no;
  parts.links = policy.links;
  if (auto no = refused(NodeWhy::kLinks)) return no;
  parts.nic = policy.nic;
  return refused(NodeWhy::kNic);
}

std::optional<NodeRefusal> aloneRefused(const Machine& machine, const DeviceRequest& ask,
                                        std::size_t number, const Shape& shape) {
  NodeRefusal refusal;
  std::uint32_t good = 0;
  unsigned set = 0;
  for (std::size_t i = 0; i < machine.cards.size(); ++i) {
    if (auto why = refuse(machine.cards[i], ask, shape, hostLeft(machine.is, machine.cards))) {
      refusal.devices.push_back(*why);
    } else {
      ++good;
      set |= 1u << i;
    }
  }
  if (good >= ask.count) {
    std::optional<NodeRefusal> apart;
    if (ask.count > 0) apart = apartRefused(machine.is, ask, shape, set);
    if (apart) apart->kind = ask.kind;
    if (apart) apart->container = number;
    return apart;
  }
  refusal.why = NodeWhy::kDevices;
  refusal.kind = ask.kind;
  refusal.needed = ask.count;
  refusal.available = good;
  refusal.container = number;
  return refusal;
}

std::string kindOf(const Placement& placement) {
  return std::to_string(placement.kind);
}

}  // namespace

bool willDo(const Card& card, const DeviceRequest& ask, const Selector& selector) {
  Shape shape;
  shape.selector = selector;
  return !refuse(card, ask, shape, 0);
}

void World::add(const Node& node) {
  Machine machine{node, 0, 0, {}, {}};
  for (const Device& device : node.devices) machine.cards.push_back({device, 0, 0, {}, {}, {}});
  apply(&machine);
  machines_[node.name.text] = machine;
}

void World::book(const Placement& placement, int sign) {
  Machine& machine = machines_.at(placement.node.text);
  machine.cpu += sign * placement.cpu.milli;
  machine.memory += sign * static_cast<std::int64_t>(placement.memory.count);
  machine.kinds[kindOf(placement)] += sign;
  for (const Charge& charge : placement.charges) {
    for (Card& card : machine.cards) {
      if (card.is.uuid != charge.uuid) continue;
      card.compute += sign * charge.compute.milli;
      if (sign > 0) {
        card.charges.push_back(charge);
      } else {
        card.charges.erase(std::find(card.charges.begin(), card.charges.end(), charge));
      }
      card.tenants += sign * static_cast<int>(charge.slots);
      card.given_in[placement.pool.text] += sign;
    }
  }
}

std::optional<NodeRefusal> World::refusal(const Machine& machine, const Shape& shape) const {
  std::uint32_t widest = 0;
  for (const auto* list : {&shape.init, &shape.containers}) {
    for (const Container& one : *list) {
      for (const DeviceRequest& ask : asksOf(one)) widest = std::max(widest, ask.count);
    }
  }
  const std::int64_t cpu = sumOrMost(shape, cpuOf);
  const std::int64_t memory = sumOrMost(shape, memoryOf);
  const std::int64_t memory_left =
      static_cast<std::int64_t>(machine.is.memory.count) - machine.memory;
  if (machine.is.cordoned) return saying(NodeWhy::kCordoned);
  if (cpu > machine.is.cpu.milli - machine.cpu) {
    return saying(NodeWhy::kCpu, cpu, machine.is.cpu.milli - machine.cpu);
  }
  if (memory > memory_left) return saying(NodeWhy::kMemory, memory, memory_left);
  if (widest > machine.cards.size()) {
    return saying(NodeWhy::kTooFew, widest, static_cast<std::int64_t>(machine.cards.size()));
  }
  std::size_t number = 0;
  for (const auto* list : {&shape.init, &shape.containers}) {
    for (const Container& one : *list) {
      for (const DeviceRequest& ask : asksOf(one)) {
        if (auto refusal = aloneRefused(machine, ask, number, shape)) return refusal;
      }
      ++number;
    }
  }
  if (!placeable(machine.cards, shape, machine.is)) return saying(NodeWhy::kTogether);
  return std::nullopt;
}

namespace {

void addTo(const Charge& own, std::int32_t compute, std::int64_t tenants, Charge* to) {
  to->memory = to->memory + own.memory;
  to->swappable = to->swappable + own.swappable;
  to->outside = to->outside + own.outside;
  to->largest = std::max(to->largest, own.largest);
  to->compute.milli += compute;
  to->slots += static_cast<std::uint32_t>(tenants);
}

// The most at any time; what is never swapped is with what is outside.
void raise(const std::map<DeviceUuid, Charge>& by, std::map<DeviceUuid, Charge>* most) {
  for (const auto& [uuid, charge] : by) {
    Charge& of = (*most)[uuid];
    const Bytes memory = std::max(of.memory, charge.memory);
    const Bytes stays = std::max(of.memory - of.swappable, charge.memory - charge.swappable);
    of = {uuid,
          memory,
          std::max(of.compute, charge.compute),
          std::max(of.slots, charge.slots),
          std::max(of.outside, charge.outside),
          memory - stays,
          std::max(of.largest, charge.largest)};
  }
}

bool apart(const Node& node, const Shape& shape, unsigned set) {
  return set != 0 && together(node, shape.devices.value_or(DevicePolicy{}), set).fault;
}

}  // namespace

std::string World::faultOf(const Placement& placement, const Shape& shape) const {
  const auto at = machines_.find(placement.node.text);
  if (at == machines_.end()) return "unknown node";
  std::vector<Container> all = shape.init;
  all.insert(all.end(), shape.containers.begin(), shape.containers.end());
  if (placement.containers.size() != all.size()) return "wrong number of containers";
  if (placement.cpu.milli != sumOrMost(shape, cpuOf)) return "wrong cpu";
  if (placement.pool != shape.pool.value_or(PoolName())) return "wrong pool";
  std::vector<Card> together = at->second.cards;
  std::map<DeviceUuid, Charge> most;
  std::map<DeviceUuid, Charge> sum;
  for (std::size_t c = 0; c < all.size(); ++c) {
    // Those before it that are still there are the sidecars.
    const bool ends = c < shape.init.size() && !all[c].sidecar;
    std::vector<Card> then = together;
    std::map<DeviceUuid, Charge> then_sum = sum;
    std::vector<Card>& cards = ends ? then : together;
    std::map<DeviceUuid, Charge>& charges = ends ? then_sum : sum;
    std::vector<DeviceRequest> asks = asksOf(all[c]);
    std::vector<unsigned> sets(asks.size());
    for (const Share& share : placement.containers[c]) {
      const auto card = std::find_if(cards.begin(), cards.end(),
                                     [&](const Card& one) { return one.is.uuid == share.uuid; });
      if (card == cards.end()) return "unknown device";
      // Kinds of one container's asks differ: there is one that it can be for.
      const auto ask = std::find_if(asks.begin(), asks.end(), [&](const DeviceRequest& one) {
        return one.count > 0 && (one.kind.empty() || one.kind == card->is.kind);
      });
      if (ask == asks.end()) return "device " + share.uuid.text + " that was not asked for";
      if (refuse(*card, *ask, shape, hostLeft(at->second.is, cards)))
        return "device " + share.uuid.text;
      --ask->count;
      sets[static_cast<std::size_t>(ask - asks.begin())] |= 1u << (card - cards.begin());
      const Charge own = chargeFor(*ask, shape.context_outside, *card);
      if (share.memory != own.memory - own.outside) return "wrong memory";
      if (share.guarantee != share.memory - own.swappable) return "wrong guarantee";
      if (share.compute != ask->compute) return "wrong compute";
      card->charges.push_back(own);
      card->compute += share.compute.milli;
      const std::int64_t tenants = tenantsFor(*card, shape);
      card->tenants += tenants;
      addTo(own, share.compute.milli, tenants, &charges[share.uuid]);
    }
    for (const unsigned set : sets)
      if (apart(at->second.is, shape, set)) return "not together";
    for (const DeviceRequest& ask : asks) {
      if (ask.count > 0) return "too few devices";
    }
    raise(charges, &most);
  }
  raise(sum, &most);
  if (most.size() != placement.charges.size()) return "wrong number of charges";
  for (const Charge& charge : placement.charges) {
    Charge& expected = most[charge.uuid];
    expected.uuid = charge.uuid;
    for (const Card& card : at->second.cards)
      if (const ColocationRule* company = companyOn(card, shape);
          company && card.is.uuid == charge.uuid)
        expected.sort = company->sort;
    if (expected != charge) return "wrong charge of " + charge.uuid.text;
  }
  return "";
}

std::string World::overCapacity() const {
  for (const auto& [name, machine] : machines_) {
    if (machine.cpu > machine.is.cpu.milli || machine.cpu < 0) return name + ": cpu";
    if (machine.memory > static_cast<std::int64_t>(machine.is.memory.count) || machine.memory < 0) {
      return name + ": memory";
    }
    if (hostLeft(machine.is, machine.cards) < 0) return name + ": host memory";
    for (const Card& card : machine.cards) {
      const bool bound = card.is.compute_rule == ComputeRule::kBound;
      if ((bound && card.computeLeft() < 0) || card.compute < 0)
        return card.is.uuid.text + ": compute";
      if (card.held() > card.room() / 1000 * card.is.terms.overcommit_permille + 4000)
        return card.is.uuid.text + ": memory";
      if (card.stays() > card.room()) return card.is.uuid.text + ": guarantees";
      if (card.tenants > card.is.slots || card.tenants < 0) return card.is.uuid.text + ": slots";
      if (card.is.mode == Mode::kExclusive && card.tenants > 1) return card.is.uuid.text + ": two";
    }
  }
  return "";
}

}  // namespace divvy::engine::brute
