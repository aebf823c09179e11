// Who comes together by how their days go, against trying everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

UsageByHour between(std::size_t from, std::size_t to, std::uint16_t permille = 1000) {
  UsageByHour daily;
  for (std::size_t hour = from; hour < to; ++hour) daily.permille[hour] = permille;
  return daily;
}

UsageByHour wildDaily(Rng& rng) {
  UsageByHour daily;
  const auto low = static_cast<std::uint16_t>(rng.below(400));
  const std::uint64_t from = rng.below(kHours);
  const std::uint64_t hours = 1 + rng.below(kHours);
  for (std::size_t i = 0; i < kHours; ++i) daily.permille[i] = low;
  for (std::size_t i = 0; i < hours; ++i)
    daily.permille[(from + i) % kHours] = static_cast<std::uint16_t>(low + rng.below(600));
  return daily;
}

TEST(UsageByHour, TypicalDays_FewAndIdempotent) {
  Rng rng(1);
  std::set<UsageByHour> all;
  for (int i = 0; i < 20'000; ++i) {
    const UsageByHour one = typical(wildDaily(rng));
    all.insert(one);
    ASSERT_EQ(typical(one), one);
  }
  EXPECT_GT(all.size(), 20u);
  EXPECT_LE(all.size(), 100u);
  EXPECT_EQ(typical(UsageByHour{}), UsageByHour{});
  EXPECT_EQ(typical(between(0, 24)), between(0, 24));
  // By day, and by night.
  EXPECT_GT(typical(between(8, 20)).permille[14], 900);
  EXPECT_LT(typical(between(8, 20)).permille[2], 100);
  EXPECT_GT(typical(between(0, 6)).permille[3], typical(between(0, 6)).permille[15]);
}

// The largest k with which all holds, by trying each.
std::uint32_t safeByTrying(const std::vector<ObservedUse>& seen, Bytes memory, Bytes host) {
  for (std::uint32_t k = 4000; k > 1000; --k) {
    std::size_t fit = 0, all = 0;
    for (const ObservedUse& one : seen) {
      if (one.promised.count == 0) continue;
      ++all;
      const double part =
          static_cast<double>(one.used.count) / static_cast<double>(one.promised.count);
      fit += part * k <= 1000 + 1e-9 ? 1 : 0;
    }
    const bool beyond = (k - 1000.0) / 1000 * static_cast<double>(memory.count) <=
                        static_cast<double>(host.count) + 1e-6;
    if (all > 0 && 100 * fit >= 95 * all && beyond) return k;
  }
  return 1000;
}

TEST(UsageByHour, SafeOvercommit_AgreesWithTryingEach) {
  Rng rng(2);
  EXPECT_EQ(safeOvercommit({}, gib(80), gib(800)), 1000u);
  const std::vector<ObservedUse> half(100, ObservedUse{gib(40), gib(80)});
  EXPECT_EQ(safeOvercommit(half, gib(80), gib(800)), 2000u);
  EXPECT_EQ(safeOvercommit(half, gib(80), gib(20)), 1250u);  // the host's memory is short
  EXPECT_EQ(safeOvercommit(half, gib(80), Bytes{}), 1000u);
  std::vector<ObservedUse> rarely = half;
  for (int i = 0; i < 5; ++i) rarely[static_cast<std::size_t>(i)].used = gib(80);
  EXPECT_EQ(safeOvercommit(rarely, gib(80), gib(800)), 2000u);
  rarely[5].used = gib(80);
  EXPECT_EQ(safeOvercommit(rarely, gib(80), gib(800)), 1000u);
  std::set<std::uint32_t> found;
  for (int i = 0; i < 300; ++i) {
    std::vector<ObservedUse> seen(rng.below(40));
    for (ObservedUse& one : seen) {
      one.promised = {64 * rng.below(4)};
      one.used = {rng.below(80)};
    }
    const Bytes host{rng.below(2000)};
    const std::uint32_t k = safeOvercommit(seen, {500}, host);
    ASSERT_EQ(k, safeByTrying(seen, {500}, host)) << i;
    found.insert(k);
  }
  EXPECT_GT(found.size(), 10u);
}

TEST(UsageByHour, MoreThanAllOfDevice_Refused) {
  Request request = some::request("a", 1, 100);
  request.shape.daily = between(0, 1, 1001);
  for (const bool ties : {false, true}) {
    const Engine engine({.daily = {ties, 0}});
    const auto decision = engine.decide(request);
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code(), ErrorCode::kUsage);
  }
}

// What is known of a card beside brute::World: whose day it is.
struct Tenant {
  std::string uuid;
  std::int64_t compute, memory;
  std::optional<UsageByHour> daily;
};

struct Try {
  bool calm = false;
  std::int64_t score = 0;
  std::int64_t level = 0;  // the lower the better
  std::string uuid;
  auto rank() const { return std::tuple(calm, score, -level); }
};

using Score = std::function<double(const brute::Machine&, const Shape&)>;

class Days {
 public:
  Days(UsageByHourPolicy rule, bool by_score, Score score)
      : rule_(rule), by_score_(by_score), score_(std::move(score)) {}

  std::vector<Tenant> tenants;

  // In thousandths, rounded up, by going through the hours.
  std::int64_t peak(const brute::Card& card, const Request& request) const {
    const DeviceRequest& ask = request.shape.containers[0].devices;
    const Charge charge = brute::chargeFor(ask, false, card);
    std::vector<Tenant> all{{card.is.uuid.text, charge.compute.milli,
                             static_cast<std::int64_t>(charge.memory.count), request.shape.daily}};
    for (const Tenant& one : tenants)
      if (one.uuid == card.is.uuid.text) all.push_back(one);
    double peak = 0;
    for (std::size_t hour = 0; hour < kHours; ++hour) {
      double compute = 0, memory = 0;
      for (const Tenant& one : all) {
        const int permille = one.daily ? one.daily->permille[hour] : 1000;
        compute += std::floor(static_cast<double>(one.compute) * permille / 1000 + 1e-9);
        memory += std::floor(static_cast<double>(one.memory) * permille / 1000 + 1e-9);
      }
      peak = std::max(peak, compute / card.is.compute.milli);
      peak = std::max(peak, memory / static_cast<double>(card.is.memory.count));
    }
    return std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(1000 * peak - 1e-9)), 4000);
  }

  // Of one device of that machine, if it takes the request.
  Try on(const brute::Machine& machine, const Request& request) const {
    std::vector<std::pair<const brute::Card*, Try>> all;
    for (const brute::Card& card : machine.cards) {
      if (!brute::willDo(card, request.shape.containers[0].devices, request.shape.selector))
        continue;
      const std::int64_t high = peak(card, request);
      Shape here = request.shape;
      here.selector.uuids = {card.is.uuid};
      here.selector.uuid_match = UuidMatch::kExact;
      const double score = score_(machine, by_score_ ? here : request.shape);
      all.push_back(
          {&card,
           {rule_.avoid_above == 0 || high <= rule_.avoid_above,
            static_cast<std::int64_t>(std::floor(score + 1e-9)),
            rule_.ties ? std::min<std::int64_t>(high * 128 / 4000, 127) : 0, card.is.uuid.text}});
    }
    if (by_score_) {
      return std::max_element(
                 all.begin(), all.end(),
                 [](const auto& a, const auto& b) { return a.second.rank() < b.second.rank(); })
          ->second;
    }
    const auto left = [](const brute::Card& card) {
      return std::tuple(card.computeLeft(), card.room() - card.held());
    };
    const bool any_calm =
        std::any_of(all.begin(), all.end(), [](const auto& one) { return one.second.calm; });
    std::erase_if(all, [&](const auto& one) { return one.second.calm != any_calm; });
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return left(*a.first) < left(*b.first); });
    const auto like = [&](const brute::Card& card) {
      const std::int64_t slots =
          card.is.mode == Mode::kExclusive ? std::min(card.is.slots, 1u) : card.is.slots;
      return std::tuple(left(card), slots - card.tenants, card.is.memory.count, card.is.model.text);
    };
    Try best = all.front().second;
    for (const auto& [card, one] : all)
      if (like(*card) == like(*all.front().first) && one.level < best.level) best = one;
    return best;
  }

 private:
  UsageByHourPolicy rule_;
  bool by_score_;  // which device, too
  Score score_;
};

void book(const Placement& placement, const std::optional<UsageByHour>& daily, Days* days) {
  for (const Charge& charge : placement.charges)
    days->tenants.push_back({charge.uuid.text, charge.compute.milli,
                             static_cast<std::int64_t>(charge.memory.count), daily});
}

Node again(Node node, const std::string& name) {
  node.name = NodeName(name);
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    node.devices[i].uuid = DeviceUuid(name + "/" + std::to_string(i));
  return node;
}

// How often the day decided.
unsigned expectBest(Config config, bool by_score, const Score& score, std::uint64_t seed) {
  Rng rng(seed);
  unsigned compared = 0, decided = 0;
  Config plain = config;
  plain.daily = {};
  for (unsigned cluster = 0; cluster < 150; ++cluster) {
    some::Wild wild{rng, false};
    Engine engine(config), without(plain);
    brute::World world;
    Days days(config.daily, by_score, score);
    EXPECT_TRUE(engine.setTarget(some::target()) && without.setTarget(some::target()));
    Node node;
    for (int i = 0; i < 4; ++i) {
      // In pairs: of equals there have to be some.
      if (i % 2 == 0) node = wild.node("n" + std::to_string(i));
      if (i % 2 == 1) node = again(node, "n" + std::to_string(i));
      EXPECT_TRUE(engine.setNode(node) && without.setNode(node));
      world.add(node);
    }
    for (unsigned i = 0; i < 25; ++i) {
      Request request = wild.request("r" + std::to_string(i));
      DeviceRequest& ask = request.shape.containers[0].devices;
      ask.count = std::min(ask.count, 1u);
      ask.compute = {static_cast<std::int32_t>(100 * (1 + rng.below(3)))};
      request.shape.containers[0].cpu = {100};
      if (rng.below(5) != 0) request.shape.daily = typical(wildDaily(rng));
      const Result<Decision> decision = engine.decide(request);
      EXPECT_TRUE(decision);
      if (!decision->fits()) continue;
      if (ask.count == 1 && request.shape.daily) {
        std::optional<Try> best;
        std::string where;
        for (const NodeName& name : engine.nodes()) {
          const brute::Machine& machine = world.machines().at(name.text);
          if (world.refusal(machine, request.shape)) continue;
          const Try one = days.on(machine, request);
          if (best && one.rank() <= best->rank()) continue;
          best = one;
          where = name.text;
        }
        EXPECT_EQ(decision->placement->node.text, where) << cluster << "/" << i;
        EXPECT_EQ(decision->placement->charges[0].uuid.text, best->uuid) << cluster << "/" << i;
        EXPECT_EQ(decision->placement->score, best->score);
        if (testing::Test::HasFailure()) return 0;
        ++compared;
        decided += without.decide(request)->placement->charges[0].uuid.text != best->uuid ? 1 : 0;
      }
      const Result<Allocation> given = engine.place(request, Instant{1});
      EXPECT_TRUE(given && given->placement == *decision->placement);
      EXPECT_TRUE(without.adopt(*given));
      world.book(given->placement, 1);
      book(given->placement, request.shape.daily, &days);
    }
  }
  EXPECT_GT(compared, 500u);
  return decided;
}

TEST(UsageByHour, BestFit_LowestPeakAmongEquals) {
  for (const UsageByHourPolicy rule : {UsageByHourPolicy{true, 0}, {true, 700}, {false, 500}}) {
    const unsigned decided = expectBest({.policy = Policy::kBestFit, .daily = rule}, false,
                                        brute::bestFitScore, 3 + rule.avoid_above);
    EXPECT_GT(decided, 10u) << rule.ties << " " << rule.avoid_above;
  }
}

TEST(UsageByHour, Fgd_LowestPeakAmongEquals) {
  const Target target = some::target();
  const auto score = [&](const brute::Machine& machine, const Shape& shape) {
    return brute::fgdScore(machine, shape, target);
  };
  for (const UsageByHourPolicy rule : {UsageByHourPolicy{true, 0}, {true, 700}, {false, 500}}) {
    const unsigned decided =
        expectBest({.policy = Policy::kFgd, .daily = rule}, true, score, 4 + rule.avoid_above);
    EXPECT_GT(decided, 10u) << rule.ties << " " << rule.avoid_above;
  }
}

// Every policy takes it, what does not say is placed as before, off is off, and an engine made from
// the allocations goes on as the one that made them.
TEST(UsageByHour, RebuiltEngineOrPolicyOff_SamePlacements) {
  Rng rng(5);
  unsigned differ = 0;
  for (unsigned cluster = 0; cluster < 200; ++cluster) {
    const Policy policy = kPolicies[cluster % kPolicies.size()];
    const Config on{.policy = policy, .seed = cluster, .daily = {true, 600}};
    const Config off{.policy = policy, .seed = cluster};
    some::Wild wild{rng, true};
    Engine with(on), without(off), never(off);
    std::vector<Node> nodes;
    for (int i = 0; i < 4; ++i) nodes.push_back(wild.node("n" + std::to_string(i)));
    for (Engine* engine : {&with, &without, &never}) {
      ASSERT_TRUE(engine->setTarget(some::target()));
      for (const Node& node : nodes) ASSERT_TRUE(engine->setNode(node));
    }
    for (unsigned i = 0; i < 20; ++i) {
      Request request = wild.request("r" + std::to_string(i));
      Request silent = request;
      if (rng.below(3) != 0) request.shape.daily = wildDaily(rng);
      const auto said = without.place(request, Instant{1});
      const auto unsaid = never.place(silent, Instant{1});
      ASSERT_EQ(said.has_value(), unsaid.has_value());
      if (said) {
        Placement expected = unsaid->placement;
        expected.daily = request.shape.daily;
        ASSERT_EQ(said->placement, expected);
      }
      Engine again(on);
      ASSERT_TRUE(again.setTarget(some::target()));
      for (const Node& node : nodes) ASSERT_TRUE(again.setNode(node));
      for (const Allocation& one : with.allocations()) ASSERT_TRUE(again.adopt(one));
      const auto decision = with.decide(request);
      const auto same = again.decide(request);
      ASSERT_TRUE(decision && same);
      ASSERT_EQ(decision->placement, same->placement) << cluster << "/" << i;
      if (said && decision->fits() && said->placement.node != decision->placement->node) ++differ;
      (void)with.place(request, Instant{1});
      if (rng.below(4) == 0) {
        const RequestId id("r" + std::to_string(rng.below(i + 1)));
        for (Engine* engine : {&with, &without, &never}) engine->release(id);
      }
    }
  }
  EXPECT_GT(differ, 50u);
}

// Two who work by day do not fit one card at once; one by day and one by night do.
TEST(UsageByHour, DayAndNightTenants_PairedByPolicy) {
  const UsageByHour by_day = between(8, 20);
  UsageByHour by_night;
  for (std::size_t hour = 0; hour < kHours; ++hour)
    by_night.permille[hour] = static_cast<std::uint16_t>(1000 - by_day.permille[hour]);
  for (const Policy policy : {Policy::kDivvy, Policy::kPacking, Policy::kBinpack}) {
    for (const std::uint32_t avoid : {0u, 1000u}) {
      Engine engine({.policy = policy, .daily = {true, avoid}});
      for (const char* name : {"a", "b"}) {
        Node node = some::node(name, 1);
        node.devices[0].terms.overcommit_permille = 2000;
        node.host_reserve = gib(512);
        ASSERT_TRUE(engine.setNode(node));
      }
      std::map<std::string, std::set<char>> on;
      for (const char* id : {"day-1", "day-2", "night-1", "night-2"}) {
        Request request = some::request(id, 1, 400, gib(60));
        request.shape.daily = *id == 'd' ? by_day : by_night;
        const auto given = engine.place(request, Instant{1});
        ASSERT_TRUE(given);
        on[given->placement.node.text].insert(*id);
      }
      ASSERT_EQ(on.size(), 2u);
      // Without a bound the policy's own wish goes first: whoever comes goes to the fuller card.
      for (const auto& [node, who] : on) EXPECT_EQ(who.size(), avoid == 0 ? 1u : 2u);
    }
  }
}

}  // namespace
}  // namespace divvy::engine
