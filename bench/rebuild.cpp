// What a scheduler's start costs us, without the API server: a list of pods from its bytes, and
// nodes and pods into the books. 5,000 nodes of 8 cards, 50,000 pods that hold a share each.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "../tests/kube/pod_writer.h"
#include "client/query.h"
#include "kube/node.h"
#include "kube/registration.h"
#include "objects/pod_list_protobuf.h"
#include "preemption/running_pods.h"
#include "scheduler/cache.h"

namespace {

using namespace divvy;
namespace json = boost::json;

constexpr int kNodes = 5'000;
constexpr int kDevices = 8;
constexpr int kPods = 50'000;
constexpr int kOnPage = 500;

std::string nodeName(int at) {
  char name[24];
  std::snprintf(name, sizeof name, "node-%05d", at);
  return name;
}

std::vector<kube::Node> nodes() {
  std::vector<kube::Node> all;
  for (int at = 0; at < kNodes; ++at) {
    std::vector<kube::RegisteredDevice> devices(kDevices);
    for (int i = 0; i < kDevices; ++i) {
      devices[i].id = "GPU-" + nodeName(at) + '-' + std::to_string(i);
      devices[i].index = i;
      devices[i].count = 10;
      devices[i].mebibytes = 80 * 1024;
      devices[i].cores = 100;
      devices[i].type = "NVIDIA H100 80GB HBM3";
      devices[i].mode = "hami-core";
      devices[i].healthy = true;
    }
    kube::Node node;
    node.meta.name = nodeName(at);
    node.meta.uid = "uid-of-" + node.meta.name;
    node.meta.annotations["hami.io/node-nvidia-register"] = kube::encode(devices);
    node.allocatable = {{"cpu", "128"}, {"memory", "1024Gi"}, {"pods", "250"}};
    all.push_back(std::move(node));
  }
  return all;
}

json::value podOf(int at) {
  const std::string node = nodeName(at % kNodes);
  const std::string share =
      "GPU-" + node + '-' + std::to_string(at / kNodes % kDevices) + ",NVIDIA,8000,10:;";
  char uid[40];
  std::snprintf(uid, sizeof uid, "%08x-0000-4000-8000-%012d", at * 2'654'435'761u, at);
  const json::object amounts{{"cpu", "100m"},
                             {"nvidia.com/gpu", "1"},
                             {"nvidia.com/gpumem", "8000"},
                             {"nvidia.com/gpucores", "10"}};
  const json::object managed{
      {"manager", "cluster"}, {"operation", "Update"}, {"time", "2026-11-23T12:00:00Z"}};
  return json::object{
      {"metadata",
       {{"name", "held-" + std::to_string(at)},
        {"namespace", "bench"},
        {"uid", uid},
        {"resourceVersion", std::to_string(100'000 + at)},
        {"creationTimestamp", "2026-11-23T12:00:00Z"},
        {"annotations",
         {{"hami.io/vgpu-node", node},
          {"hami.io/vgpu-devices-allocated", share},
          {"hami.io/vgpu-devices-to-allocate", share},
          {"hami.io/vgpu-time", "1"},
          {"hami.io/bind-time", "1"},
          {"hami.io/bind-phase", "success"}}},
        {"managedFields", json::array{managed}}}},
      {"spec",
       {{"containers", json::array{{{"name", "c"},
                                    {"image", "registry/image:1"},
                                    {"resources", {{"limits", amounts}, {"requests", amounts}}},
                                    {"imagePullPolicy", "IfNotPresent"}}}},
        {"restartPolicy", "Always"},
        {"terminationGracePeriodSeconds", 30},
        {"nodeName", node},
        {"schedulerName", "divvy-scheduler"},
        {"tolerations", json::array{{{"key", "node.kubernetes.io/not-ready"},
                                     {"operator", "Exists"},
                                     {"effect", "NoExecute"}}}},
        {"priority", 0},
        {"preemptionPolicy", "PreemptLowerPriority"}}},
      {"status", {{"phase", "Pending"}, {"qosClass", "Burstable"}}}};
}

struct Pages {
  std::vector<std::string> text, bytes;
};

const Pages& pages() {
  static const Pages all = [] {
    Pages made;
    for (int from = 0; from < kPods; from += kOnPage) {
      json::array items;
      for (int at = from; at < from + kOnPage; ++at) items.push_back(podOf(at));
      const json::object list{{"metadata", {{"resourceVersion", "1"}}}, {"items", items}};
      made.text.push_back(json::serialize(list));
      made.bytes.push_back(kube::podListBytes(list));
    }
    return made;
  }();
  return all;
}

void need(bool so) {
  if (!so) std::abort();
}

std::vector<kube::Pod> pods() {
  std::vector<kube::Pod> all;
  for (const std::string& bytes : pages().bytes) {
    Result<kube::PodListPage> page = kube::podPageOf(bytes);
    need(page.has_value());
    for (kube::Pod& pod : page->pods) all.push_back(std::move(pod));
  }
  return all;
}

void readJson(benchmark::State& state) {
  for (auto _ : state) {
    std::size_t count = 0;
    for (const std::string& text : pages().text) {
      boost::system::error_code fault;
      json::monotonic_resource arena(text.size());
      const json::value body = kube::parsed(text, &fault, &arena);
      for (const json::value& item : body.at("items").as_array())
        count += kube::podOf(item) ? 1 : 0;
    }
    need(count == kPods);
  }
}

void readProtobuf(benchmark::State& state) {
  for (auto _ : state) {
    std::size_t count = 0;
    for (const std::string& bytes : pages().bytes) count += kube::podPageOf(bytes)->pods.size();
    need(count == kPods);
  }
}

// As they come when pods are listed while nodes are: that share of pods before all nodes.
void enterBooks(benchmark::State& state) {
  static const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  static const std::vector<kube::Node> all_nodes = nodes();
  static const std::vector<kube::Pod> all_pods = pods();
  const std::size_t before = all_pods.size() * static_cast<std::size_t>(state.range(0)) / 100;
  for (auto _ : state) {
    scheduler::SchedulerCache books(catalog, {});
    for (std::size_t at = 0; at < before; ++at) need(books.setPod(all_pods[at]).has_value());
    for (const kube::Node& node : all_nodes) need(books.setNode(node).has_value());
    for (std::size_t at = before; at < all_pods.size(); ++at)
      need(books.setPod(all_pods[at]).has_value());
  }
}

void enterLodgers(benchmark::State& state) {
  static const std::vector<kube::Pod> all = pods();
  for (auto _ : state) {
    scheduler::RunningPods lodgers;
    for (const kube::Pod& pod : all) need(lodgers.set(pod).has_value());
  }
}

BENCHMARK(readJson)->Unit(benchmark::kMillisecond);
BENCHMARK(readProtobuf)->Unit(benchmark::kMillisecond);
BENCHMARK(enterBooks)->Arg(0)->Arg(50)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(enterLodgers)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
