// Whose turn it is, against a kubelet that makes a pod's containers and is slow to say so.
#include "pods/container_resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <boost/json.hpp>

namespace divvy::agent {
namespace {

namespace json = boost::json;
using Rng = std::mt19937_64;
using States = ContainerStates;

unsigned below(Rng& rng, unsigned end) {
  return static_cast<unsigned>(rng() % end);
}

// A kubelet's view of one pod: what it does, and all that it ever said of it.
class Course {
 public:
  Course(Rng& rng, kube::Pod pod, std::vector<std::string> sharing)
      : rng_(rng), pod_(std::move(pod)), sharing_(std::move(sharing)) {
    for (const auto* list : {&pod_.init, &pod_.containers})
      for (const kube::PodContainer& one : *list) now_[one.name].reason = "PodInitializing";
    said_.push_back(now_);
  }

  void run() {
    for (unsigned sandbox = 0; sandbox < 1 + below(rng_, 2); ++sandbox) {
      if (sandbox > 0) beginAnew();
      for (const kube::PodContainer& one : pod_.init) ASSERT_NO_FATAL_FAILURE(live(one.name));
      const unsigned restarts = below(rng_, 3);
      for (unsigned i = 0; i <= restarts; ++i)
        for (const kube::PodContainer& one : pod_.containers)
          ASSERT_NO_FATAL_FAILURE(live(one.name));
    }
  }

  unsigned asked = 0;   // of containers that share
  unsigned waited = 0;  // of these, where the first status that was seen was too old
  unsigned mistaken_without_waiting = 0;
  unsigned settled = 0;  // of these, where the status did not change
  unsigned untold = 0;   // that the sandbox is a new one

 private:
  // Until it has ended as it should.
  void live(const std::string& name) {
    const bool sidecar = isSidecar(name);
    for (unsigned failures = below(rng_, 3);; --failures) {
      ASSERT_NO_FATAL_FAILURE(start(name));
      ContainerState& state = now_[name];
      const bool fails = failures > 0;
      if (fails && below(rng_, 3) == 0) {
        state.phase = ContainerPhase::kWaiting;
        state.reason = "CreateContainerError";
        say();
        continue;
      }
      state.phase = ContainerPhase::kRunning;
      state.reason.clear();
      say();
      if (sidecar) return;
      state.phase = ContainerPhase::kEnded;
      state.ended = "containerd://" + std::to_string(++made_);
      state.exit = fails ? 1 : 0;
      say();
      if (!fails) return;
      if (below(rng_, 2) == 0) {
        state.phase = ContainerPhase::kWaiting;
        state.reason = "CrashLoopBackOff";
        say();
      }
    }
  }

  void start(const std::string& name) {
    if (std::find(sharing_.begin(), sharing_.end(), name) == sharing_.end()) return;
    ++asked;
    // What is seen is never older than what was seen before.
    std::size_t at = seen_ + below(rng_, static_cast<unsigned>(said_.size() - seen_));
    if (resolveContainer(pod_, said_[at], sharing_, last_, true) != name)
      ++mistaken_without_waiting;
    std::optional<std::string> turn;
    bool first = true;
    for (;; ++at, first = false) {
      // Who could not be made twice, for the same reason, looks as after the first time.
      const bool all = at == said_.size();
      if (all) --at;
      turn = resolveContainer(pod_, said_[at], sharing_, last_, all);
      settled += all ? 1 : 0;
      ASSERT_TRUE(turn || !all) << "not to be told by all that there is to know: " << name;
      if (turn) break;
    }
    waited += first ? 0 : 1;
    seen_ = at;
    // Nothing tells of a new sandbox before its first container is made.
    const bool told = anew_at_ == 0 || at > anew_at_;
    if (told) {
      ASSERT_EQ(*turn, name);
    } else {
      ++untold;
      ASSERT_NE(std::find(sharing_.begin(), sharing_.end(), *turn), sharing_.end());
    }
    last_ = LastStartedContainer{*turn, said_[at]};
    // An agent that began anew does not remember, and what it reads is of then.
    if (!told || below(rng_, 8) > 0) return;
    last_->states.reset();
    seen_ = said_.size() - 1;
  }

  // Said with what comes next.
  void beginAnew() {
    for (auto& [name, state] : now_) {
      state.phase = ContainerPhase::kWaiting;
      state.reason = "PodInitializing";
    }
    anew_at_ = said_.size() - 1;
  }

  bool isSidecar(const std::string& name) const {
    return std::any_of(pod_.init.begin(), pod_.init.end(),
                       [&](const auto& one) { return one.name == name && one.sidecar; });
  }

  void say() { said_.push_back(now_); }

  Rng& rng_;
  const kube::Pod pod_;
  const std::vector<std::string> sharing_;
  States now_;
  std::vector<States> said_;
  std::size_t seen_ = 0;
  std::size_t anew_at_ = 0;  // what was said until then is of the sandbox before
  unsigned made_ = 0;
  std::optional<LastStartedContainer> last_;
};

kube::Pod somePod(Rng& rng, std::vector<std::string>* sharing) {
  kube::Pod pod;
  for (unsigned i = 0, count = below(rng, 4); i < count; ++i) {
    pod.init.push_back({"init-" + std::to_string(i), {}, {}, false, below(rng, 4) == 0});
    // Sidecars go on: they have devices of their own.
    if (!pod.init.back().sidecar && below(rng, 3) > 0) sharing->push_back(pod.init.back().name);
  }
  for (unsigned i = 0, count = 1 + below(rng, 2); i < count; ++i)
    pod.containers.push_back({"app-" + std::to_string(i), {}, {}, false, false});
  if (below(rng, 4) > 0) sharing->push_back(pod.containers.front().name);
  // The kubelet's checkpoint has them in any order.
  std::shuffle(sharing->begin(), sharing->end(), rng);
  return pod;
}

// `./dev test --long turns` has more of them, and others.
std::uint64_t told(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ResolveContainer, RandomLateStatuses_NeverOtherContainer) {
  Rng rng(static_cast<Rng::result_type>(told("DIVVY_TURN_SEED", 20261124)));
  const std::uint64_t pods = told("DIVVY_TURN_PODS", 10'000);
  std::uint64_t asked = 0, waited = 0, mistaken = 0, untold = 0, settled = 0;
  for (std::uint64_t round = 0; round < pods; ++round) {
    std::vector<std::string> sharing;
    const kube::Pod pod = somePod(rng, &sharing);
    Course course(rng, pod, sharing);
    ASSERT_NO_FATAL_FAILURE(course.run()) << round;
    asked += course.asked;
    waited += course.waited;
    mistaken += course.mistaken_without_waiting;
    untold += course.untold;
    settled += course.settled;
  }
  // Else nothing was tried.
  EXPECT_GT(asked, 2 * pods);
  EXPECT_GT(waited, pods / 5);
  EXPECT_LT(settled, asked / 5);
  EXPECT_LT(untold, asked / 5) << "of new sandboxes the first one";
  EXPECT_GT(mistaken, pods / 20) << "who does not wait for a later status is right as often";
  std::printf("%llu pods, %llu containers, %llu waited for a later status\n",
              static_cast<unsigned long long>(pods), static_cast<unsigned long long>(asked),
              static_cast<unsigned long long>(waited));
}

TEST(ResolveContainer, SingleSharer_AnsweredWithoutStatus) {
  kube::Pod pod;
  pod.containers.push_back({"main", {}, {}, false, false});
  EXPECT_EQ(resolveContainer(pod, {}, {"main"}, std::nullopt, false), "main");
  EXPECT_EQ(resolveContainer(pod, {}, {"gone"}, std::nullopt, false), std::nullopt);
}

// Regression: an init container with other units ended the memory of the one before it, and the
// container behind them was taken for that one.
TEST(ResolveContainer, EndedInitContainer_NextIsResolved) {
  kube::Pod pod;
  pod.init.push_back({"two-units", {}, {}, false, false});
  pod.init.push_back({"one-unit", {}, {}, false, false});
  pod.containers.push_back({"main", {}, {}, false, false});
  const ContainerState done{ContainerPhase::kEnded, "", "c-1", 0};
  ContainerState waits;
  waits.reason = "PodInitializing";
  const States states{{"two-units", done}, {"one-unit", done}, {"main", waits}};
  EXPECT_EQ(resolveContainer(pod, states, {"main", "two-units"}, std::nullopt, false), "main");
  const States before{{"two-units", waits}, {"one-unit", waits}, {"main", waits}};
  EXPECT_EQ(resolveContainer(pod, states, {"main", "two-units"},
                             LastStartedContainer{"two-units", before}, false),
            "main");
  EXPECT_EQ(resolveContainer(pod, before, {"main", "two-units"}, std::nullopt, false), "two-units");
}

// The kubelet died between its question and the container: nothing will ever be said of that.
TEST(ResolveContainer, UnreportedStart_RepeatedOnceAllIsKnown) {
  kube::Pod pod;
  pod.init.push_back({"prepare", {}, {}, false, false});
  pod.containers.push_back({"main", {}, {}, false, false});
  ContainerState waits;
  waits.reason = "PodInitializing";
  const States states{{"prepare", waits}, {"main", waits}};
  const LastStartedContainer last{"prepare", states};
  EXPECT_EQ(resolveContainer(pod, states, {"main", "prepare"}, last, false), std::nullopt);
  EXPECT_EQ(resolveContainer(pod, states, {"main", "prepare"}, last, true), "prepare");
  const States running{{"prepare", ContainerState{ContainerPhase::kRunning, "", "", 0}}};
  EXPECT_EQ(resolveContainer(pod, running, {"main", "prepare"}, last, true), std::nullopt)
      << "who runs is not made";
}

TEST(OverBefore, EachContainer_EndedOnesListed) {
  kube::Pod pod;
  pod.init = {
      {"a", {}, {}, false, false}, {"side", {}, {}, false, true}, {"b", {}, {}, false, false}};
  pod.containers = {{"x", {}, {}, false, false}, {"y", {}, {}, false, false}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(overBefore(pod, "a"), (Names{"side", "b", "x", "y"}));
  EXPECT_EQ(overBefore(pod, "side"), (Names{"a"}));
  EXPECT_EQ(overBefore(pod, "b"), (Names{"a", "x", "y"}));
  EXPECT_EQ(overBefore(pod, "x"), (Names{"a", "b"}));
}

TEST(ContainerStates, PodStatus_StatesAreParsed) {
  const json::value pod = json::parse(R"({"status":{"initContainerStatuses":[
    {"name":"prepare","state":{"terminated":{"exitCode":3,"containerID":"c-2"}},
     "lastState":{"terminated":{"exitCode":1,"containerID":"c-1"}}}],
    "containerStatuses":[{"name":"main","state":{"waiting":{"reason":"CrashLoopBackOff"}},
     "lastState":{"terminated":{"exitCode":137,"containerID":"c-7"}}},
     {"name":"log","state":{"running":{}}},{"name":"odd","state":7}]}})");
  const States states = containerStates(pod);
  EXPECT_EQ(states.at("prepare"), (ContainerState{ContainerPhase::kEnded, "", "c-2", 3}));
  EXPECT_EQ(states.at("main"),
            (ContainerState{ContainerPhase::kWaiting, "CrashLoopBackOff", "c-7", 137}));
  EXPECT_EQ(states.at("log").phase, ContainerPhase::kRunning);
  EXPECT_EQ(states.at("odd").phase, ContainerPhase::kWaiting);
  EXPECT_TRUE(containerStates(json::value(nullptr)).empty());
}

}  // namespace
}  // namespace divvy::agent
