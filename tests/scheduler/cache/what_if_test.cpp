// Asking about nodes that somebody describes: every one that would do is told, and nothing comes of
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "kube/registration.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {
namespace {

constexpr engine::Instant kLater{120'000};
constexpr std::size_t kNodes = 6;

// One of a few sizes; what a name has may be described in other words elsewhere.
kube::Node some(const std::string& name, Rng* rng) {
  kube::Node node;
  node.meta.name = name;
  node.meta.uid = "uid-" + name;
  node.unschedulable = rng->below(8) == 0;
  if (rng->below(8) == 0) return node;  // without devices
  std::vector<kube::RegisteredDevice> list;
  const auto count = 1 + rng->below(3);
  for (std::uint64_t at = 0; at < count; ++at) {
    kube::RegisteredDevice device;
    device.id = "GPU-" + name + '-' + std::to_string(at);
    device.count = static_cast<std::uint32_t>(1 + rng->below(3));
    device.mebibytes = 10'000 * (1 + rng->below(3));
    device.cores = 100;
    device.type = rng->below(2) == 0 ? "NVIDIA H100" : "NVIDIA A10";
    device.healthy = rng->below(8) != 0;
    list.push_back(std::move(device));
  }
  node.meta.annotations["hami.io/node-nvidia-register"] =
      rng->below(16) == 0 ? "[{" : kube::encode(list);
  return node;
}

kube::Pod someone(const std::string& uid, Rng* rng) {
  kube::Pod pod;
  pod.meta.name = pod.meta.uid = uid;
  pod.meta.namespace_name = "default";
  if (rng->below(4) == 0) pod.meta.annotations["nvidia.com/use-gputype"] = "A10";
  kube::PodContainer container;
  container.name = "c";
  container.limits = {{"nvidia.com/gpu", std::to_string(1 + rng->below(2))},
                      {"nvidia.com/gpumem", std::to_string(2'000 * (1 + rng->below(8)))},
                      {"nvidia.com/gpucores", std::to_string(10 * rng->below(6))}};
  pod.containers.push_back(container);
  return pod;
}

std::string nameOf(std::uint64_t at) {
  return "node-" + std::to_string(at);
}

// Two schedulers that hear the same; one of them is asked about imagined nodes in between.
class Twins {
 public:
  explicit Twins(std::uint64_t seed) : rng_(seed) {}

  void step(unsigned at) {
    switch (rng_.below(5)) {
      case 0:
        return tellNode();
      case 1:
        return remove();
      default:
        return place(at);
    }
  }

  // Asks one of them about nodes as they are and as they could be.
  void suppose(unsigned at) {
    Rng rng(at);
    std::vector<kube::Node> nodes;
    for (std::size_t i = 0; i < kNodes + 2; ++i) {
      const std::string name = nameOf(i);
      if (rng.below(4) == 0) continue;
      const auto known = told_.find(name);
      const bool same = known != told_.end() && rng.below(2) == 0;
      nodes.push_back(same ? known->second : some(name, &rng));
    }
    const kube::Pod pod = someone("supposed-" + std::to_string(at), &rng);
    const Result<FilterResult> choice = asked_.pods().simulateFit(pod, nodes);
    ASSERT_TRUE(choice.has_value()) << choice.error().message();
    for (const kube::Node& node : nodes) {
      const std::string& name = node.meta.name;
      const bool fits = !choice->why.contains(name) && !choice->never.contains(name);
      EXPECT_EQ(fits, fitsIfSo(pod, node)) << name << " of step " << at;
    }
  }

 private:
  void tellNode() {
    const std::string name = nameOf(rng_.below(kNodes));
    const kube::Node node = some(name, &rng_);
    const bool good = plain_.setNode(node).has_value();
    EXPECT_EQ(asked_.setNode(node).has_value(), good);
    told_[name] = node;
  }

  void remove() {
    if (bound_.empty()) return;
    const auto gone = bound_.begin();
    plain_.removePod(gone->first);
    asked_.removePod(gone->first);
    bound_.erase(gone);
  }

  void place(unsigned at) {
    const kube::Pod pod = someone("pod-" + std::to_string(at), &rng_);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kNodes; ++i) names.push_back(nameOf(i));
    const std::vector<std::string_view> views(names.begin(), names.end());
    const Result<FilterResult> one = plain_.filterAndReserve(pod, views, kLater);
    const Result<FilterResult> other = asked_.filterAndReserve(pod, views, kLater);
    ASSERT_TRUE(one.has_value() && other.has_value());
    EXPECT_EQ(one->node, other->node);
    EXPECT_EQ(one->why, other->why);
    EXPECT_EQ(one->never, other->never);
    if (!one->node) return;
    const Result<BindPlan> assigned = plain_.assume(pod.meta.uid, *one->node, 1);
    const Result<BindPlan> again = asked_.assume(pod.meta.uid, *one->node, 1);
    ASSERT_TRUE(assigned.has_value() && again.has_value());
    EXPECT_EQ(assigned->annotations, again->annotations);
    plain_.finishBinding(pod.meta.uid, BindOutcome::kBound);
    asked_.finishBinding(pod.meta.uid, BindOutcome::kBound);
    kube::Pod bound = pod;
    bound.node = *one->node;
    bound.meta.annotations = assigned->annotations;
    bound_.emplace(pod.meta.uid, std::move(bound));
  }

  // By a scheduler that knows only that node, as it is described, and who is there.
  bool fitsIfSo(const kube::Pod& pod, const kube::Node& node) const {
    SchedulerCache cache(catalog_, {});
    if (!cache.setNode(node)) return false;
    for (const auto& [uid, one] : bound_) {
      if (one.node != node.meta.name) continue;
      EXPECT_TRUE(cache.setPod(one).has_value());
    }
    const std::vector<std::string_view> only{node.meta.name};
    const Result<FilterResult> choice = cache.filterAndReserve(pod, only, kLater);
    return choice && choice->node;
  }

  Rng rng_;
  const vendors::Catalog catalog_ = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache plain_{catalog_, {}};
  SchedulerCache asked_{catalog_, {}};
  std::map<std::string, kube::Node> told_;  // by name, as they were described last
  std::map<std::string, kube::Pod> bound_;
};

TEST(SimulateFit, RandomNodes_ExactFitsNothingChanged) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Twins twins(seed);
    for (unsigned at = 0; at < 60; ++at) {
      twins.step(at);
      twins.suppose(static_cast<unsigned>(seed * 1000) + at);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A pod that is asked about again does not stand in its own way.
TEST(SimulateFit, OwnReservation_IsNotInTheWay) {
  const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  SchedulerCache cache(catalog, {});
  Rng rng(1);
  kube::Node node;
  std::vector<kube::RegisteredDevice> list(1);
  list[0].id = "GPU-0";
  list[0].count = 1;
  list[0].mebibytes = 10'000;
  list[0].cores = 100;
  list[0].healthy = true;
  node.meta.name = "a";
  node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(list);
  ASSERT_TRUE(cache.setNode(node));
  kube::Pod pod = someone("p", &rng);
  pod.meta.annotations.clear();
  pod.containers[0].limits = {{"nvidia.com/gpu", "1"}};
  const std::vector<std::string_view> names{"a"};
  ASSERT_TRUE(cache.filterAndReserve(pod, names, kLater)->node);
  const std::vector<kube::Node> nodes{node};
  EXPECT_TRUE(cache.pods().simulateFit(pod, nodes)->why.empty());
  pod.meta.uid = "q";
  EXPECT_FALSE(cache.pods().simulateFit(pod, nodes)->why.empty());
}

}  // namespace
}  // namespace divvy::scheduler
