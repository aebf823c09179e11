// What the admission check says of a workload of Kueue, and that its pods get what was reserved.
#include "kueue/workload_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "kueue/workload_world.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kUntil{120'000};
const auto kNotOver = [] { return false; };

Store fourDevices() {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  return store;
}

void comeAll(const std::vector<kube::Pod>& pods, Life* life) {
  for (const kube::Pod& pod : pods) {
    life->store.add(pod);
    life->hear(pod.meta.uid);
  }
}

// The pods of `workload` are all bound.
bool started(const Store& store, const kube::KueueWorkload& workload) {
  return store.bound(workload.meta.name + '-') ==
         static_cast<std::size_t>(workload.pod_sets.front().count);
}

TEST(WorkloadFit, DevicesFree_ReadyAndNoOtherPodGetsThem) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 3);
  const FitDecision decision = fit.decide(job, 0, kUntil);
  ASSERT_EQ(decision.state, FitState::kReady) << decision.message;
  EXPECT_EQ(decision.message, "devices are reserved for 3 pods");
  ASSERT_EQ(decision.gangs.size(), 1u);
  EXPECT_EQ(decision.gangs[0].pod_set, "main");
  EXPECT_EQ(decision.gangs[0].least, 3);
  for (const char* name : {"o1", "o2"}) comeAll({gatedPod(name)}, &life);
  life.run();
  EXPECT_EQ(store.bound("o"), 1u) << "three of four devices are reserved";
  comeAll(podsOf(job, decision), &life);
  life.run();
  EXPECT_TRUE(started(store, job));
  EXPECT_EQ(store.bound("o"), 1u);
}

TEST(WorkloadFit, PodsComeOneByOne_WaitForAll) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 3);
  const FitDecision decision = fit.decide(job, 0, kUntil);
  const std::vector<kube::Pod> pods = podsOf(job, decision);
  comeAll({pods[0], pods[1]}, &life);
  life.run();
  EXPECT_EQ(store.bound("job"), 0u);
  EXPECT_TRUE(life.gated_pods.workloadReservations().holds("job"));
  comeAll({pods[2], gatedPod("o1"), gatedPod("o2")}, &life);
  life.run();
  EXPECT_TRUE(started(store, job));
  EXPECT_EQ(store.bound("o"), 1u);
}

TEST(WorkloadFit, TooFewDevices_RetriesLaterAndLater) {
  Store store = fourDevices();
  Life life(store);
  comeAll({gatedPod("o1"), gatedPod("o2")}, &life);
  life.run();
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 3);
  std::vector<std::int64_t> pauses;
  for (std::int64_t retries = 0; retries < 6; ++retries) {
    const FitDecision decision = fit.decide(job, retries, kUntil);
    ASSERT_EQ(decision.state, FitState::kRetry);
    EXPECT_TRUE(decision.message.starts_with("3 pods do not fit together: ")) << decision.message;
    pauses.push_back(decision.retry_s);
  }
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{10, 20, 30, 30, 30, 30}));
  comeAll({gatedPod("o3"), gatedPod("o4")}, &life);
  life.run();
  EXPECT_EQ(store.bound("o"), 4u) << "nothing is reserved for a workload that does not fit";
}

TEST(WorkloadFit, OfManagerAndTooFewDevices_StaysPending) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload job = workloadOf("job", 5);
  job.of_manager = true;
  const FitDecision decision = fit.decide(job, 0, kUntil);
  EXPECT_EQ(decision.state, FitState::kPending);
  EXPECT_EQ(decision.retry_s, 5);
  EXPECT_TRUE(decision.message.starts_with("5 pods do not fit together: ")) << decision.message;
}

TEST(WorkloadFit, OnePodTooMany_MessageNamesNodes) {
  Store store = fourDevices();
  Life life(store);
  comeAll({gatedPod("o1"), gatedPod("o2"), gatedPod("o3"), gatedPod("o4")}, &life);
  life.run();
  WorkloadFit fit = fitIn(&life);
  const FitDecision decision = fit.decide(workloadOf("job", 1), 0, kUntil);
  EXPECT_EQ(decision.state, FitState::kRetry);
  EXPECT_NE(decision.message.find("0 of 2 nodes fit"), std::string::npos) << decision.message;
}

TEST(WorkloadFit, NoDevicesRequested_ReadyWithoutReservation) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload job = workloadOf("job", 3);
  job.pod_sets[0].pod.containers[0].limits = {{"cpu", "1"}};
  const FitDecision decision = fit.decide(job, 0, kUntil);
  EXPECT_EQ(decision.state, FitState::kReady);
  EXPECT_TRUE(decision.gangs.empty());
  EXPECT_FALSE(life.gated_pods.workloadReservations().holds("job"));
}

TEST(WorkloadFit, RequestThatCanNeverBeRight_Rejected) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload job = workloadOf("job", 1);
  job.pod_sets[0].pod.containers[0].limits["nvidia.com/gpu"] = "half";
  const FitDecision wrong = fit.decide(job, 0, kUntil);
  EXPECT_EQ(wrong.state, FitState::kRejected);
  EXPECT_NE(wrong.message.find("nvidia.com/gpu"), std::string::npos) << wrong.message;
  const FitDecision many = fit.decide(workloadOf("job", 5'000), 0, kUntil);
  EXPECT_EQ(many.state, FitState::kRejected);
  EXPECT_EQ(many.message, "more than 4096 pods request devices; accepted: at most so many");
}

TEST(WorkloadFit, QuotaLost_DevicesAreFreeAgain) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 4);
  ASSERT_EQ(fit.decide(job, 0, kUntil).state, FitState::kReady);
  fit.release(job);
  comeAll({gatedPod("o1"), gatedPod("o2"), gatedPod("o3"), gatedPod("o4")}, &life);
  life.run();
  EXPECT_EQ(store.bound("o"), 4u);
}

TEST(WorkloadFit, GroupOfTemplate_IsKept) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 2, {{kGangKey, "mine"}, {kGangLeastKey, "2"}});
  const FitDecision decision = fit.decide(job, 0, kUntil);
  ASSERT_EQ(decision.state, FitState::kReady);
  EXPECT_TRUE(decision.gangs.empty());
  comeAll({gatedPod("o1"), gatedPod("o2"), gatedPod("o3")}, &life);
  life.run();
  comeAll(podsOf(job, decision), &life);
  life.run();
  EXPECT_TRUE(started(store, job));
  EXPECT_EQ(store.bound("o"), 2u);
}

TEST(WorkloadFit, NumberWithoutGangAndJob_GangIsNamed) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload set = workloadOf("set", 3, {{kGangLeastKey, "2"}});
  const FitDecision decision = fit.decide(set, 0, kUntil);
  ASSERT_EQ(decision.state, FitState::kReady) << decision.message;
  ASSERT_EQ(decision.gangs.size(), 1u);
  EXPECT_EQ(decision.gangs[0].least, 0) << "the template states it";
  kube::KueueWorkload job = workloadOf("job", 1, {{kGangLeastKey, "1"}});
  job.job = "train";
  EXPECT_TRUE(fit.decide(job, 0, kUntil).gangs.empty()) << "the Job is the gang";
}

TEST(WorkloadFit, ZeroDevicesRequested_ReadyWithoutReservation) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload job = workloadOf("job", 3);
  job.pod_sets[0].pod.containers[0].limits = {{"nvidia.com/gpu", "0"}};
  EXPECT_EQ(fit.decide(job, 0, kUntil).state, FitState::kReady);
}

// Kueue passes no metadata of pods that exist already.
TEST(WorkloadFit, WorkloadOfPods_ReadyWithoutReservationAndGang) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload pods = workloadOf("pods", 4);
  pods.of_pods = true;
  const FitDecision decision = fit.decide(pods, 0, kUntil);
  EXPECT_EQ(decision.state, FitState::kReady);
  EXPECT_EQ(decision.message, "devices are free for 4 pods");
  EXPECT_TRUE(decision.gangs.empty());
  EXPECT_FALSE(life.gated_pods.workloadReservations().holds("pods"));
  pods.pod_sets[0].count = 5;
  EXPECT_EQ(fit.decide(pods, 0, kUntil).state, FitState::kRetry);
}

TEST(WorkloadFit, TemplatesTooLarge_Rejected) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 1'000, {{"a", std::string(100'000, 'a')}});
  const FitDecision decision = fit.decide(job, 0, kUntil);
  EXPECT_EQ(decision.state, FitState::kRejected);
  EXPECT_EQ(decision.message,
            "containers, annotations and labels of all its pods have more than 64 MiB");
}

TEST(WorkloadFit, ReservationExpired_NotMadeAgain) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 4);
  const FitDecision decision = fit.decide(job, 0, kUntil);
  ASSERT_EQ(decision.state, FitState::kReady);
  life.cache.expire(kUntil);
  comeAll({gatedPod("o1")}, &life);
  life.run();
  comeAll(podsOf(job, decision), &life);
  life.run();
  EXPECT_EQ(store.bound("job"), 0u);
  comeAll({gatedPod("o2"), gatedPod("o3")}, &life);
  life.run();
  EXPECT_EQ(store.bound("o"), 3u);
}

TEST(WorkloadFit, JustAdmitted_RenewedUnlessPodsArrive) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 3);
  const FitDecision decision = fit.decide(job, 0, kUntil);
  const engine::Instant later{kUntil.ms + 100'000};
  fit.restore(job, later);
  life.cache.expire(kUntil);
  EXPECT_TRUE(life.gated_pods.workloadReservations().holds("job"));
  comeAll({podsOf(job, decision)[0]}, &life);
  fit.restore(job, later);
  comeAll({gatedPod("o1"), gatedPod("o2")}, &life);
  life.run();
  EXPECT_EQ(store.bound("o"), 1u) << "the gang arrives, and its devices stay reserved";
}

// A JobSet may start one pod set after the other.
TEST(WorkloadFit, SeveralPodSets_EachStartsAlone) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload both = workloadOf("job", 1);
  both.pod_sets.push_back(both.pod_sets[0]);
  both.pod_sets[1].name = "worker";
  both.pod_sets[1].count = 3;
  const FitDecision decision = fit.decide(both, 0, kUntil);
  ASSERT_EQ(decision.state, FitState::kReady);
  ASSERT_EQ(decision.gangs.size(), 2u);
  kube::KueueWorkload first = both;
  first.pod_sets.pop_back();
  comeAll(podsOf(first, decision), &life);
  comeAll({gatedPod("o1")}, &life);
  life.run();
  EXPECT_EQ(store.bound("job"), 1u);
  EXPECT_EQ(store.bound("o"), 0u) << "three devices are reserved for the second pod set";
}

TEST(WorkloadFit, LowerPriorityPodsInTheWay_EvictedThenReady) {
  Store store = taken();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  kube::KueueWorkload job = workloadOf("job", 2);
  job.priority = 10;
  const FitDecision first = fit.decide(job, 0, kUntil);
  EXPECT_EQ(first.state, FitState::kPending) << first.message;
  EXPECT_NE(first.message, "");
  life.run();
  EXPECT_EQ(store.evicted.size(), 2u);
  const FitDecision second = fit.decide(job, 0, kUntil);
  ASSERT_EQ(second.state, FitState::kReady) << second.message;
  comeAll(podsOf(job, second), &life);
  life.run();
  EXPECT_TRUE(started(store, job));
  EXPECT_EQ(store.evicted.size(), 2u) << "no pod is evicted twice for it";
}

TEST(WorkloadFit, NextLeader_ReservesForPodsThatAreNotThere) {
  Store store = fourDevices();
  const kube::KueueWorkload job = workloadOf("job", 3);
  FitDecision decision;
  {
    Life life(store);
    decision = fitIn(&life).decide(job, 0, kUntil);
    ASSERT_EQ(decision.state, FitState::kReady);
  }
  {
    Life life(store);
    fitIn(&life).restore(job, kUntil);
    comeAll({gatedPod("o1"), gatedPod("o2")}, &life);
    life.run();
    EXPECT_EQ(store.bound("o"), 1u);
    comeAll(podsOf(job, decision), &life);
    life.run();
    EXPECT_TRUE(started(store, job));
  }
  Life life(store);
  fitIn(&life).restore(job, kUntil);
  EXPECT_FALSE(life.gated_pods.workloadReservations().holds("job")) << "its pods are there";
}

TEST(WorkloadFit, Asked_EachBesideThoseBeforeItThatFit) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const std::vector<FitAnswer> answers =
      fit.wouldFit({workloadOf("a", 3), workloadOf("b", 2), workloadOf("c", 1)}, kNotOver);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].fits, true);
  EXPECT_EQ(answers[1].fits, false);
  EXPECT_FALSE(answers[1].why.empty());
  EXPECT_EQ(answers[2].fits, true);
  EXPECT_EQ(fit.decide(workloadOf("d", 4), 0, kUntil).state, FitState::kReady)
      << "questions hold nothing";
}

TEST(WorkloadFit, AskedAboutWorkloadThatIsHere_Fits) {
  Store store = fourDevices();
  Life life(store);
  WorkloadFit fit = fitIn(&life);
  const kube::KueueWorkload job = workloadOf("job", 4);
  const FitDecision decision = fit.decide(job, 0, kUntil);
  EXPECT_EQ(fit.wouldFit({job}, kNotOver).at(0).fits, true) << "devices are reserved for it";
  EXPECT_EQ(fit.wouldFit({workloadOf("other", 1)}, kNotOver).at(0).fits, false);
  comeAll(podsOf(job, decision), &life);
  life.run();
  EXPECT_TRUE(started(store, job));
}

TEST(WorkloadFit, AskedForTooLong_RestIsNotTried) {
  Store store = fourDevices();
  Life life(store);
  const WorkloadFit fit = fitIn(&life);
  unsigned calls = 0;
  // Two are read, and one of these is tried.
  const auto over = [&calls] { return calls++ == 2 || calls > 3; };
  const std::vector<FitAnswer> answers =
      fit.wouldFit({workloadOf("a", 1), workloadOf("b", 1), workloadOf("c", 1)}, over);
  EXPECT_EQ(answers[0].fits, true);
  for (const std::size_t at : {1u, 2u}) {
    EXPECT_EQ(answers[at].fits, std::nullopt);
    EXPECT_EQ(answers[at].why, "not tried: too many at once");
  }
  const kube::KueueWorkload large = workloadOf("large", 4000);
  const auto more = fit.wouldFit({large, large, workloadOf("small", 1)}, kNotOver);
  EXPECT_EQ(more[1].fits, std::nullopt);
  EXPECT_EQ(more[2].fits, true) << "large ones keep no smaller one waiting";
  const auto none = fit.wouldFit({workloadOf("a", 1)}, [n = 0]() mutable { return n++ > 0; });
  EXPECT_EQ(none[0].fits, true) << "one is always tried";
}

TEST(WorkloadFit, AskedAboutWhatCanNeverBeRight_NamesTheReason) {
  Store store = fourDevices();
  Life life(store);
  const WorkloadFit fit = fitIn(&life);
  const std::vector<FitAnswer> answers =
      fit.wouldFit({workloadOf("job", 5000), workloadOf("other", 1)}, kNotOver);
  EXPECT_EQ(answers[0].fits, false);
  EXPECT_TRUE(answers[0].never);
  EXPECT_NE(answers[0].why.find("accepted"), std::string::npos) << answers[0].why;
  EXPECT_EQ(answers[1].fits, true);
}

// Random nodes, workloads and other pods, in any order; the next leader may follow at any time.
TEST(WorkloadFit, Ready_StartsWholeWhateverElseComes) {
  std::size_t ready = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    Store store;
    for (const char* node : {"a", "b", "c"})
      store.nodes.push_back(cardsOn(node, static_cast<unsigned>(1 + rng.below(4))));
    auto life = std::make_unique<Life>(store);
    std::vector<std::pair<kube::KueueWorkload, FitDecision>> admitted;
    for (unsigned step = 0; step < 12; ++step) {
      const std::string name = "w" + std::to_string(step);
      const std::uint64_t kind = rng.below(4);
      if (kind == 0) {
        comeAll({partOf("o" + std::to_string(step), 50)}, life.get());
        life->run();
      } else if (kind == 1 && !admitted.empty()) {
        const auto [job, decision] = admitted.back();
        admitted.pop_back();
        comeAll(podsOf(job, decision), life.get());
        life->run();
        EXPECT_TRUE(started(store, job)) << life->why(job.meta.name + "-0");
      } else if (kind == 2) {
        life = std::make_unique<Life>(store);
        for (const auto& [job, decision] : admitted) fitIn(life.get()).restore(job, kUntil);
      } else {
        const kube::KueueWorkload job =
            workloadOf(name, static_cast<std::int64_t>(1 + rng.below(4)));
        WorkloadFit fit = fitIn(life.get());
        const std::vector<FitAnswer> asked = fit.wouldFit({job}, kNotOver);
        const FitDecision decision = fit.decide(job, 0, kUntil);
        EXPECT_EQ(asked.at(0).fits, decision.state == FitState::kReady);
        (decision.state == FitState::kReady ? ready : refused) += 1;
        if (decision.state == FitState::kReady) admitted.emplace_back(job, decision);
      }
    }
  }
  EXPECT_GT(ready, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace divvy::scheduler
