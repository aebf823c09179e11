// What was borrowed is taken back once, whoever is killed when, and whatever happens meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/rng.h"
#include "gate_world.h"

namespace divvy::scheduler {
namespace {

// Of those who have not been told to end.
std::size_t staying(const Store& store, const std::string& prefix) {
  return static_cast<std::size_t>(
      std::count_if(store.pods.begin(), store.pods.end(), [&](const auto& one) {
        return one.first.starts_with(prefix) && !one.second.node.empty() &&
               !one.second.meta.deleting;
      }));
}

// ---- killed between any two writes --------------------------------------------------------------

// Until it is killed after so many writes. Whoever was ended is made anew, and waits.
void liveFor(unsigned writes, Store* store) {
  Life life(*store);
  for (unsigned i = 0; i < writes; ++i) {
    const std::size_t before = store->evicted.size();
    if (!life.openOne() && !life.bindOne() && !life.evictOne() && !life.endOne()) return;
    EXPECT_GE(staying(*store, "t"), 2u) << "that much is guaranteed to them";
    if (store->evicted.size() == before) continue;
    const std::string again = "t" + std::to_string(10 + store->evicted.size());
    store->add(gatedPod(again, {{kQueueKey, "theirs"}}));
    life.hear(again);
  }
}

TEST(GatedPreemption, KilledBetweenWrites_EvictsOncePerNeed) {
  for (const bool gang : {false, true}) {
    for (unsigned first = 0; first <= 9; ++first) {
      for (unsigned second = 0; second <= 9; ++second) {
        SCOPED_TRACE(testing::Message()
                     << "killed after " << first << " and " << second << " writes, gang " << gang);
        Store store = borrowed();
        ask(&store, 2);
        for (auto& [uid, pod] : store.pods)
          if (gang && uid.starts_with("p")) {
            pod.meta.annotations[kGangKey] = "g";
            pod.meta.annotations[kGangLeastKey] = "2";
          }
        liveFor(first, &store);
        liveFor(second, &store);
        liveFor(1'000, &store);
        EXPECT_EQ(store.bound("p"), 2u);
        EXPECT_EQ(store.bound("t"), 2u);
        EXPECT_EQ(store.evicted.size(), 2u);
      }
    }
  }
}

// Started whole, with no more ends than it needs, or not at all.
TEST(GatedPreemption, KilledBetweenWrites_GangStartsFully) {
  for (unsigned first = 0; first <= 10; ++first) {
    for (unsigned second = 0; second <= 10; ++second) {
      SCOPED_TRACE(testing::Message() << "killed after " << first << " and " << second);
      Store store = taken();
      addHigherGang(&store, 3, 10);
      for (const unsigned writes : {first, second, 1'000u}) {
        Life life(store);
        for (unsigned i = 0; i < writes; ++i) {
          if (!life.openOne() && !life.bindOne() && !life.evictOne() && !life.endOne()) break;
          EXPECT_TRUE(store.bound("g") == 0 || store.gated("g") == 0);
        }
      }
      EXPECT_EQ(store.bound("g"), 3u);
      EXPECT_EQ(store.bound("t"), 1u);
      EXPECT_EQ(store.evicted.size(), 3u);
    }
  }
}

// ---- by chance ----------------------------------------------------------------------------------

struct Chance {
  explicit Chance(std::uint64_t seed) : rng(seed) {}
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(rng.below(count)); }

  // What a queue has, or was promised, in percent of cards, without those who were told to end.
  std::int64_t has(const Life& life, const std::string& queue) const {
    std::int64_t sum = 0;
    for (const auto& [uid, pod] : life.store.pods)
      if (life.cache.pods().nodeOf(uid) && !pod.meta.deleting &&
          pod.meta.annotations.at(kQueueKey) == queue)
        sum += std::stol(pod.containers[0].limits.at("nvidia.com/gpucores"));
    return sum;
  }
  Rng rng;
};

// Queues of random guarantees, pods of random sizes that come and go, kills in between.
TEST(GatedPreemption, RandomEvents_OnlyBorrowedIsReclaimed) {
  std::size_t evicted = 0, started = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    Store store;
    store.nodes = {cardsOn("a", 3), cardsOn("b", 3)};
    std::map<std::string, std::int64_t> guarantee{{"x", 100}, {"y", 200}, {"z", 300}};
    for (const auto& [name, percent] : guarantee)
      store.queues.push_back(queueOf(name, percent * 10, {}));
    auto life = std::make_unique<Life>(store);
    for (int step = 0; step < 400; ++step) {
      const std::size_t what = chance.below(10);
      if (what < 2) {
        const std::string queue(1, static_cast<char>('x' + chance.below(3)));
        const std::string name = queue + std::to_string(step);
        constexpr unsigned kSizes[] = {25, 50, 100};
        store.add(partOf(name, kSizes[chance.below(3)], {{kQueueKey, queue}}));
        store.pods.at(name).priority = static_cast<std::int64_t>(chance.below(3));
        life->hear(name);
      } else if (what == 2 && chance.below(3) == 0 && !store.pods.empty()) {
        const std::string gone =
            std::next(store.pods.begin(), static_cast<long>(chance.below(store.pods.size())))
                ->first;
        life->forget(gone);
      } else if (what == 3 && chance.below(4) == 0) {
        life = std::make_unique<Life>(store);
      } else if (what == 4) {
        life->now.ms += 2'000;
      } else if (what < 7) {
        if (!life->openOne()) life->bindOne();
      } else if (what == 7) {
        life->endOne();
      } else {
        const std::size_t before = store.evicted.size();
        if (!life->evictOne()) continue;
        ASSERT_EQ(store.evicted.size(), before + 1);
        const std::string queue(1, store.evicted.back()[0]);
        // Its own queue's higher ones may have what it had.
        if (life->ended_for[0] == queue[0]) continue;
        ASSERT_GE(chance.has(*life, queue), guarantee.at(queue)) << store.evicted.back();
      }
    }
    for (int i = 0; i < 8; ++i) {
      life->run();
      life->now.ms += 100'000;
    }
    EXPECT_EQ(life->gated_preemption.underWay(), 0u);
    evicted += store.evicted.size();
    started += life->counts.reclaims.started;
    // Nobody who is within its guarantee waits while another is beyond its own, if a card would do.
    for (const auto& [uid, pod] : store.pods) {
      const std::string queue(1, uid[0]);
      const std::int64_t wants = std::stol(pod.containers[0].limits.at("nvidia.com/gpucores"));
      if (pod.node.empty() && wants == 25 && chance.has(*life, queue) + wants <= guarantee[queue])
        ADD_FAILURE() << uid << " waits: " << life->why(uid);
    }
  }
  EXPECT_GT(evicted, 50u);
  EXPECT_GT(started, 20u);
}

}  // namespace
}  // namespace divvy::scheduler
