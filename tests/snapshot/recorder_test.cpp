// The history that is kept while it happens.
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "snapshot/recorder.h"
#include "snapshot/text.h"
#include "some.h"
#include "some_snapshot.h"

namespace divvy::snapshot {
namespace {

// What an engine that follows the history has in the end.
engine::Engine follow(const History& history, std::size_t* asks, bool check) {
  engine::Engine engine{engine::Config{}};
  for (const engine::Node& node : history.nodes) EXPECT_TRUE(engine.setNode(node));
  for (const engine::Allocation& one : history.allocations) EXPECT_TRUE(engine.adopt(one));
  for (const HistoryEntry& entry : history.entries) {
    if (const auto* is = std::get_if<NodeUpdated>(&entry.what)) {
      EXPECT_TRUE(engine.setNode(is->node));
    }
    if (const auto* gone = std::get_if<NodeRemoved>(&entry.what)) engine.removeNode(gone->node);
    if (const auto* holds = std::get_if<AllocationUpdated>(&entry.what)) {
      engine.release(holds->allocation.id);
      EXPECT_TRUE(engine.adopt(holds->allocation));
    }
    if (const auto* released = std::get_if<AllocationReleased>(&entry.what)) {
      EXPECT_TRUE(engine.release(released->id));
    }
    const auto* asked = std::get_if<RequestEvent>(&entry.what);
    if (asked == nullptr) continue;
    ++*asks;
    const auto again = engine.decide(asked->request);
    EXPECT_TRUE(again);
    if (check && again) {
      EXPECT_EQ(again->placement, asked->placement);
    }
  }
  return engine;
}

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 3; ++i) set("n" + std::to_string(i));
  }
  void step(Recorder& recorder) {
    if (rng_.below(6) == 0) set("n" + std::to_string(rng_.below(4)));
    if (rng_.below(20) == 0 && nodes_.size() > 1) {
      engine_.removeNode(nodes_.begin()->first);
      nodes_.erase(nodes_.begin());
    }
    const std::vector<engine::Allocation> held = engine_.allocations();
    if (!held.empty() && rng_.below(2) == 0) engine_.release(held[rng_.below(held.size())].id);
    now_.ms += static_cast<std::int64_t>(rng_.below(3)) - 1;  // also back
    recorder.note(now_, nodes(), engine_.allocations());
    engine::some::Wild wild{rng_, true, true};
    const engine::Request request = wild.request("r" + std::to_string(++asks_));
    const auto decided = engine_.decide(request);
    if (!decided) return;
    ++recorded_;
    recorder.recordRequest(
        now_, {request, 0, decided->fits() ? RequestOutcome::kPlaced : RequestOutcome::kRefused,
               decided->placement, ""});
    if (decided->fits()) {
      EXPECT_TRUE(engine_.place(request, {9}));
    }
  }
  std::vector<engine::Node> nodes() const {
    std::vector<engine::Node> all;
    for (const auto& [name, node] : nodes_) all.push_back(node);
    return all;
  }
  const engine::Engine& engine() const { return engine_; }
  std::size_t recorded() const { return recorded_; }
  engine::Instant now() const { return now_; }

 private:
  void set(const std::string& name) {
    engine::some::Wild wild{rng_, true, true};
    const engine::Node node = wild.node(name);
    nodes_[node.name] = node;
    EXPECT_TRUE(engine_.setNode(node));
  }

  Rng rng_;
  engine::Engine engine_{engine::Config{}};
  std::map<engine::NodeName, engine::Node> nodes_;
  engine::Instant now_{1000};
  int asks_ = 0;
  std::size_t recorded_ = 0;
};

TEST(Recorder, ReplayedHistory_SameDecisions) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const std::size_t most : {1ul, 7ul, 1000ul}) {
      Cluster cluster(seed);
      Recorder recorder(most);
      for (int i = 0; i < 40; ++i) cluster.step(recorder);
      recorder.note(cluster.now(), cluster.nodes(), cluster.engine().allocations());
      const History& history = recorder.history();
      std::size_t asks = 0;
      const engine::Engine end = follow(history, &asks, true);
      EXPECT_EQ(end.allocations(), cluster.engine().allocations());
      EXPECT_EQ(end.nodes(), cluster.engine().nodes());
      EXPECT_EQ(asks, std::min(most, cluster.recorded()));
      EXPECT_EQ(history.dropped + asks, cluster.recorded());
      Snapshot whole;
      whole.nodes = cluster.nodes();
      whole.history = history;
      const Result<Snapshot> read = parse(write(whole), "s.json");
      EXPECT_TRUE(read) << read.error().message();
    }
  }
}

TEST(Recorder, NoRequests_NoEntriesKept) {
  Recorder recorder;
  engine::Node node = engine::some::node("a", 2);
  recorder.note({1}, {node}, {});
  for (int i = 0; i < 5; ++i) {
    node.cpu.milli += 1000;
    recorder.note({2}, {node}, {});
  }
  EXPECT_TRUE(recorder.history().entries.empty());
  ASSERT_EQ(recorder.history().nodes.size(), 1u);
  EXPECT_EQ(recorder.history().nodes[0].cpu, node.cpu);
}

TEST(Redact, RandomSnapshot_HidesNamesKeepsDecisions) {
  std::size_t asks = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    Snapshot before = some::snapshot(rng, 20);
    before.config = {};
    for (engine::Node& node : before.nodes) node.labels.push_back({"zone", "secret"});
    for (HeldAllocation& held : before.allocations) held.name = "secret";
    for (PendingRequest& one : before.pending) one.reason = one.name = "secret";
    Snapshot after = before;
    redact(after);
    const std::string text = write(after);
    EXPECT_EQ(text.find("secret"), std::string::npos);
    EXPECT_EQ(text.find("so it is"), std::string::npos);
    EXPECT_EQ(text.find("\"n0\""), std::string::npos);
    const Result<Snapshot> read = parse(text, "s.json");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(read->redacted);
    engine::Engine one{engine::Config{}};
    engine::Engine two{engine::Config{}};
    ASSERT_TRUE(one.setPools(before.pools));
    ASSERT_TRUE(two.setPools(read->pools));
    for (const engine::Node& node : before.nodes) ASSERT_TRUE(one.setNode(node));
    for (const engine::Node& node : read->nodes) ASSERT_TRUE(two.setNode(node));
    for (const HeldAllocation& held : before.allocations) ASSERT_TRUE(one.adopt(held.allocation));
    for (const HeldAllocation& held : read->allocations) ASSERT_TRUE(two.adopt(held.allocation));
    for (std::size_t i = 0; i < before.pending.size(); ++i) {
      if (before.pending[i].request.shape.policy == engine::Policy::kRandom) continue;
      const auto here = one.decide(before.pending[i].request);
      const auto there = two.decide(read->pending[i].request);
      ASSERT_TRUE(here && there);
      ++asks;
      ASSERT_EQ(here->fits(), there->fits());
      if (here->fits()) {
        EXPECT_EQ(here->placement->containers, there->placement->containers);
      }
    }
  }
  EXPECT_GT(asks, 50u);
}

}  // namespace
}  // namespace divvy::snapshot
