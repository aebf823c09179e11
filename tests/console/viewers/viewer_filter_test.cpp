// What a viewer sees of a cluster, for scopes of all shapes.
#include "viewers/viewer_filter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include <boost/json.hpp>

#include "sample_cluster.h"
#include "view/cluster_view.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

const std::vector<std::string> kSpaces{"lab", "ml", "zoo"};

// A text in every field that a namespace's user can set, or that names one of its objects.
std::string canary(const std::string& space) {
  return "canary-of-" + space;
}

void addSpace(ClusterReading& reading, const std::string& space, std::size_t device) {
  const std::string secret = canary(space);
  ClusterPodView pod = clusterPod(space, secret + "-pod");
  pod.owner = "Job/" + secret;
  pod.queue = secret + "-queue";
  pod.team = secret + "-team";
  pod.served_model = pod.model_source = secret + "-model";
  pod.containers = {secret + "-container"};
  pod.images = {secret + "-image"};
  giveShare(reading, pod, device, 10, 100);
  ClusterPodView waiting = clusterPod(space, secret + "-waiting", ClusterPodState::kWaiting);
  waiting.queue = pod.queue;
  waiting.waiting = WaitingKind::kNeverFits;
  waiting.reason = secret + "-reason";
  reading.events.push_back({secret + "-uid", space, secret + "-pod", secret, secret, secret, 1});
  ShareUse& use = reading.share_use[{space, pod.name, pod.containers[0], ""}];
  use = {gib(1).count, {}, {}, 10.0, 5u};
  // Reasons name any tenant of the device.
  use.slow = {"waits for " + canary("lab") + canary("ml") + canary("zoo")};
  use.slow_unnamed = {"waits for another tenant"};
  kube::Queue queue;
  queue.meta.name = pod.queue;
  queue.parent = "root-of-all";
  queue.namespaces = {space};
  queue.status.waiting = {{"a limit", 1, space + '/' + waiting.name}};
  queue.status.fault = secret + "-fault";
  reading.queues.push_back(queue);
  reading.pools.push_back({secret + "-pool", {space}});
  reading.devices[device].pool = secret + "-pool";
  reading.pods.push_back(std::move(pod));
  reading.pods.push_back(std::move(waiting));
}

// Each namespace has a device of its own; all have a part of the last one.
ClusterReading secretCluster() {
  ClusterReading reading;
  reading.collections = readCollections();
  reading.collections[1].unread = 1;
  reading.collections[1].example = canary("lab") + canary("ml") + canary("zoo");
  for (const char* node : {"node-lab", "node-ml", "node-zoo", "node-all"}) {
    reading.nodes.push_back({node, ClusterNodeState::kNotReady, std::string("reason of ") + node});
    reading.devices.push_back(clusterDevice(node, 0));
    reading.device_use[std::string(node) + "/GPU-" + node + "-0"] = {
        gib(3).count, 7.0, 0u, "zoo/" + canary("zoo") + "-pod/" + canary("zoo")};
  }
  reading.agents = {4, 3, "node-zoo: " + canary("zoo")};
  for (std::size_t i = 0; i < kSpaces.size(); ++i) {
    addSpace(reading, kSpaces[i], i);
    giveShare(reading, reading.pods[2 * i], 3, 5, 50);
  }
  numberWaiting(reading);
  return reading;
}

// Every byte that a viewer of this scope can be answered.
std::string bytesOf(const ClusterReading& reading, const ViewerScope& scope) {
  // As a console does, with rows of the whole view.
  const ShareIndex index(reading);
  const ConsoleView whole = ClusterViewBuilder().build(index, 1);
  const ClusterReading part = visiblePart(ReadingIndex(reading), scope);
  const ConsoleView view =
      ClusterViewBuilder().build(ShareIndex(part), 1, {nullptr, &whole, &whole, &index});
  std::string text = view.overview->text();
  for (const SharedRows* rows :
       {&view.nodes, &view.devices, &view.shares, &view.waiting, &view.events, &view.workloads,
        &view.queues, &view.pools, &view.teams, &view.models})
    for (const auto& [id, row] : *rows) text += id + row->text() + '\n';
  for (const SourceState& source : view.sources) text += bj::serialize(source.row());
  return text;
}

NamespaceScope scopeOf(unsigned bits) {
  NamespaceScope scope;
  scope.all = bits >= 8;
  for (std::size_t i = 0; i < kSpaces.size() && !scope.all; ++i)
    if ((bits >> i) % 2 == 1) scope.names.insert(kSpaces[i]);
  return scope;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// All 4 * 9 * 9 scopes over three namespaces.
TEST(VisiblePart, AnyScope_NoByteOfOthers) {
  const ClusterReading reading = secretCluster();
  for (unsigned bits = 0; bits < 4 * 9 * 9; ++bits) {
    ViewerScope scope;
    scope.nodes = bits % 2 == 1;
    scope.queues = (bits / 2) % 2 == 1;
    scope.pods = scopeOf((bits / 4) % 9);
    scope.events = scopeOf(bits / 36);
    const std::string text = bytesOf(reading, scope);
    for (const std::string& space : kSpaces) {
      const bool pods = scope.pods.contains(space);
      const bool events = scope.events.contains(space);
      // A queue and a pool carry the names of their own objects.
      std::string rest = text;
      for (const char* named : {"-queue", "-pool"})
        for (std::size_t at = 0; (at = rest.find(canary(space) + named, at)) != std::string::npos;)
          rest.erase(at, canary(space).size());
      if (scope.queues)
        for (const std::string& word : {canary(space) + "-waiting", canary(space) + "-fault"})
          for (std::size_t at = 0; (at = rest.find(word, at)) != std::string::npos;)
            rest.erase(at, word.size());
      EXPECT_EQ(has(rest, canary(space)), pods || events) << bits << ' ' << space << rest;
      EXPECT_EQ(has(text, canary(space) + "-pod"), pods || events) << bits;
      EXPECT_EQ(has(text, canary(space) + "-uid"), events) << bits;
      EXPECT_EQ(has(text, canary(space) + "-image"), pods) << bits;
      EXPECT_EQ(has(text, "reason of node-" + space), scope.nodes) << bits;
      EXPECT_EQ(has(text, "GPU-node-" + space), scope.nodes || pods) << bits;
      EXPECT_EQ(has(text, canary(space) + "-queue"), scope.queues || pods) << bits;
      EXPECT_EQ(has(text, canary(space) + "-fault"), scope.queues) << bits;
    }
  }
}

TEST(VisiblePart, Everything_SameAsTheWhole) {
  const ClusterReading reading = secretCluster();
  const std::string whole = bytesOf(reading, wholeScope());
  EXPECT_TRUE(has(whole, "node-zoo: canary-of-zoo"));
  EXPECT_TRUE(has(whole, "root-of-all"));
  ViewerScope pods = wholeScope();
  pods.queues = false;
  EXPECT_FALSE(has(bytesOf(reading, pods), "root-of-all"));
}

// A device that a viewer shares with others shows their sums.
TEST(VisiblePart, SharedDevice_AmountsOfOthersWithoutNames) {
  ViewerScope scope;
  scope.pods.names = {"lab"};
  const ConsoleView view =
      ClusterViewBuilder().build(visiblePart(ReadingIndex(secretCluster()), scope), 1);
  ASSERT_EQ(view.devices.size(), 2u);
  const ListRow& shared = *view.devices.at("node-all/GPU-node-all-0");
  EXPECT_EQ(shared.at("memory_limits_bytes"), gib(15).count);
  EXPECT_EQ(shared.at("tenants"), 3);
  EXPECT_EQ(shared.at("parts").as_array().size(), 1u);
  EXPECT_EQ(view.overview->at("funnel").at("devices"), 2);
  EXPECT_TRUE(view.nodes.empty());
}

TEST(VisiblePart, Nothing_Empty) {
  const ConsoleView view =
      ClusterViewBuilder().build(visiblePart(ReadingIndex(secretCluster()), {}), 1);
  EXPECT_TRUE(view.devices.empty() && view.shares.empty() && view.nodes.empty() &&
              view.waiting.empty() && view.events.empty() && view.queues.empty() &&
              view.pools.empty() && view.teams.empty() && view.models.empty());
  EXPECT_EQ(view.data_ms, 1) << "the cluster has been read";
}

TEST(NumberWaiting, Positions_CountPodsThatAreHidden) {
  ClusterReading reading;
  for (int i = 0; i < 3; ++i) {
    ClusterPodView& pod = reading.pods.emplace_back(
        clusterPod(i == 1 ? "ml" : "lab", "p" + std::to_string(i), ClusterPodState::kWaiting));
    pod.queue = "q";
    pod.created_ms = i;
  }
  reading.pods[2].priority = 5;
  numberWaiting(reading);
  ViewerScope scope;
  scope.pods.names = {"lab"};
  const ConsoleView view = ClusterViewBuilder().build(visiblePart(ReadingIndex(reading), scope), 1);
  ASSERT_EQ(view.waiting.size(), 2u);
  EXPECT_EQ(view.waiting.at("lab/p2")->at("position"), 1);
  EXPECT_EQ(view.waiting.at("lab/p0")->at("position"), 2);
}

TEST(VisibleExplanation, WaitingPod_NoNodesAndNoOtherPods) {
  const bj::value whole = bj::parse(R"({"pod": "lab/p", "bound": false, "fits": true,
    "node": "canary", "devices": [{"uuid": "canary"}], "told": "text",
    "reasons": {"no room": 3}, "nodes": [{"node": "canary"}], "would_fit_without": ["ml/canary"],
    "fixes": [{"change": "memory 24Gi -> 16Gi", "node": "canary", "nodes": 3}]})");
  const bj::object limited = visibleExplanation(whole.as_object(), {});
  EXPECT_FALSE(has(bj::serialize(limited), "canary"));
  EXPECT_EQ(limited.at("reasons").at("no room"), 3);
  EXPECT_EQ(limited.at("fixes").at(0).at("nodes"), 3);
  EXPECT_EQ(limited.at("limited"), true);
}

TEST(VisibleExplanation, BoundPod_ItsOwnNode) {
  const bj::value whole =
      bj::parse(R"({"bound": true, "node": "gpu-1", "devices": [{"uuid": "GPU-1"}], "nodes": []})");
  const bj::object limited = visibleExplanation(whole.as_object(), {});
  EXPECT_EQ(limited.at("node"), "gpu-1");
  EXPECT_EQ(limited.at("devices").as_array().size(), 1u);
}

// A queue's reasons name gangs, parents and nodes; the queue of a foreign namespace is not shown.
TEST(VisiblePart, QueueReasons_FixedText) {
  ClusterReading reading = secretCluster();
  for (ClusterPodView& pod : reading.pods) {
    if (pod.namespace_name != "lab") continue;
    pod.queue = canary("zoo") + "-queue";
    if (pod.state != ClusterPodState::kWaiting) continue;
    pod.reason = "its gang waits: namespaces/zoo/podgroups/secret";
    pod.reason_of_queue = true;
  }
  ViewerScope scope;
  scope.pods.names = {"lab"};
  EXPECT_FALSE(has(bytesOf(reading, scope), "\"id\":\"canary-of-zoo-queue\""))
      << "it is not for lab";
  reading.queues.back().namespaces.push_back("lab");
  reading.queues.back().status.waiting[0].reason = "no room on node-zoo";
  const std::string text = bytesOf(reading, scope);
  EXPECT_TRUE(has(text, "\"id\":\"canary-of-zoo-queue\""));
  EXPECT_FALSE(has(text, "no room on")) << text;
  EXPECT_FALSE(has(text, "podgroups"));
  scope.queues = true;
  EXPECT_TRUE(has(bytesOf(reading, scope), "podgroups"));
}

TEST(VisibleExplanation, GateOfQueue_FixedTextWithoutQueues) {
  const bj::object whole{{"bound", false}, {"gated", "behind zoo/secret"}};
  ViewerScope scope = wholeScope();
  EXPECT_EQ(visibleExplanation(whole, scope).at("gated"), "behind zoo/secret");
  scope.queues = false;
  EXPECT_FALSE(has(bj::serialize(visibleExplanation(whole, scope)), "secret"));
}

// Every refused namespace is asked about within 20 reviews, others each time.
RC_GTEST_PROP(NamespacesToReview, Reviews_EachRefusedOneInTwenty, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 200);
  const auto start = *rc::gen::inRange<std::uint64_t>(0, 1000);
  std::vector<std::string> known;
  ViewerScope before;
  std::set<std::string> refused, each_time;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "space-" + std::to_string(i);
    // Some of those that it may see are empty now.
    if (i % 5 != 0) known.push_back(name);
    if (i % 7 == 0) before.pods.names.insert(name);
    if (i % 11 == 0) before.events.names.insert(name);
    const bool seen = i % 7 == 0 || i % 11 == 0;
    if (!seen && i % 3 == 0) refused.insert(name);
    if (seen || (i % 5 != 0 && i % 3 != 0)) each_time.insert(name);
  }
  std::set<std::string> asked;
  for (std::uint64_t review = start; review < start + 20; ++review) {
    const std::vector<std::string> now = namespacesToReview(known, before, refused, review);
    RC_ASSERT(now.size() <= each_time.size() + refused.size() / 20 + 1);
    RC_ASSERT(std::includes(now.begin(), now.end(), each_time.begin(), each_time.end()));
    asked.insert(now.begin(), now.end());
  }
  RC_ASSERT(std::includes(asked.begin(), asked.end(), refused.begin(), refused.end()));
}

TEST(NamespaceIn, Identifiers_PartBeforeTheSlash) {
  EXPECT_EQ(namespaceIn("lab/serve-1/main"), "lab");
  EXPECT_EQ(namespaceIn("lab"), "lab");
  EXPECT_EQ(namespaceIn(""), "");
}

}  // namespace
}  // namespace divvy::console
