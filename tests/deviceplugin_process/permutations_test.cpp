// Each container gets what is its own, in whatever order a kubelet does what it does.
#include "permutations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "call_order_plugin.h"
#include "plugin_process.h"

namespace divvy::test {
namespace {

using testing::IsEmpty;

// `./dev test --long permutations` has more of them, and others.
std::uint64_t told(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void report(const char* which, const Tally& tally) {
  std::printf(
      "%s: %llu pods, %llu containers; %llu at once, %llu before their pod's status, %llu with "
      "units "
      "of other cards, %llu at a later try (%llu times disturbed), %llu pods before one that was "
      "bound earlier; %llu enrolled, and %llu of other pods turned away; a program looked in %llu; "
      "%zu have what is another's\n",
      which, static_cast<unsigned long long>(tally.pods),
      static_cast<unsigned long long>(tally.containers),
      static_cast<unsigned long long>(tally.at_once), static_cast<unsigned long long>(tally.late),
      static_cast<unsigned long long>(tally.elsewhere),
      static_cast<unsigned long long>(tally.again),
      static_cast<unsigned long long>(tally.disturbed),
      static_cast<unsigned long long>(tally.overtaken),
      static_cast<unsigned long long>(tally.enrolled),
      static_cast<unsigned long long>(tally.turned_away),
      static_cast<unsigned long long>(tally.seen), tally.amiss.size());
}

// The last one: by pods that have no init containers.
enum class Agents { kStay, kAreKilled, kAreKilledWithoutInit };

// On a node of its own.
void permute(std::uint64_t groups, std::uint64_t seed, Agents agents, Tally* tally) {
  PluginProcess process;
  ContainerProbe inside;
  ASSERT_TRUE(process.ready());
  const auto said = [&](const AssignedPod& pod) { process.api.setPod(pod.object()); };
  Permutations all(
      {process.kubelet, process.cards(), said, said,
       [&](const std::string& uid) { process.api.removePod(uid); },
       agents == Agents::kStay ? std::function<void()>() : [&] { process.replaceAgent(); },
       agents != Agents::kAreKilledWithoutInit, &inside},
      seed);
  for (std::uint64_t at = 0; at < groups && all.tally().amiss.empty(); ++at) all.run();
  EXPECT_THAT(all.tally().amiss, IsEmpty()) << "seed " << seed;
  EXPECT_THAT(process.api.unknown(), IsEmpty());
  *tally = all.tally();
}

// An agent asks an API server 50 times a second at most: several at once.
Tally permuteOnSeveral(std::uint64_t groups, Agents agents) {
  std::array<Tally, 4> tallies;
  const std::uint64_t seed = told("DIVVY_PERMUTATIONS_SEED", 20261126);
  std::vector<std::thread> desks;
  for (std::uint64_t at = 0; at < tallies.size(); ++at)
    desks.emplace_back(
        [&, at] { permute((groups + at) / tallies.size(), seed + at, agents, &tallies[at]); });
  for (std::thread& process : desks) process.join();
  Tally sum;
  for (const Tally& one : tallies) sum += one;
  return sum;
}

TEST(Permutations, RandomOrders_EachContainerGetsItsOwn) {
  const std::uint64_t groups = told("DIVVY_PERMUTATIONS", 200);
  const Tally tally = permuteOnSeveral(groups, Agents::kStay);
  report("by agents", tally);
  // Else nothing was tried.
  EXPECT_GT(tally.containers, 5 * groups);
  EXPECT_GT(tally.at_once, groups);
  EXPECT_GT(tally.late, groups / 10);
  EXPECT_GT(tally.elsewhere, groups);
  EXPECT_GT(tally.overtaken, groups);
  EXPECT_EQ(tally.again, 0u);
  const ContainerProbe inside;
  if (!inside.mounts())
    std::printf(
        "nobody went inside: control groups and mounts are root's, where they can be made\n");
  if (inside.joins()) {
    EXPECT_EQ(tally.enrolled, tally.containers);
    EXPECT_GT(tally.turned_away, groups / 2);
  }
  if (inside.mounts()) {
    EXPECT_GT(tally.seen, groups / 2);
  }
}

// Killed while containers are about to be made, and there again.
TEST(Permutations, AgentsKilled_EachContainerGetsItsOwn) {
  // Of a pod whose init containers have had the same units an agent that begins anew waits 15 s for
  // a status that says whose turn it is: these are in the long form.
  const std::uint64_t told_groups = told("DIVVY_PERMUTATIONS_KILLED", 0);
  const std::uint64_t groups = told_groups == 0 ? 16 : told_groups;
  const Tally tally = permuteOnSeveral(
      groups, told_groups == 0 ? Agents::kAreKilledWithoutInit : Agents::kAreKilled);
  report("by agents that are killed", tally);
  EXPECT_GE(tally.disturbed, groups / 2);
  EXPECT_GT(tally.again, 0u);
}

// The control: who binds in the order of calls gives away what is somebody else's, and is right
// where all is done in one order.
TEST(Permutations, BindingByOrder_GivesForeignShares) {
  for (const bool in_order : {true, false}) {
    FakeDeviceManager kubelet(kResource);
    const std::vector<std::string> cards{"GPU-a", "GPU-b", "GPU-c", "GPU-d"};
    CallOrderPlugin plugin(kubelet.root(), cards, kUnits);
    ASSERT_TRUE(kubelet.offered(cards.size() * kUnits));
    Permutations all({kubelet, cards, [&](const AssignedPod& pod) { plugin.bound(pod); },
                      [](const AssignedPod&) {}, [](const std::string&) {}},
                     20261126);
    for (int at = 0; at < 100; ++at) all.run(in_order);
    if (in_order)
      EXPECT_THAT(all.tally().amiss, IsEmpty());
    else
      EXPECT_GT(all.tally().amiss.size(), all.tally().containers / 4);
    report(in_order ? "by order, in order" : "by order", all.tally());
  }
}

}  // namespace
}  // namespace divvy::test
