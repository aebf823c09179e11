#include "gate_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/registration.h"
#include "kube/renamed_annotation.h"

namespace divvy::scheduler {

kube::Node cardsOn(const std::string& name, unsigned devices, const std::string& model) {
  kube::Node made;
  made.meta.name = name;
  made.meta.uid = name;
  std::vector<kube::RegisteredDevice> list;
  for (unsigned at = 0; at < devices; ++at) {
    kube::RegisteredDevice device;
    device.id = "GPU-" + name + '-' + std::to_string(at);
    device.index = at;
    device.count = 10;
    device.mebibytes = 80 << 10;
    device.cores = 100;
    device.type = model;
    device.healthy = true;
    list.push_back(std::move(device));
  }
  made.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(list);
  return made;
}

kube::Pod gatedPod(const std::string& name, const Texts& annotations) {
  kube::Pod made;
  made.meta.name = made.meta.uid = name;
  made.meta.namespace_name = "lab";
  made.meta.annotations = annotations;
  made.scheduler = "divvy-scheduler";
  made.gates = {kQueueGate};
  kube::PodContainer container;
  container.name = "c";
  container.limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}};
  made.containers.push_back(container);
  return made;
}

kube::Pod partOf(const std::string& name, unsigned percent, const Texts& annotations) {
  kube::Pod made = gatedPod(name, annotations);
  constexpr unsigned kCardMiB = 80 << 10;
  made.containers[0].limits = {{"nvidia.com/gpu", "1"},
                               {"nvidia.com/gpucores", std::to_string(percent)},
                               {"nvidia.com/gpumem", std::to_string(kCardMiB * percent / 100)}};
  return made;
}

kube::Pod memberOf(const std::string& gang, unsigned least, const std::string& name) {
  return gatedPod(name, {{kGangKey, gang}, {kGangLeastKey, std::to_string(least)}});
}

kube::Queue queueOf(const std::string& name, std::optional<std::int64_t> guarantee,
                    std::optional<std::int64_t> limit, const std::string& parent) {
  kube::Queue queue;
  queue.meta.name = queue.meta.uid = name;
  queue.parent = parent;
  if (guarantee) queue.guarantee.push_back({"*", *guarantee, {}});
  if (limit) queue.limit.push_back({"*", *limit, {}});
  return queue;
}

std::size_t Store::bound(const std::string& prefix) const {
  return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& one) {
    return one.first.starts_with(prefix) && !one.second.node.empty();
  }));
}

std::size_t Store::gated(const std::string& prefix) const {
  return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& one) {
    return one.first.starts_with(prefix) && isGated(one.second);
  }));
}

Life::Life(Store& from, std::int64_t least_runtime)
    : store(from),
      cache(allVendors(), {}),
      gated_preemption(cache, queues, running_pods, budgets, counts,
                       {least_runtime, [] { return true; }, [this] { return now; },
                        [this] { return store.clock; }}),
      node_resources(cache, running_pods),
      gated_pods({allVendors(), cache, queues, &gated_preemption, &node_resources}) {
  for (const kube::Queue& queue : store.queues) queues.set(queue);
  for (const kube::Node& node : store.nodes) EXPECT_TRUE(cache.setNode(node));
  for (const auto& [uid, pod] : store.pods) hear(uid);
  gated_pods.restoreReservations(kMuchLater);
}

void Life::hear(const std::string& uid) {
  EXPECT_TRUE(cache.setPod(store.pods.at(uid)));
  gated_pods.setPod(store.pods.at(uid), "");
  EXPECT_TRUE(running_pods.set(store.pods.at(uid)));
}

void Life::forget(const std::string& uid) {
  store.pods.erase(uid);
  cache.removePod(uid);
  gated_pods.removePod(uid);
  running_pods.remove(uid);
}

bool Life::openOne() {
  std::erase_if(openings_, [&](const GateRemoval& one) { return !store.pods.contains(one.uid); });
  if (openings_.empty()) openings_ = gated_pods.open(100, "term", kMuchLater);
  if (openings_.empty()) return false;
  const GateRemoval opening = openings_.front();
  openings_.erase(openings_.begin());
  kube::Pod& pod = store.pods.at(opening.uid);
  pod.gates.clear();
  // Every second pod was opened by a scheduler of the release before.
  const std::string key = ++opened_ % 2 == 0 ? kube::oldKeyOf(kReservationKey) : kReservationKey;
  if (!opening.plan.empty()) pod.meta.annotations[key] = opening.plan;
  gated_pods.opened(opening.uid);
  hear(opening.uid);
  return true;
}

// The first that may go somewhere, as kube-scheduler would try them.
bool Life::bindOne() {
  std::vector<std::string_view> names;
  for (const kube::Node& node : store.nodes) names.push_back(node.meta.name);
  for (auto& [uid, pod] : store.pods) {
    if (!pod.gates.empty() || !pod.node.empty()) continue;
    const Result<FilterResult> choice = gated_pods.filterAndReserve(pod, names, kMuchLater);
    if (!choice || !choice->node) continue;
    const Result<BindPlan> assigned = cache.assume(uid, *choice->node, 1);
    EXPECT_TRUE(assigned) << assigned.error().message();
    if (!assigned) continue;
    pod.node = *choice->node;
    pod.placed_at = ++store.clock;
    pod.phase = kube::PodPhase::kRunning;
    for (const auto& [key, value] : assigned->annotations) pod.meta.annotations[key] = value;
    cache.finishBinding(uid, BindOutcome::kBound);
    hear(uid);
    return true;
  }
  return false;
}

bool Life::evictOne() {
  const std::optional<GatedPreemption::Eviction> step = gated_preemption.next();
  if (!step) return false;
  const std::string& uid = step->victim.uid;
  ended_for = step->key;
  store.pods.at(uid).meta.deleting = true;
  store.evicted.push_back(uid);
  running_pods.markTerminating(uid);
  hear(uid);
  gated_preemption.answered(*step, true);
  return true;
}

bool Life::endOne() {
  for (const auto& [uid, pod] : store.pods) {
    if (!pod.meta.deleting) continue;
    const std::string gone = uid;
    forget(gone);
    return true;
  }
  return false;
}

void Life::run() {
  while (openOne() || bindOne() || evictOne() || endOne()) continue;
}

std::string Life::why(const std::string& uid) const {
  for (const GatedPodStatus& one : gated_pods.waiting())
    if (one.uid == uid) return one.why;
  return "";
}

Store borrowed(unsigned cards) {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  store.queues = {queueOf("ours", 2000, {}), queueOf("theirs", 2000, {})};
  for (unsigned i = 1; i <= cards; ++i)
    store.add(gatedPod("t" + std::to_string(i), {{kQueueKey, "theirs"}}));
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("t"), cards);
  return store;
}

void ask(Store* store, unsigned pods) {
  for (unsigned i = 1; i <= pods; ++i)
    store->add(gatedPod("p" + std::to_string(i), {{kQueueKey, "ours"}}));
}

Store taken() {
  Store store;
  store.nodes = {cardsOn("a", 2), cardsOn("b", 2)};
  for (unsigned i = 1; i <= 4; ++i) {
    store.add(gatedPod("t" + std::to_string(i)));
    store.pods.at("t" + std::to_string(i)).priority = i;
  }
  Life life(store);
  life.run();
  EXPECT_EQ(store.bound("t"), 4u);
  return store;
}

void addHigherGang(Store* store, unsigned members, std::int64_t priority,
                   const std::string& queue) {
  for (unsigned i = 0; i < members; ++i) {
    kube::Pod pod = memberOf("g", members, "g" + std::to_string(i));
    if (!queue.empty()) pod.meta.annotations[kQueueKey] = queue;
    pod.priority = priority;
    store->add(pod);
  }
}

}  // namespace divvy::scheduler
