#include "view/cluster_list_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/json.hpp>

#include "view/table.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using scheduler::DeviceUsage;

std::string percentWord(engine::Compute compute) {
  const std::int32_t tenths = compute.milli % 10;
  return std::to_string(compute.milli / 10) +
         (tenths == 0 ? "" : "." + std::to_string(tenths < 0 ? -tenths : tenths)) + "%";
}

std::string partWord(std::uint64_t of, std::uint64_t all) {
  return all == 0 ? "" : std::to_string(of * 100 / all) + "%";
}

DeviceUsage sumOf(const std::vector<DeviceUsage>& devices) {
  DeviceUsage sum;
  for (const DeviceUsage& one : devices) {
    sum.memory.count += one.memory.count;
    sum.promised.count += one.promised.count;
    sum.compute.milli += one.compute.milli;
    sum.promised_compute.milli += one.promised_compute.milli;
    sum.tenants += one.tenants;
    sum.slots += one.slots;
  }
  return sum;
}

// Why no new tenant goes there; empty: one may.
std::string closedWord(const DeviceUsage& device) {
  if (device.cordoned) return device.healthy ? "cordoned" : "unhealthy,cordoned";
  return device.healthy ? "" : "unhealthy";
}

std::vector<std::string> cellsOf(const DeviceUsage& device, const std::string& index, bool pooled,
                                 bool closed) {
  std::vector<std::string> cells{
      device.node,
      index,
      device.model,
      sizeWord(device.memory.count),
      sizeWord(device.promised.count),
      partWord(device.promised.count, device.memory.count),
      percentWord(device.promised_compute),
      std::to_string(device.tenants) + "/" + std::to_string(device.slots)};
  if (pooled) cells.push_back(device.pool);
  if (closed) cells.push_back(closedWord(device));
  cells.push_back(device.uuid);
  return cells;
}

json::object jsonOf(const ClusterShare& share) {
  json::object one{{"namespace", share.namespace_name}, {"pod", share.pod}, {"state", share.state}};
  if (!share.reason.empty()) one["reason"] = share.reason;
  if (share.container.empty()) return one;
  one["container"] = share.container;
  one["node"] = share.node;
  one["index"] = share.index;
  one["uuid"] = share.uuid;
  one["model"] = share.model;
  one["memory"] = share.memory.count;
  one["cores_permille"] = share.compute.milli;
  return one;
}

json::array arrayOf(const std::vector<const ClusterShare*>& shares) {
  json::array list;
  for (const ClusterShare* one : shares) list.push_back(jsonOf(*one));
  return list;
}

}  // namespace

std::string clusterDevicesText(const std::vector<DeviceUsage>& devices, bool headers,
                               std::size_t width) {
  const bool pooled = std::any_of(devices.begin(), devices.end(),
                                  [](const DeviceUsage& one) { return !one.pool.empty(); });
  const bool closed = std::any_of(devices.begin(), devices.end(),
                                  [](const DeviceUsage& one) { return !closedWord(one).empty(); });
  std::vector<std::string> columns{"NODE",       "INDEX>", "MODEL",  "MEMORY>",
                                   "ALLOCATED>", "?PART>", "CORES>", "SHARES>"};
  if (pooled) columns.push_back("POOL");
  if (closed) columns.push_back("CLOSED");
  columns.push_back("UUID");
  Table table(columns);
  for (const DeviceUsage& one : devices)
    table.add(cellsOf(one, std::to_string(one.index), pooled, closed));
  // In output for programs the sum must not be mistaken for a device.
  if (headers && devices.size() > 1) {
    DeviceUsage sum = sumOf(devices);
    sum.node = "total";
    sum.model = std::to_string(devices.size()) + " devices";
    table.add(cellsOf(sum, "", pooled, closed));
  }
  return table.text(headers, width);
}

std::string clusterDevicesJson(const std::vector<DeviceUsage>& devices,
                               const std::vector<ClusterShare>& shares) {
  std::map<std::pair<std::string, std::string>, std::vector<const ClusterShare*>> by_device;
  for (const ClusterShare& one : shares)
    if (!one.container.empty()) by_device[{one.node, one.uuid}].push_back(&one);
  json::array list;
  for (const DeviceUsage& one : devices) {
    list.push_back(json::object{{"node", one.node},
                                {"index", one.index},
                                {"uuid", one.uuid},
                                {"model", one.model},
                                {"kind", one.kind},
                                {"pool", one.pool},
                                {"healthy", one.healthy},
                                {"cordoned", one.cordoned},
                                {"memory", one.memory.count},
                                {"allocated", one.promised.count},
                                {"cores_permille", one.compute.milli},
                                {"allocated_cores_permille", one.promised_compute.milli},
                                {"slots", one.slots},
                                {"tenants", one.tenants},
                                {"shares", arrayOf(by_device[{one.node, one.uuid}])}});
  }
  return json::serialize(list) + '\n';
}

std::string clusterSharesText(const std::vector<ClusterShare>& shares, bool headers,
                              std::size_t width) {
  Table table({"NAMESPACE", "POD", "?CONTAINER", "NODE", "DEVICE>", "?MODEL", "MEMORY>", "CORES>",
               "STATE", "REASON"});
  for (const ClusterShare& one : shares) {
    const bool waits = one.container.empty();
    table.add({one.namespace_name, one.pod, one.container, one.node,
               waits ? "" : std::to_string(one.index), one.model,
               waits ? "" : sizeWord(one.memory.count), waits ? "" : percentWord(one.compute),
               one.state, one.reason});
  }
  return table.text(headers, width);
}

std::string clusterSharesJson(const std::vector<ClusterShare>& shares) {
  std::vector<const ClusterShare*> all;
  for (const ClusterShare& one : shares) all.push_back(&one);
  return json::serialize(arrayOf(all)) + '\n';
}

}  // namespace divvy::cli
