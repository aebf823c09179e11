#include "brute.h"

#include <algorithm>
#include <cctype>
#include <cmath>

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

std::optional<DeviceRefusal> refuse(const Card& card, const DeviceAsk& ask, const Shape& shape,
                                    std::int64_t host_left) {
  const Selector* chosen = &shape.selector;
  for (const KindSelector& one : shape.by_kind) {
    if (one.kind == card.is.kind) chosen = &one.selector;
  }
  const Selector& s = *chosen;
  const auto no = [&](DeviceWhy why, std::int64_t needed = 0, std::int64_t available = 0) {
    const bool about_pool = why == DeviceWhy::kNotInPool || why == DeviceWhy::kStrangers;
    return DeviceRefusal{card.is.uuid, why, static_cast<std::uint64_t>(needed),
                         static_cast<std::uint64_t>(available),
                         PoolName(about_pool ? card.pool : "")};
  };
  if (!ask.kind.empty() && ask.kind.text != card.is.kind.text) return no(DeviceWhy::kKind);
  if (card.pool != shape.pool.value_or(PoolName()).text) return no(DeviceWhy::kNotInPool);
  if (card.is.health == Health::kUnhealthy) return no(DeviceWhy::kUnhealthy);
  if (card.is.cordoned) return no(DeviceWhy::kCordoned);
  if (card.is.mode == Mode::kExternal) return no(DeviceWhy::kExternal);
  for (const auto& [pool, count] : card.given_in)
    if (count > 0 && pool != card.pool) return no(DeviceWhy::kStrangers);
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

// Every subset of cards for every container, one container after the other.
bool placeable(const std::vector<Card>& cards, const std::vector<DeviceAsk>& all, std::size_t at,
               const Shape& shape, const Node& node) {
  if (at == all.size()) return true;
  const DeviceAsk& ask = all[at];
  if (ask.count == 0) return placeable(cards, all, at + 1, shape, node);
  const DevicePolicy policy = shape.devices.value_or(DevicePolicy{});
  for (unsigned set = 0; set < 1u << cards.size(); ++set) {
    if (static_cast<std::uint32_t>(__builtin_popcount(set)) != ask.count) continue;
    std::vector<Card> after = cards;
    bool good = !together(node, policy, set).fault;
    for (std::size_t i = 0; i < cards.size() && good; ++i) {
      if ((set >> i & 1) == 0) continue;
      good = !refuse(after[i], ask, shape, hostLeft(node, after));
      after[i].charges.push_back(chargeFor(ask, shape.context_outside, after[i]));
      after[i].compute += ask.compute.milli;
      after[i].tenants += tenantsFor(after[i], shape);
    }
    if (good && placeable(after, all, at + 1, shape, node)) return true;
  }
  return false;
}

std::int64_t sumOrMost(const Shape& shape, std::int64_t (*of)(const Container&)) {
  std::int64_t sum = 0;
  for (const Container& one : shape.containers) sum += of(one);
  for (const Container& one : shape.init) sum = std::max(sum, of(one));
  return sum;
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

std::vector<DeviceAsk> asksOf(const Container& one) {
  std::vector<DeviceAsk> asks{one.devices};
  asks.insert(asks.end(), one.others.begin(), one.others.end());
  return asks;
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
std::optional<NodeRefusal> apartRefused(const Node& node, const DeviceAsk& ask, const Shape& shape,
                                        unsigned good) {
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

std::optional<NodeRefusal> aloneRefused(const Machine& machine, const DeviceAsk& ask,
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

bool willDo(const Card& card, const DeviceAsk& ask, const Selector& selector) {
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
      for (const DeviceAsk& ask : asksOf(one)) widest = std::max(widest, ask.count);
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
      for (const DeviceAsk& ask : asksOf(one)) {
        if (auto refusal = aloneRefused(machine, ask, number, shape)) return refusal;
      }
      ++number;
    }
  }
  std::vector<DeviceAsk> all;
  for (const Container& one : shape.containers) {
    for (const DeviceAsk& ask : asksOf(one)) all.push_back(ask);
  }
  bool together = placeable(machine.cards, all, 0, shape, machine.is);
  for (const Container& one : shape.init)
    together = together && placeable(machine.cards, asksOf(one), 0, shape, machine.is);
  if (!together) return saying(NodeWhy::kTogether);
  return std::nullopt;
}

namespace {

// At most what it is, or what was before with that one's own. What is never swapped is added up
// with what is outside.
void addMemory(const Charge& before, const Charge& own, Charge* charge) {
  const Bytes stays = std::max(charge->memory - charge->swappable,
                               before.memory - before.swappable + own.memory - own.swappable);
  charge->memory = std::max(charge->memory, before.memory + own.memory);
  charge->swappable = charge->memory - stays;
  charge->outside = std::max(charge->outside, before.outside + own.outside);
  charge->largest = std::max(charge->largest, own.largest);
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
    const bool init = c < shape.init.size();
    std::vector<Card> fresh = at->second.cards;
    std::vector<Card>& cards = init ? fresh : together;
    std::vector<DeviceAsk> asks = asksOf(all[c]);
    std::vector<unsigned> sets(asks.size());
    for (const Share& share : placement.containers[c]) {
      const auto card = std::find_if(cards.begin(), cards.end(),
                                     [&](const Card& one) { return one.is.uuid == share.uuid; });
      if (card == cards.end()) return "unknown device";
      // Kinds of one container's asks differ: there is one that it can be for.
      const auto ask = std::find_if(asks.begin(), asks.end(), [&](const DeviceAsk& one) {
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
      Charge& charge = init ? most[share.uuid] : sum[share.uuid];
      const Charge before = init ? Charge{} : charge;
      charge.compute.milli =
          std::max(charge.compute.milli, before.compute.milli + share.compute.milli);
      charge.slots = std::max(charge.slots, before.slots + static_cast<std::uint32_t>(tenants));
      addMemory(before, own, &charge);
    }
    for (const unsigned set : sets)
      if (apart(at->second.is, shape, set)) return "not together";
    for (const DeviceAsk& ask : asks) {
      if (ask.count > 0) return "too few devices";
    }
  }
  for (const auto& [uuid, charge] : sum) {
    Charge& of = most[uuid];
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
  if (most.size() != placement.charges.size()) return "wrong number of charges";
  for (const Charge& charge : placement.charges) {
    Charge& expected = most[charge.uuid];
    expected.uuid = charge.uuid;
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
