// Devices that are split as their hardware does it, against trying every part in every place.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "briefs.h"
#include "engine/engine.h"
#include "some.h"
#include "some_partings.h"

namespace divvy::engine {
namespace {

using some::quarters;
using some::sevenths;
using some::sums;

// ------------------------------------------------------------

// One device, as trying sees it.
struct Card {
  Device is;
  std::vector<int> slices = std::vector<int>(16);
  std::int64_t memory = 0, compute = 0, cpus = 0;
  int tenants = 0, parts = 0, shares = 0;

  bool split() const { return is.parting && (is.parting->slices > 0) == (is.mode == Mode::kMig); }
  bool takes(const DeviceRequest& ask) const {
    if (is.mode == Mode::kMig || parts > 0) return false;
    const auto bytes = static_cast<std::int64_t>(std::get<Bytes>(ask.memory).count);
    if (tenants >= static_cast<int>(is.slots)) return false;
    if (memory + bytes > static_cast<std::int64_t>(is.memory.count)) return false;
    if (compute + ask.compute.milli > 1000) return false;
    if (ask.compute.milli == 1000 && tenants > 0) return false;
    return !(ask.compute.milli == 0 && compute == 1000);
  }
  bool takes(const DevicePart& part, std::uint32_t start) const {
    if (!split() || shares > 0 || tenants >= static_cast<int>(is.slots)) return false;
    if (is.parting->slices > 0) {
      for (std::uint32_t i = start; i < start + part.size; ++i)
        if (slices[i] > 0) return false;
      return true;
    }
    return memory + static_cast<std::int64_t>(part.memory.count) <=
               static_cast<std::int64_t>(is.memory.count) &&
           compute + part.compute.milli <= 1000 && cpus + part.cpus <= is.parting->cpus;
  }
  void add(const DeviceRequest& ask) {
    memory += static_cast<std::int64_t>(std::get<Bytes>(ask.memory).count);
    compute += ask.compute.milli;
    ++shares;
    ++tenants;
  }
  void add(const DevicePart& part, std::uint32_t start) {
    memory += static_cast<std::int64_t>(part.memory.count);
    compute += part.compute.milli;
    cpus += part.cpus;
    ++parts;
    ++tenants;
    for (std::uint32_t i = start; i < start + part.size; ++i) ++slices[i];
  }
};
using Cards = std::vector<Card>;

bool enough(const DevicePart& part, const DeviceRequest& ask) {
  if (!ask.part->empty()) return part.name == *ask.part;
  return part.memory >= std::get<Bytes>(ask.memory) && part.compute >= ask.compute;
}

// A way for one device or one part: on which card, as which part from where on.
struct Way {
  std::size_t card = 0;
  const DevicePart* part = nullptr;
  std::uint32_t start = 0;
};

std::vector<Way> waysFor(const Cards& cards, const DeviceRequest& ask) {
  std::vector<Way> ways;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (!ask.part) {
      if (cards[i].takes(ask)) ways.push_back({i});
      continue;
    }
    if (!cards[i].split()) continue;
    for (const DevicePart& part : cards[i].is.parting->parts) {
      if (!enough(part, ask)) continue;
      const std::vector<std::uint32_t> nowhere{0};
      for (const std::uint32_t start : part.size > 0 ? part.starts : nowhere)
        if (cards[i].takes(part, start)) ways.push_back({i, &part, start});
    }
  }
  return ways;
}

void take(Cards* cards, const DeviceRequest& ask, const Way& way) {
  if (way.part != nullptr) (*cards)[way.card].add(*way.part, way.start);
  if (way.part == nullptr) (*cards)[way.card].add(ask);
}

// Each of `all` is one device or one part; every way for each, until `then` likes what all got.
bool placeable(const Cards& cards, const std::vector<DeviceRequest>& all, std::vector<Way>* got,
               const std::function<bool(const std::vector<Way>&)>& then) {
  if (got->size() == all.size()) return then(*got);
  const DeviceRequest& ask = all[got->size()];
  for (const Way& way : waysFor(cards, ask)) {
    Cards after = cards;
    take(&after, ask, way);
    got->push_back(way);
    const bool good = placeable(after, all, got, then);
    got->pop_back();
    if (good) return true;
  }
  return false;
}

std::vector<DeviceRequest> singles(const Container& one) {
  std::vector<DeviceRequest> all(one.devices.count, one.devices);
  return all;
}

bool placeable(const Cards& cards, const Shape& shape) {
  std::vector<DeviceRequest> end;
  // By init container that ends: how many of `end` are before it.
  std::vector<std::pair<const Container*, std::size_t>> init;
  for (const Container& one : shape.init) {
    if (!one.sidecar) init.emplace_back(&one, end.size());
    for (std::size_t k = 0; one.sidecar && k < one.devices.count; ++k) end.push_back(one.devices);
  }
  for (const Container& one : shape.containers)
    for (const DeviceRequest& ask : singles(one)) end.push_back(ask);
  std::vector<Way> got;
  return placeable(cards, end, &got, [&](const std::vector<Way>& ways) {
    return std::all_of(init.begin(), init.end(), [&](const auto& one) {
      Cards then = cards;
      for (std::size_t k = 0; k < one.second; ++k) take(&then, end[k], ways[k]);
      std::vector<Way> own;
      return placeable(then, singles(*one.first), &own, [](const auto&) { return true; });
    });
  });
}

class Chance {
 public:
  explicit Chance(Rng& rng) : rng_(rng) {}

  Node node() {
    Node node = some::node("n", static_cast<unsigned>(1 + rng_.below(2)));
    const std::uint64_t sort = rng_.below(4);
    for (Device& device : node.devices) {
      device.slots = static_cast<std::uint32_t>(3 + rng_.below(6));
      device.memory = gib(sort == 2 ? 21 : 80);
      device.parting = sort == 0 ? sevenths(10) : sort == 1 ? quarters() : sums();
      if (sort == 3) device.parting = rng_.below(2) == 0 ? sevenths(10) : sums();
      const bool placed = device.parting->slices > 0;
      device.mode = placed == (rng_.below(8) != 0) ? Mode::kMig : Mode::kShared;
    }
    return node;
  }
  Request request(const std::string& id) {
    Request request;
    request.id = RequestId(id);
    do request.shape.containers.push_back(container());
    while (rng_.below(3) == 0);
    while (rng_.below(3) == 0 && request.shape.init.size() < 3) {
      request.shape.init.push_back(container());
      request.shape.init.back().sidecar = rng_.below(2) == 0;
    }
    return request;
  }

 private:
  Container container() {
    static const std::vector<std::string> names{"1g", "1g.big", "2g",    "3g",    "4g",
                                                "7g", "vir01",  "vir02", "vir04", ""};
    Container one{{}, {}, {1, gib(rng_.below(20)), {}}};
    if (rng_.below(5) == 0) {
      one.devices.compute = {static_cast<std::int32_t>(rng_.below(5) * 250)};
      return one;
    }
    one.devices.part = PartName(names[rng_.below(names.size())]);
    if (rng_.below(4) == 0) one.devices.count = static_cast<std::uint32_t>(2 + rng_.below(2));
    if (one.devices.part->empty()) {
      one.devices.compute = {static_cast<std::int32_t>(rng_.below(3) * 140)};
    } else {
      one.devices.memory = Bytes{};
    }
    return one;
  }
  Rng& rng_;
};

struct Tried {
  Node node;
  std::map<std::string, std::pair<Shape, Placement>> booked;

  // As it is when all of them are there; init containers beside what is there only.
  Cards cards() const {
    Cards all;
    for (const Device& device : node.devices) all.push_back({device});
    for (const auto& [id, held] : booked) add(held.second, &all);
    return all;
  }
  // What is charged, and no share of it twice.
  static void add(const Placement& placement, Cards* cards) {
    for (const Charge& charge : placement.charges) {
      for (Card& card : *cards) {
        if (card.is.uuid != charge.uuid) continue;
        card.memory += static_cast<std::int64_t>(charge.memory.count);
        card.compute += charge.compute.milli;
        card.cpus += charge.cpus;
        card.parts += static_cast<int>(charge.parts);
        card.tenants += static_cast<int>(charge.slots);
        card.shares += charge.shared_too || charge.slots > charge.parts ? 1 : 0;
        for (std::size_t i = 0; i < 16; ++i) card.slices[i] += charge.slices >> i & 1;
      }
    }
  }
};

// Shares are parts that are there, and all of them together fit.
void expectRight(const Cards& before, const Shape& shape, const Placement& placement) {
  std::vector<Container> all = shape.init;
  all.insert(all.end(), shape.containers.begin(), shape.containers.end());
  Cards together = before;
  ASSERT_EQ(placement.containers.size(), all.size());
  for (std::size_t c = 0; c < all.size(); ++c) {
    // Those before it that are still there are the sidecars.
    Cards then = together;
    Cards& cards = c < shape.init.size() && !all[c].sidecar ? then : together;
    const DeviceRequest& ask = all[c].devices;
    ASSERT_EQ(placement.containers[c].size(), ask.count);
    for (const Share& share : placement.containers[c]) {
      const auto card = std::find_if(cards.begin(), cards.end(),
                                     [&](const Card& one) { return one.is.uuid == share.uuid; });
      ASSERT_NE(card, cards.end());
      if (!ask.part) {
        ASSERT_TRUE(card->takes(ask));
        card->add(ask);
        continue;
      }
      const auto& parts = card->is.parting->parts;
      const auto part = std::find_if(parts.begin(), parts.end(),
                                     [&](const DevicePart& one) { return one.name == share.part; });
      ASSERT_NE(part, parts.end());
      ASSERT_TRUE(enough(*part, ask));
      ASSERT_EQ(share.size, part->size);
      ASSERT_EQ(share.memory, part->memory);
      ASSERT_EQ(share.compute, part->compute);
      const bool begins = std::count(part->starts.begin(), part->starts.end(), share.start) > 0;
      ASSERT_TRUE(begins || part->size == 0);
      ASSERT_TRUE(card->takes(*part, share.start)) << share.part.text << " at " << share.start;
      card->add(*part, share.start);
    }
  }
}

TEST(PartitioningBruteForce, RandomNodes_AgreesWithEveryPlace) {
  Rng rng(31);
  unsigned fits = 0;
  unsigned parts = 0;
  unsigned refused = 0;
  for (unsigned round = 0; round < 900; ++round) {
    Chance chance(rng);
    Tried tried{chance.node(), {}};
    Engine engine(Config{kPolicies[round % kPolicies.size()], round});
    ASSERT_TRUE(engine.setTarget(some::target()));
    ASSERT_TRUE(engine.setNode(tried.node));
    for (unsigned i = 0; i < 12; ++i) {
      const Request request = chance.request("r" + std::to_string(i));
      const Cards before = tried.cards();
      const auto decision = engine.explain(request);
      ASSERT_TRUE(decision) << decision.error().message();
      ASSERT_EQ(decision->fits(), placeable(before, request.shape)) << round << "/" << i;
      ASSERT_EQ(decision->fits(), decision->refusals.empty());
      ASSERT_NO_FATAL_FAILURE(expectBriefs(engine, request, *decision)) << round << "/" << i;
      ++(decision->fits() ? fits : refused);
      if (decision->fits()) {
        ASSERT_NO_FATAL_FAILURE(expectRight(before, request.shape, *decision->placement));
        const auto given = engine.place(request, Instant{1});
        ASSERT_TRUE(given);
        ASSERT_EQ(given->placement, *decision->placement);
        tried.booked[request.id.text] = {request.shape, given->placement};
        for (const auto& shares : given->placement.containers)
          for (const Share& share : shares) parts += share.part.empty() ? 0 : 1;
      }
      if (tried.booked.empty() || rng.below(3) != 0) continue;
      const auto gone =
          std::next(tried.booked.begin(), static_cast<long>(rng.below(tried.booked.size())));
      ASSERT_TRUE(engine.release(RequestId(gone->first)));
      tried.booked.erase(gone);
    }
    // Made again from what was given, it says the same.
    Engine again(Config{Policy::kFgd, 0});
    ASSERT_TRUE(again.setNode(tried.node));
    for (const Allocation& one : engine.allocations()) ASSERT_TRUE(again.adopt(one));
    const Request next = chance.request("next");
    ASSERT_EQ(again.decide(next)->fits(), engine.decide(next)->fits());
  }
  EXPECT_GT(fits, 2000u);
  EXPECT_GT(parts, 2000u);
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace divvy::engine
