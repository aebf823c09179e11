#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "base/bytes.h"
#include "rows/group_rows.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using Amounts = std::vector<kube::QueueAmount>;

bj::value numberOrNull(const std::optional<std::int64_t>& number, std::uint64_t unit) {
  return number ? bj::value(*number * static_cast<std::int64_t>(unit)) : bj::value(nullptr);
}

bj::array amountsOf(const Amounts& amounts) {
  bj::array list;
  for (const kube::QueueAmount& amount : amounts)
    list.push_back(bj::object{{"model", amount.model},
                              {"devices_milli", numberOrNull(amount.milli, 1)},
                              {"memory_bytes", numberOrNull(amount.mebibytes, mib(1).count)}});
  return list;
}

// Use beyond the guarantee of the same devices; nothing of the rest.
std::optional<std::int64_t> beyond(const std::optional<std::int64_t>& used,
                                   const std::optional<std::int64_t>& guarantee) {
  if (!used) return std::nullopt;
  return std::max<std::int64_t>(*used - guarantee.value_or(0), 0);
}

Amounts borrowedOf(const kube::Queue& queue) {
  Amounts borrowed;
  for (const kube::QueueAmount& used : queue.status.used) {
    const auto same = std::find_if(queue.guarantee.begin(), queue.guarantee.end(),
                                   [&](const auto& one) { return one.model == used.model; });
    const kube::QueueAmount guarantee =
        same == queue.guarantee.end() ? kube::QueueAmount{used.model, {}, {}} : *same;
    kube::QueueAmount more{used.model, beyond(used.milli, guarantee.milli),
                           beyond(used.mebibytes, guarantee.mebibytes)};
    if (more.milli.value_or(0) > 0 || more.mebibytes.value_or(0) > 0)
      borrowed.push_back(std::move(more));
  }
  return borrowed;
}

// The names of the queue's parents and its own: "research/vision". A circle of parents, which the
// scheduler does not put into force, ends before a name that is in the path already.
std::pair<std::string, std::size_t> pathOf(const kube::Queue& queue,
                                           const std::map<std::string, const kube::Queue*>& all) {
  std::string path = queue.meta.name;
  std::set<std::string> names{path};
  for (auto parent = all.find(queue.parent);
       parent != all.end() && names.insert(parent->first).second;
       parent = all.find(parent->second->parent))
    path = parent->first + '/' + path;
  return {path, names.size() - 1};
}

bj::array waitingOf(const kube::QueueStatus& status) {
  bj::array list;
  for (const kube::QueueWaiting& one : status.waiting)
    list.push_back(
        bj::object{{"reason", one.reason}, {"pods", one.pods}, {"example", one.example}});
  return list;
}

}  // namespace

const std::vector<std::string_view>& queueFields() {
  static const std::vector<std::string_view> fields{
      "id",       "name",    "parent",  "depth",     "path",  "namespaces",
      "pool",     "weight",  "borrows", "guarantee", "limit", "used",
      "borrowed", "running", "pending", "waiting",   "fault",
  };
  return fields;
}

Rows queueRows(const std::vector<kube::Queue>& queues) {
  std::map<std::string, const kube::Queue*> all;
  for (const kube::Queue& queue : queues) all[queue.meta.name] = &queue;
  Rows rows;
  for (const auto& [name, queue] : all) {
    const auto [path, depth] = pathOf(*queue, all);
    rows[name] =
        Row{{"id", name},
            {"name", name},
            {"parent", queue->parent.empty() ? bj::value(nullptr) : bj::value(queue->parent)},
            {"depth", depth},
            {"path", path},
            {"namespaces", bj::array(queue->namespaces.begin(), queue->namespaces.end())},
            {"pool", queue->pool.empty() ? bj::value(nullptr) : bj::value(queue->pool)},
            {"weight", queue->weight},
            {"borrows", queue->borrows},
            {"guarantee", amountsOf(queue->guarantee)},
            {"limit", amountsOf(queue->limit)},
            {"used", amountsOf(queue->status.used)},
            {"borrowed", amountsOf(borrowedOf(*queue))},
            {"running", queue->status.running},
            {"pending", queue->status.pending},
            {"waiting", waitingOf(queue->status)},
            {"fault", queue->status.fault}};
  }
  return rows;
}

const std::vector<std::string_view>& poolFields() {
  static const std::vector<std::string_view> fields{
      "id",
      "name",
      "devices",
      "free_devices",
      "memory_total_bytes",
      "memory_limits_bytes",
      "largest_free_bytes",
      "compute_requested_percent",
      "shares",
      "nodes",
      "namespaces",
  };
  return fields;
}

Rows poolRows(const ClusterReading& reading) {
  constexpr double kMilliOfPercent = 10;
  Rows rows;
  for (const ClusterPool& pool : reading.pools) {
    std::size_t devices = 0, free = 0, shares = 0;
    std::uint64_t total = 0, limits = 0, largest = 0, milli = 0;
    std::map<std::string, bool> nodes;
    for (const scheduler::DeviceUsage& device : reading.devices) {
      if (device.pool != pool.name) continue;
      ++devices;
      free += device.tenants == 0 ? 1 : 0;
      shares += device.tenants;
      total += device.memory.count;
      limits += device.promised.count;
      milli += device.promised_compute.milli;
      nodes[device.node] = true;
      if (device.healthy && !device.cordoned && device.memory.count > device.promised.count)
        largest = std::max(largest, device.memory.count - device.promised.count);
    }
    rows[pool.name] =
        Row{{"id", pool.name},
            {"name", pool.name},
            {"devices", devices},
            {"free_devices", free},
            {"memory_total_bytes", total},
            {"memory_limits_bytes", limits},
            {"largest_free_bytes", largest},
            {"compute_requested_percent", static_cast<double>(milli) / kMilliOfPercent},
            {"shares", shares},
            {"nodes", nodes.size()},
            {"namespaces", bj::array(pool.namespaces.begin(), pool.namespaces.end())}};
  }
  return rows;
}

}  // namespace divvy::console
