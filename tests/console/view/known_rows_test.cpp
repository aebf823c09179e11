// Views that take rows of equal origin from earlier ones.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include <boost/json.hpp>

#include "sample_cluster.h"
#include "view/cluster_view.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

constexpr std::array kLists{&ConsoleView::nodes,     &ConsoleView::devices, &ConsoleView::shares,
                            &ConsoleView::waiting,   &ConsoleView::events,  &ConsoleView::queues,
                            &ConsoleView::workloads, &ConsoleView::pools,   &ConsoleView::teams,
                            &ConsoleView::models};

std::string bytesOf(const ConsoleView& view) {
  std::string text = view.overview->text() + '\n';
  for (const auto list : kLists)
    for (const auto& [id, row] : view.*list) text += id + ' ' + row->text() + '\n';
  return text;
}

// Changes one value that a row shows, in place.
void change(ClusterReading& reading, std::mt19937& random) {
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  ClusterPodView& pod = reading.pods[below(reading.pods.size())];
  scheduler::DeviceUsage& device = reading.devices[below(reading.devices.size())];
  scheduler::AllocatedShare& share = reading.shares[below(reading.shares.size())];
  const std::string word = "changed-" + std::to_string(random() % 100);
  switch (below(16)) {
    case 0:
      pod.state = static_cast<ClusterPodState>(below(5));
      break;
    case 1:
      pod.owner = "Deployment/" + word;
      break;
    case 2:
      pod.queue = word;
      break;
    case 3:
      pod.team = word;
      break;
    case 4:
      pod.served_model = word;
      break;
    case 5:
      pod.priority = static_cast<std::int64_t>(below(9));
      break;
    case 6:
      if (!pod.images.empty()) pod.images.front() = word;
      break;
    case 7:
      if (!pod.containers.empty()) pod.containers.front() = word;
      break;
    case 8:
      device.healthy = !device.healthy;
      break;
    case 9:
      device.model = word;
      break;
    case 10:
      device.promised.count += 1;
      break;
    case 11:
      share.memory.count += 1;
      break;
    case 12:
      share.uuid = device.uuid, share.node = device.node;
      break;
    case 13:
      reading.device_use[deviceId(device)] = {below(1000), 5.0};
      break;
    case 14:
      reading.share_use[{share.namespace_name, share.pod, "main", ""}].idle_ms = below(1000);
      break;
    default:
      reading.share_use[{share.namespace_name, share.pod, "main", share.uuid}].memory_used =
          below(1000);
  }
}

ClusterReading manyShares() {
  ClusterReading reading = sampleCluster();
  for (int i = 0; i < 6; ++i) {
    const std::string space = i % 2 == 0 ? "lab" : "ml";
    reading.pods.push_back(
        clusterPod(space, "more-" + std::to_string(i), ClusterPodState::kRunning));
    const scheduler::DeviceUsage& device = reading.devices[static_cast<std::size_t>(i) % 2];
    reading.shares.push_back(
        {space, "more-" + std::to_string(i), device.node, device.uuid, 0, gib(2), {100}});
  }
  return reading;
}

// 300 clusters that change value by value: each view is byte for byte the one that is built from
// nothing, and what did not change has the same address.
TEST(KnownRows, AnyChange_SameBytesAsWithoutThem) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    ClusterReading first = manyShares();
    const ShareIndex first_index(first);
    const ConsoleView before = ClusterViewBuilder().build(first_index, 1);
    ClusterReading second = first;
    for (unsigned i = 0; i < random() % 4; ++i) change(second, random);
    const ShareIndex index(second);
    const ConsoleView with =
        ClusterViewBuilder().build(index, 1, {&before, nullptr, &before, &first_index});
    EXPECT_EQ(bytesOf(with), bytesOf(ClusterViewBuilder().build(second, 1))) << "seed " << seed;
    for (const auto list : kLists) {
      for (const auto& [id, row] : with.*list) {
        const auto was = (before.*list).find(id);
        const bool equal = was != (before.*list).end() && *was->second == *row;
        EXPECT_TRUE(!equal || was->second == row) << "seed " << seed << ' ' << id;
      }
    }
  }
}

// Rows of the whole cluster are in the view of a part only where nothing of them is hidden.
TEST(KnownRows, PartOfAViewer_SameBytesAsWithoutThem) {
  const ClusterReading reading = manyShares();
  const ShareIndex index(reading);
  const ConsoleView whole = ClusterViewBuilder().build(index, 1);
  for (const char* space : {"lab", "ml", "none"})
    for (const bool nodes : {false, true}) {
      ViewerScope scope;
      scope.nodes = nodes;
      scope.pods.names = scope.events.names = {space};
      const ClusterReading part = visiblePart(ReadingIndex(reading), scope);
      const ConsoleView with =
          ClusterViewBuilder().build(ShareIndex(part), 1, {nullptr, &whole, &whole, &index});
      EXPECT_EQ(bytesOf(with), bytesOf(ClusterViewBuilder().build(part, 1))) << space;
    }
}

}  // namespace
}  // namespace divvy::console
