#include "some_snapshot.h"

#include <map>

#include "engine/engine.h"
#include "some.h"
#include "some_partings.h"

namespace divvy::snapshot::some {
namespace {

engine::Config config(Rng& rng) {
  engine::Config config;
  config.policy = engine::kPolicies[rng.below(engine::kPolicies.size())];
  config.seed = rng.below(3) == 0 ? UINT64_MAX - rng.below(9) : rng.below(9);
  if (rng.below(2) == 0) config.devices = engine::some::devicePolicy(rng);
  if (rng.below(4) == 0) config.weights.fragment = -7;
  if (rng.below(4) == 0) config.compat = engine::Compat::kHami;
  if (rng.below(3) == 0) config.daily = {rng.below(2) == 0, 900};
  return config;
}

// One that everybody may use.
std::vector<engine::Pool> pools(Rng& rng) {
  engine::Pool here;
  here.name = engine::PoolName("here");
  here.members.models = {engine::ModelName("H100")};
  if (rng.below(2) == 0) here.members.labels = {{"rack", "r1"}};
  if (rng.below(2) == 0) here.mode = engine::Mode::kExclusive;
  if (rng.below(2) == 0) here.overcommit_permille = 1500;
  if (rng.below(2) == 0) here.default_of = {engine::UserName("ann")};
  return {here};
}

engine::Node node(Rng& rng, const std::string& name) {
  engine::some::Wild wild{rng, true, rng.below(2) == 0};
  engine::Node node = wild.node(name);
  if (rng.below(3) == 0) node.labels.push_back({"rack", "r" + std::to_string(rng.below(3))});
  if (rng.below(5) == 0) node.order = rng.below(2) == 0 ? UINT64_MAX : rng.below(9);
  if (rng.below(4) == 0 && node.devices.size() > 1) {
    node.merits.push_back({engine::DeviceKind("x"),
                           {{1, 7}, {2, static_cast<std::uint32_t>(rng.below(99))}},
                           {{2, 3}},
                           {{{0}}, {{1}}},
                           rng.below(2) == 0,
                           static_cast<std::uint32_t>(rng.below(11))});
  }
  std::uint32_t place = 0;
  for (engine::Device& device : node.devices) {
    if (rng.below(6) == 0) device.block = static_cast<std::uint32_t>(rng.below(2));
    if (rng.below(8) == 0) device.row = engine::InRow{place, {1, 2, 4}};
    ++place;
    if (rng.below(5) != 0) continue;
    device.terms = {};
    device.parting = rng.below(2) == 0 ? engine::some::sevenths(10) : engine::some::sums();
  }
  return node;
}

engine::Request request(Rng& rng, const std::string& id) {
  engine::some::Wild wild{rng, true, rng.below(3) == 0};
  engine::Request request = wild.request(id);
  engine::Shape& shape = request.shape;
  if (rng.below(3) == 0) shape.pool = engine::PoolName(rng.below(2) == 0 ? "here" : "");
  if (rng.below(2) == 0) request.user = engine::UserName("ann");
  if (rng.below(5) == 0) shape.policy = engine::kPolicies[rng.below(engine::kPolicies.size())];
  if (rng.below(5) == 0) shape.unswappable = true;
  if (rng.below(5) == 0) shape.weights = engine::Weights{1, -2, 3, -4, 5, -6};
  if (rng.below(4) == 0) {
    for (std::uint16_t& hour : shape.daily.emplace().permille)
      hour = static_cast<std::uint16_t>(rng.below(1001));
  }
  if (rng.below(6) == 0) shape.selector.uuid_match = engine::UuidMatch::kPrefix;
  if (rng.below(6) == 0 && !shape.devices) {
    engine::DeviceRequest& ask = shape.containers[0].devices;
    ask.guarantee.reset();
    if (rng.below(2) == 0) {
      ask.part = engine::PartName();
      if (shape.containers[0].others.empty()) ask.kind = {};
    } else {
      ask.part = engine::PartName("1g");
      ask.memory = Bytes{};
      ask.compute = {};
    }
  }
  return request;
}

// An engine that is used, and what is written down of it meanwhile.
class Life {
 public:
  Life(Rng& rng, Snapshot& out) : rng_(rng), out_(out), engine_(out.config) {
    static_cast<void>(engine_.setPools(out.pools));
    for (std::uint64_t i = 0, all = 1 + rng.below(4); i < all; ++i) {
      known_["n" + std::to_string(i)] = node(rng, "n" + std::to_string(i));
      static_cast<void>(engine_.setNode(known_["n" + std::to_string(i)]));
      out_.history.nodes.push_back(known_["n" + std::to_string(i)]);
    }
    for (int i = 0; i < 3; ++i) {
      const auto held = engine_.place(request(rng, "before" + std::to_string(i)), {1});
      if (held && rng.below(2) == 0) static_cast<void>(engine_.confirm(held->id));
    }
    out_.history.allocations = engine_.allocations();
    out_.history.dropped = rng.below(3);
  }

  void step() {
    now_.ms += static_cast<std::int64_t>(rng_.below(2));
    const std::uint64_t what = rng_.below(8);
    if (what < 5) ask();
    if (what == 5) release();
    if (what == 6) change();
    if (what == 7 && rng_.below(4) == 0) lose();
  }

  void end() {
    for (const auto& [name, node] : known_) out_.nodes.push_back(node);
    for (const engine::Allocation& one : engine_.allocations()) {
      HeldAllocation& held = out_.allocations.emplace_back();
      held.allocation = one;
      held.name = rng_.below(2) == 0 ? "name \"of\" \\ it \xc3\xa4" : "";
      held.priority = static_cast<std::int64_t>(rng_.below(3)) - 1;
      held.since = now_;
      const auto shape = shapes_.find(one.id);
      if (shape != shapes_.end()) held.shape = shape->second;
    }
  }

 private:
  void enter(decltype(HistoryEntry::what) what) { out_.history.entries.push_back({now_, what}); }

  void ask() {
    const engine::Request asked = request(rng_, "r" + std::to_string(++asks_));
    const auto decided = engine_.decide(asked);
    if (!decided) return;
    RequestEvent entry{asked, static_cast<std::int64_t>(rng_.below(3)) - 1,
                       RequestOutcome::kRefused, decided->placement, ""};
    const bool wait = rng_.below(3) == 0;
    if (wait) entry.outcome = RequestOutcome::kQueued;
    if (!wait && decided->fits()) entry.outcome = RequestOutcome::kPlaced;
    if (entry.outcome != RequestOutcome::kPlaced) entry.reason = "so it is";
    enter(entry);
    if (wait) out_.pending.push_back({asked, "", entry.priority, now_, "so it is"});
    if (entry.outcome != RequestOutcome::kPlaced) return;
    const auto held = engine_.place(asked, {now_.ms + 9});
    if (!held) return;
    shapes_[asked.id] = asked.shape;
    enter(AllocationUpdated{*held});
  }
  void release() {
    const std::vector<engine::Allocation> all = engine_.allocations();
    if (all.empty()) return;
    const engine::RequestId id = all[rng_.below(all.size())].id;
    engine_.release(id);
    enter(AllocationReleased{id});
  }
  void change() {
    const std::string name = "n" + std::to_string(rng_.below(5));
    known_[name] = node(rng_, name);
    static_cast<void>(engine_.setNode(known_[name]));
    enter(NodeUpdated{known_[name]});
  }
  void lose() {
    const engine::NodeName name = known_.begin()->second.name;
    if (known_.size() < 2) return;
    known_.erase(known_.begin());
    engine_.removeNode(name);
    enter(NodeRemoved{name});
  }

  Rng& rng_;
  Snapshot& out_;
  engine::Engine engine_;
  std::map<std::string, engine::Node> known_;
  std::map<engine::RequestId, engine::Shape> shapes_;
  engine::Instant now_{1'700'000'000'000};
  int asks_ = 0;
};

}  // namespace

Snapshot snapshot(Rng& rng, std::size_t steps) {
  Snapshot result;
  result.written_by = "divvy test";
  result.written_at = {1'700'000'000'123};
  result.redacted = rng.below(2) == 0;
  result.config = config(rng);
  result.pools = pools(rng);
  Life life(rng, result);
  for (std::size_t i = 0; i < steps; ++i) life.step();
  life.end();
  return result;
}

}  // namespace divvy::snapshot::some
