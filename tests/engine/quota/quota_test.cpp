// Queues: what is guaranteed is had, what is borrowed is given back, what is over is shared by
// weight.
#include "engine/quota.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace divvy::engine {
namespace {

const ResourceName kGpu("gpu");
const ResourceName kMem("memory");

Amounts gpus(std::int64_t count) {
  return count == 0 ? Amounts{} : Amounts{{kGpu, count}};
}

Queue queue(const std::string& name, const std::string& parent, std::int64_t guarantee) {
  Queue result;
  result.name = QueueName(name);
  result.parent = QueueName(parent);
  result.guarantee = gpus(guarantee);
  return result;
}

Job job(const std::string& name, const std::string& of, std::int64_t count,
        std::int64_t priority = 0) {
  return {JobName(name), QueueName(of), gpus(count), priority, 0};
}

// research (8: vision 4, speech 4) and product 8, of 16.
Quota company() {
  Quota quota;
  EXPECT_TRUE(quota.setCapacity(gpus(16)));
  for (const Queue& each : {queue("research", "", 8), queue("vision", "research", 4),
                            queue("speech", "research", 4), queue("product", "", 8)})
    EXPECT_TRUE(quota.setQueue(each));
  return quota;
}

std::vector<std::string> reclaimed(const Quota& quota, const char* of, std::int64_t count) {
  const auto asked = quota.evaluate(QueueName(of), gpus(count));
  EXPECT_TRUE(asked && !asked->refusal) << (asked ? text(*asked->refusal) : "");
  std::vector<std::string> names;
  if (asked)
    for (const JobName& name : asked->reclaim) names.push_back(name.text);
  return names;
}

TEST(Quota, UnusedGuarantee_LentToOthers) {
  Quota quota = company();
  ASSERT_TRUE(quota.add(job("a", "vision", 4)));
  const auto more = quota.evaluate(QueueName("vision"), gpus(8));
  ASSERT_TRUE(more);
  EXPECT_FALSE(more->refusal);
  EXPECT_TRUE(more->borrowed);
  EXPECT_TRUE(more->reclaim.empty());
  EXPECT_FALSE(quota.evaluate(QueueName("product"), gpus(8))->borrowed);
  EXPECT_EQ(quota.evaluate(QueueName("vision"), gpus(13))->refusal,
            (QuotaRefusal{QuotaWhy::kFull, {}, kGpu, 13, 12}));
}

TEST(Quota, BorrowedAmounts_ReclaimedByGuarantee) {
  Quota quota = company();
  ASSERT_TRUE(quota.add(job("own", "vision", 4)));
  ASSERT_TRUE(quota.add(job("from-speech", "vision", 4, 1)));
  ASSERT_TRUE(quota.add(job("from-product", "vision", 8)));
  EXPECT_EQ(reclaimed(quota, "product", 4), std::vector<std::string>{"from-product"});
  EXPECT_EQ(reclaimed(quota, "speech", 4), std::vector<std::string>{"from-product"})
      << "the lowest priority of all that was borrowed";
  // Nobody takes what a guarantee covers, and nobody borrows from who borrows.
  EXPECT_TRUE(quota.evaluate(QueueName("product"), gpus(9))->refusal);
  ASSERT_TRUE(quota.remove(JobName("from-product")));
  ASSERT_TRUE(quota.add(job("mine", "product", 8)));
  EXPECT_TRUE(quota.evaluate(QueueName("product"), gpus(1))->refusal);
  EXPECT_EQ(reclaimed(quota, "speech", 2), std::vector<std::string>{"own"})
      << "what it has beyond its guarantee is any of what it has";
}

TEST(Quota, QueueMayNotBorrow_RefusedBeyondGuarantee) {
  Quota quota = company();
  Queue vision = queue("vision", "research", 4);
  vision.borrows = false;
  ASSERT_TRUE(quota.setQueue(vision));
  EXPECT_EQ(quota.evaluate(QueueName("vision"), gpus(5))->refusal,
            (QuotaRefusal{QuotaWhy::kBorrowing, QueueName("vision"), kGpu, 5, 4}));
  EXPECT_FALSE(quota.evaluate(QueueName("speech"), gpus(5))->refusal);
}

TEST(Quota, LimitOfParent_HoldsForAllBelow) {
  Quota quota = company();
  Queue research = queue("research", "", 8);
  research.limit = gpus(10);
  ASSERT_TRUE(quota.setQueue(research));
  ASSERT_TRUE(quota.add(job("a", "vision", 6)));
  EXPECT_EQ(quota.evaluate(QueueName("speech"), gpus(5))->refusal,
            (QuotaRefusal{QuotaWhy::kLimit, QueueName("research"), kGpu, 5, 4}));
  EXPECT_FALSE(quota.evaluate(QueueName("product"), gpus(10))->refusal);
  // Its sibling borrowed up to the limit of both, and gives back.
  ASSERT_TRUE(quota.add(job("b", "vision", 4)));
  EXPECT_EQ(reclaimed(quota, "speech", 4).size(), 1u);
}

TEST(Quota, InvalidQueuesOrJobs_RefusedWithAccepted) {
  Quota quota = company();
  const auto says = [&](Queue wrong, const std::string& part) {
    const auto set = quota.setQueue(wrong);
    ASSERT_FALSE(set) << part;
    EXPECT_NE(set.error().message().find(part), std::string::npos) << set.error().message();
  };
  says(queue("new", "research", 1), "accepted: at most the 8 of research");
  says(queue("research", "", 7), "the queues below it 8");
  says(queue("new", "nowhere", 1), "no queue is called \"nowhere\"");
  says(queue("vision", "product", 1), "remove it first");
  says(queue("new", "", -1), "accepted: 0 to");
  says(queue("", "", 1), "without a name");
  Queue wrong = queue("new", "", 5);
  wrong.limit = gpus(4);
  says(wrong, "its limit is 4");
  wrong = queue("new", "", 0);
  wrong.weight = 0;
  says(wrong, "accepted: 1 to");
  EXPECT_FALSE(quota.removeQueue(QueueName("research")));
  EXPECT_FALSE(quota.removeQueue(QueueName()));
  EXPECT_FALSE(quota.add(job("j", "nowhere", 1)));
  ASSERT_TRUE(quota.add(job("j", "vision", 1)));
  EXPECT_FALSE(quota.add(job("j", "vision", 1)));
  EXPECT_FALSE(quota.removeQueue(QueueName("vision")));
  EXPECT_FALSE(quota.evaluate(QueueName("nowhere"), gpus(1)));
  EXPECT_EQ(quota.overpromised(), Amounts{});
  ASSERT_TRUE(quota.setCapacity(gpus(10)));
  EXPECT_EQ(quota.overpromised(), gpus(6));
}

// ---- by chance ---------------------------------------------------------------------------------

struct Chance {
  explicit Chance(std::uint64_t seed) : rng(seed) {
    EXPECT_TRUE(quota.setCapacity({{kGpu, 40}, {kMem, 400}}));
    std::vector<std::pair<std::string, Amounts>> parents{{"", {{kGpu, 40}, {kMem, 400}}}};
    for (int i = 0; i < 9; ++i) {
      auto& [parent, left] = parents[rng.below(std::min<std::size_t>(parents.size(), 4))];
      Queue each;
      each.name = QueueName("q" + std::to_string(i));
      each.parent = QueueName(parent);
      for (auto& [resource, amount] : left) {
        const auto part =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(amount) / 2 + 1));
        each.guarantee[resource] = part;
        amount -= part;
      }
      if (rng.below(4) == 0)
        each.limit[kGpu] = each.guarantee[kGpu] + static_cast<std::int64_t>(rng.below(10));
      each.borrows = rng.below(6) != 0;
      each.weight = 1 + static_cast<std::int64_t>(rng.below(3));
      const Amounts own = each.guarantee;
      EXPECT_TRUE(quota.setQueue(each));
      queues.push_back(each);
      parents.emplace_back(each.name.text, own);
    }
  }

  Job any(int number) {
    Job result;
    result.name = JobName("j" + std::to_string(number));
    result.queue = queues[rng.below(queues.size())].name;
    result.amounts = {{kGpu, 1 + static_cast<std::int64_t>(rng.below(8))},
                      {kMem, static_cast<std::int64_t>(rng.below(80))}};
    result.priority = static_cast<std::int64_t>(rng.below(3));
    result.since_ms = number;
    return result;
  }

  const Queue* find(const QueueName& name) const {
    for (const Queue& each : queues)
      if (each.name == name) return &each;
    return nullptr;
  }
  std::vector<QueueName> wayUp(QueueName at) const {
    std::vector<QueueName> way;
    for (; !at.empty(); at = find(at)->parent) way.push_back(at);
    return way;
  }
  std::int64_t usedBy(const QueueName& queue, const ResourceName& resource) const {
    std::int64_t sum = 0;
    for (const auto& [name, each] : quota.jobs()) {
      const auto way = wayUp(each.queue);
      const auto amount = each.amounts.find(resource);
      const bool below = queue.empty() || std::find(way.begin(), way.end(), queue) != way.end();
      if (below && amount != each.amounts.end()) sum += amount->second;
    }
    return sum;
  }
  std::int64_t most(const Amounts& amounts, const ResourceName& resource) const {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? INT64_MAX : found->second;
  }
  // Capacity and limits, counted anew from the jobs.
  std::string overdrawn() const {
    for (const ResourceName& resource : {kGpu, kMem}) {
      if (usedBy({}, resource) > most(quota.capacity(), resource)) return resource.text;
      for (const Queue& each : queues) {
        const std::int64_t used = usedBy(each.name, resource);
        if (used > most(each.limit, resource)) return each.name.text;
        const auto known = quota.used(each.name).find(resource);
        if ((known == quota.used(each.name).end() ? 0 : known->second) != used) return "books";
      }
    }
    return "";
  }
  bool fits(const Job& one) const {
    for (const auto& [resource, amount] : one.amounts) {
      if (usedBy({}, resource) + amount > most(quota.capacity(), resource)) return false;
      for (const QueueName& at : wayUp(one.queue))
        if (usedBy(at, resource) + amount > most(find(at)->limit, resource)) return false;
    }
    return true;
  }
  bool withinGuarantees(const Job& one) const {
    for (const auto& [resource, amount] : one.amounts)
      for (const QueueName& at : wayUp(one.queue)) {
        const auto own = find(at)->guarantee.find(resource);
        if (usedBy(at, resource) + amount > (own == find(at)->guarantee.end() ? 0 : own->second))
          return false;
      }
    return true;
  }

  // Of it or of a queue above it.
  bool withinSomeGuarantee(const Job& one) const {
    for (const QueueName& at : wayUp(one.queue)) {
      bool within = true;
      for (const auto& [resource, amount] : one.amounts) {
        const auto own = find(at)->guarantee.find(resource);
        within = within && usedBy(at, resource) + amount <=
                               (own == find(at)->guarantee.end() ? 0 : own->second);
      }
      if (within) return true;
    }
    return false;
  }

  Rng rng;
  Quota quota;
  std::vector<Queue> queues;
};

TEST(Quota, RandomQueues_GuaranteesAlwaysMet) {
  unsigned reclaims = 0;
  unsigned guaranteed = 0;
  unsigned refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Chance world(seed);
    for (int i = 0; i < 400; ++i) {
      const Job one = world.any(i);
      if (world.rng.below(5) == 0 && !world.quota.jobs().empty()) {
        const auto at = std::next(world.quota.jobs().begin(),
                                  static_cast<long>(world.rng.below(world.quota.jobs().size())));
        world.quota.remove(JobName(at->first));
      }
      const auto asked = world.quota.evaluate(one.queue, one.amounts);
      ASSERT_TRUE(asked);
      const bool mine = world.withinGuarantees(one);
      guaranteed += mine ? 1 : 0;
      ASSERT_FALSE(mine && asked->refusal) << seed << "/" << i << " " << text(*asked->refusal);
      if (asked->refusal) {
        ++refused;
        continue;
      }
      std::vector<Job> victims;
      for (const JobName& name : asked->reclaim) {
        const Job victim = world.quota.jobs().at(name);
        // Every queue on its way up, below where the two ways join, had more than its guarantee.
        const auto ours = world.wayUp(one.queue);
        for (const QueueName& at : world.wayUp(victim.queue)) {
          if (std::find(ours.begin(), ours.end(), at) != ours.end()) break;
          bool beyond = false;
          for (const ResourceName& resource : {kGpu, kMem}) {
            const auto own = world.find(at)->guarantee.find(resource);
            beyond = beyond || world.usedBy(at, resource) >
                                   (own == world.find(at)->guarantee.end() ? 0 : own->second);
          }
          ASSERT_TRUE(beyond) << seed << "/" << i;
        }
        victims.push_back(victim);
        ASSERT_TRUE(world.quota.remove(name));
      }
      reclaims += victims.empty() ? 0 : 1;
      ASSERT_TRUE(world.fits(one)) << seed << "/" << i;
      for (const Job& victim : victims) {
        ASSERT_TRUE(world.quota.add(victim));
        ASSERT_FALSE(world.fits(one))
            << seed << "/" << i << ": " << victim.name.text << " need not have ended";
        world.quota.remove(victim.name);
      }
      ASSERT_TRUE(world.quota.add(one));
      ASSERT_EQ(world.overdrawn(), "") << seed << "/" << i;
    }
  }
  EXPECT_GT(reclaims, 200u);
  EXPECT_GT(guaranteed, 500u);
  EXPECT_GT(refused, 1000u);
}

// Taken all together they leave every queue what it is guaranteed, one by one in their order.
TEST(Quota, RandomQueues_ReclaimLeavesGuarantees) {
  unsigned asked = 0, groups = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Chance world(seed);
    for (int i = 0; i < 60; ++i) {
      Job one = world.any(i);
      one.since_ms = static_cast<std::int64_t>(world.rng.below(100));
      one.amounts = {{kGpu, 1 + static_cast<std::int64_t>(world.rng.below(3))}};
      if (world.rng.below(3) == 0) one.group = one.queue.text + "-gang";
      if (!world.fits(one)) continue;
      ASSERT_TRUE(world.quota.add(one));
    }
    for (int i = 0; i < 20; ++i) {
      Job one = world.any(1'000 + i);
      one.amounts = {{kGpu, 1 + static_cast<std::int64_t>(world.rng.below(2))}, {kMem, 1}};
      ReclaimOptions terms;
      for (const auto& [name, job] : world.quota.jobs())
        if (world.rng.below(8) == 0) terms.spared.insert(name);
      const auto givers = world.quota.reclaimable(one.queue, one.amounts, terms);
      ASSERT_TRUE(givers.empty() || world.withinSomeGuarantee(one)) << seed << "/" << i;
      const auto ours = world.wayUp(one.queue);
      Quota left = world.quota;
      for (const std::vector<JobName>& group : givers) {
        ++asked;
        groups += group.size() > 1 ? 1 : 0;
        const Job first = left.jobs().at(group.front());
        for (const JobName& name : group) {
          ASSERT_FALSE(terms.spared.contains(name));
          ASSERT_EQ(left.jobs().at(name).queue, first.queue);
          left.remove(name);
        }
        for (const auto& [name, job] : left.jobs())
          ASSERT_TRUE(first.group.empty() || job.group != first.group) << "a group ends whole";
        for (const QueueName& at : world.wayUp(first.queue)) {
          if (std::find(ours.begin(), ours.end(), at) != ours.end()) break;
          for (const auto& [resource, amount] : one.amounts) {
            if (amount == 0 || first.amounts.count(resource) == 0) continue;
            const auto own = world.find(at)->guarantee.find(resource);
            const std::int64_t least = own == world.find(at)->guarantee.end() ? 0 : own->second;
            const auto has = left.used(at).find(resource);
            ASSERT_GE(has == left.used(at).end() ? 0 : has->second, least) << seed << "/" << i;
          }
        }
      }
    }
  }
  EXPECT_GT(asked, 500u);
  EXPECT_GT(groups, 5u);
}

TEST(Quota, ReclaimBelowPriority_OwnLowerJobsIncluded) {
  Quota quota = company();
  ASSERT_TRUE(quota.add(job("low", "vision", 4, 1)));
  ASSERT_TRUE(quota.add(job("high", "vision", 4, 9)));
  ASSERT_TRUE(quota.add(job("within", "product", 8, 0)));
  ReclaimOptions terms;
  EXPECT_TRUE(quota.reclaimable(QueueName("vision"), gpus(1), terms).empty());
  terms.below = 5;
  using Groups = std::vector<std::vector<JobName>>;
  EXPECT_EQ(quota.reclaimable(QueueName("vision"), gpus(1), terms), (Groups{{JobName("low")}}));
  ASSERT_TRUE(quota.add(job("beyond", "product", 2, 0)));
  EXPECT_EQ(quota.reclaimable(QueueName("vision"), gpus(1), terms),
            (Groups{{JobName("beyond")}, {JobName("low")}}));
  EXPECT_TRUE(quota.reclaimable(QueueName("nowhere"), gpus(1), terms).empty());
}

TEST(Quota, CapacityBeyondGuarantees_SharedByWeight) {
  Quota quota;
  ASSERT_TRUE(quota.setCapacity(gpus(700)));
  const std::int64_t weights[] = {1, 2, 4};
  for (int i = 0; i < 3; ++i) {
    Queue each = queue("q" + std::to_string(i), "", i == 0 ? 70 : 0);
    each.weight = weights[i];
    ASSERT_TRUE(quota.setQueue(each));
  }
  for (int given = 0;; ++given) {
    std::vector<Job> waiting;
    for (int i = 0; i < 3; ++i)
      waiting.push_back(
          job("j" + std::to_string(i) + "-" + std::to_string(given), "q" + std::to_string(i), 1));
    const auto turn = quota.next(waiting);
    ASSERT_TRUE(turn && *turn);
    const Job& next = waiting[**turn];
    if (quota.evaluate(next.queue, next.amounts)->refusal) break;
    ASSERT_TRUE(quota.add(next));
  }
  const auto used = [&](const char* name) {
    return static_cast<double>(quota.used(QueueName(name)).at(kGpu));
  };
  EXPECT_NEAR(used("q0"), 70 + 90, 2) << "its guarantee beside its part";
  EXPECT_NEAR(used("q1"), 180, 2);
  EXPECT_NEAR(used("q2"), 360, 2);
}

TEST(Quota, NextJob_HighestPriorityThenOldest) {
  Quota quota = company();
  Job low = job("low", "vision", 1), high = job("high", "vision", 1, 5), old = high;
  old.name = JobName("old");
  old.since_ms = -1;
  EXPECT_EQ(**quota.next({low, high, old}), 2u);
  EXPECT_FALSE(*quota.next({}));
  EXPECT_FALSE(quota.next({job("x", "nowhere", 1)}));
  // Who stays within its guarantee goes before who borrows, whatever the priority.
  ASSERT_TRUE(quota.add(job("a", "product", 8)));
  EXPECT_EQ(**quota.next({job("borrows", "product", 1, 9), low}), 1u);
}

}  // namespace
}  // namespace divvy::engine
