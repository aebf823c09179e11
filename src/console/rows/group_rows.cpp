#include "rows/group_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr double kMilli = 1000;
constexpr std::uint32_t kMilliOfPercent = 10;

// Shares and pods with something in common. Texts are those of the reading.
struct Group {
  using Texts = std::set<std::string_view>;
  using Names = std::set<std::pair<std::string_view, std::string_view>>;

  Names pods, waiting;  // by namespace and name
  Names devices;        // by node and UUID
  Texts images, models, namespaces, nodes, sources;
  std::size_t shares = 0;
  std::uint64_t memory = 0;
  std::uint64_t compute_milli = 0;
  double device_parts = 0;  // the larger of the parts of memory and compute, for each device

  void add(const ContainerShare& share) {
    ++shares;
    pods.emplace(share.pod->namespace_name, share.pod->name);
    namespaces.insert(share.pod->namespace_name);
    nodes.insert(share.pod->node);
    if (!share.image.empty()) images.insert(share.image);
    if (!share.pod->served_model.empty()) models.insert(share.pod->served_model);
    if (!share.pod->model_source.empty()) sources.insert(share.pod->model_source);
    for (const ContainerShare::Part& part : share.parts) {
      memory += part.share->memory.count;
      compute_milli += part.share->compute.milli;
      devices.emplace(part.share->node, part.share->uuid);
      const double of_memory = part.device == nullptr || part.device->memory.count == 0
                                   ? 0
                                   : static_cast<double>(part.share->memory.count) /
                                         static_cast<double>(part.device->memory.count);
      device_parts += std::max(of_memory, static_cast<double>(part.share->compute.milli) / kMilli);
    }
  }
};

bj::array listOf(const Group::Texts& texts) {
  bj::array list;
  for (const std::string_view text : texts) list.push_back(bj::value(text));
  return list;
}

std::string textOf(const Group::Texts& texts) {
  std::string all;
  for (const std::string_view text : texts) {
    all += all.empty() ? "" : ", ";
    all += text;
  }
  return all;
}

double percentOf(std::uint64_t milli) {
  return static_cast<double>(milli) / kMilliOfPercent;
}

void put(Rows& rows, Row row) {
  std::string id(row.at("id").get_string());
  rows.insert_or_assign(std::move(id), std::move(row));
}

}  // namespace

const std::vector<std::string_view>& workloadFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "namespace",
      "kind",
      "name",
      "team",
      "queue",
      "pods",
      "shares",
      "waiting",
      "devices",
      "memory_limits_bytes",
      "memory_used_bytes",
      "compute_requested_percent",
      "models",
      "images",
  };
  return fields;
}

Rows workloadRows(const ClusterReading& reading, const std::vector<ContainerShare>& shares) {
  std::map<std::string, Group> groups;
  std::map<std::string, const ClusterPodView*> first;
  const auto keyOf = [](const ClusterPodView& pod) {
    return pod.namespace_name + '/' + workloadOf(pod);
  };
  for (const ClusterPodView& pod : reading.pods) {
    Group& group = groups[keyOf(pod)];
    first.try_emplace(keyOf(pod), &pod);
    group.pods.emplace(pod.namespace_name, pod.name);
    if (pod.state == ClusterPodState::kWaiting) group.waiting.emplace(pod.namespace_name, pod.name);
  }
  for (const ContainerShare& share : shares) {
    groups[keyOf(*share.pod)].add(share);
  }
  Rows rows;
  for (const auto& [key, group] : groups) {
    const ClusterPodView& pod = *first.at(key);
    const std::string owner = workloadOf(pod);
    const std::size_t slash = owner.find('/');
    put(rows, Row{{"id", key},
                  {"namespace", pod.namespace_name},
                  {"kind", owner.substr(0, slash)},
                  {"name", owner.substr(slash + 1)},
                  {"team", pod.team},
                  {"queue", pod.queue.empty() ? bj::value(nullptr) : bj::value(pod.queue)},
                  {"pods", group.pods.size()},
                  {"shares", group.shares},
                  {"waiting", group.waiting.size()},
                  {"devices", group.devices.size()},
                  {"memory_limits_bytes", group.memory},
                  {"memory_used_bytes", nullptr},
                  {"compute_requested_percent", percentOf(group.compute_milli)},
                  {"models", textOf(group.models)},
                  {"images", textOf(group.images)}});
  }
  return rows;
}

const std::vector<std::string_view>& teamFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "name",
      "namespaces",
      "shares",
      "waiting",
      "devices",
      "memory_limits_bytes",
      "memory_used_bytes",
      "compute_requested_percent",
  };
  return fields;
}

Rows teamRows(const ClusterReading& reading, const std::vector<ContainerShare>& shares) {
  std::map<std::string, Group> groups;
  for (const ClusterPodView& pod : reading.pods) {
    Group& group = groups[pod.team];
    group.namespaces.insert(pod.namespace_name);
    if (pod.state == ClusterPodState::kWaiting) group.waiting.emplace(pod.namespace_name, pod.name);
  }
  for (const ContainerShare& share : shares) groups[share.pod->team].add(share);
  Rows rows;
  for (const auto& [team, group] : groups)
    put(rows, Row{{"id", team},
                  {"name", team},
                  {"namespaces", listOf(group.namespaces)},
                  {"shares", group.shares},
                  {"waiting", group.waiting.size()},
                  {"devices", std::round(group.device_parts * kMilli) / kMilli},
                  {"memory_limits_bytes", group.memory},
                  {"memory_used_bytes", nullptr},
                  {"compute_requested_percent", percentOf(group.compute_milli)}});
  return rows;
}

const std::vector<std::string_view>& servedModelFields() {
  static const std::vector<std::string_view> fields{
      "id", "name", "source", "namespaces", "shares", "nodes", "images", "memory_limits_bytes",
  };
  return fields;
}

Rows servedModelRows(const std::vector<ContainerShare>& shares) {
  std::map<std::string, Group> groups;
  for (const ContainerShare& share : shares)
    if (!share.pod->served_model.empty()) groups[share.pod->served_model].add(share);
  Rows rows;
  for (const auto& [model, group] : groups)
    put(rows, Row{{"id", model},
                  {"name", model},
                  {"source", textOf(group.sources)},
                  {"namespaces", listOf(group.namespaces)},
                  {"shares", group.shares},
                  {"nodes", listOf(group.nodes)},
                  {"images", listOf(group.images)},
                  {"memory_limits_bytes", group.memory}});
  return rows;
}

}  // namespace divvy::console
