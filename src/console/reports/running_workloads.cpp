#include "reports/running_workloads.h"

#include <algorithm>

#include <boost/json.hpp>

#include "reports/right_size.h"
#include "rows/workload_key.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

std::string textOf(const bj::value& value) {
  return value.is_string() ? std::string(value.get_string()) : std::string();
}

std::string memberText(const ListRow& row, const char* member) {
  return textOf(row.at(member));
}

std::optional<std::uint64_t> numberOf(const bj::value& value) {
  return value.is_number() ? std::optional(value.to_number<std::uint64_t>()) : std::nullopt;
}

std::optional<std::uint64_t> bytesOf(const bj::value& part, const char* member) {
  return numberOf(part.at(member));
}

std::optional<std::uint64_t> usedOf(const bj::value& part) {
  const auto used = bytesOf(part, "used_bytes");
  const auto resident = bytesOf(part, "resident_bytes"), swapped = bytesOf(part, "swapped_bytes");
  if (!resident || !swapped) return used;
  return std::max(used.value_or(0), *resident + *swapped);
}

void addPart(const bj::value& part, const SharedRows& devices, RunningWorkload& workload) {
  RunningWorkload::Part added;
  added.limit_bytes = bytesOf(part, "limit_bytes").value_or(0);
  added.cores_percent = part.at("cores_percent").to_number<double>();
  added.model = textOf(part.at("model"));
  const auto device = devices.find(textOf(part.at("id")));
  if (device != devices.end())
    added.device_bytes = numberOf(device->second->at("memory_total_bytes")).value_or(0);
  workload.limit_bytes = std::max(workload.limit_bytes, added.limit_bytes);
  workload.cores_percent = std::max(workload.cores_percent, added.cores_percent);
  if (const auto used = usedOf(part))
    workload.used_bytes = std::max(workload.used_bytes.value_or(0), *used);
  workload.parts.push_back(std::move(added));
}

void addShare(const ListRow& share, const SharedRows& devices, RunningWorkload& workload) {
  const std::optional<std::uint64_t> idle = numberOf(share.at("idle_ms"));
  const bool first = workload.shares++ == 0;
  if (first || !idle)
    workload.idle_ms = idle;
  else if (workload.idle_ms)
    workload.idle_ms = std::min(*workload.idle_ms, *idle);
  for (const bj::value& part : share.at("devices").get_array()) addPart(part, devices, workload);
}

void addClusterNames(const ListRow& share, RunningWorkload& workload) {
  workload.namespace_name = memberText(share, "namespace");
  workload.owner = memberText(share, "owner");
  workload.container = memberText(share, "container");
  workload.team = memberText(share, "team");
  workload.queue = memberText(share, "queue");
  if (reservesMemory(memberText(share, "image"))) workload.engine_reserves = true;
}

}  // namespace

RunningWorkloads runningWorkloads(const SharedRows& shares, const SharedRows& devices,
                                  bool of_cluster, const std::string& namespace_name) {
  RunningWorkloads all;
  for (const auto& [id, share] : shares) {
    if (memberText(*share, "state") != "running") continue;
    if (!namespace_name.empty() && memberText(*share, "namespace") != namespace_name) continue;
    RunningWorkload& workload = all[of_cluster ? clusterWorkloadKey(*share)
                                               : localWorkloadKey(memberText(*share, "name"),
                                                                  memberText(*share, "tenant"))];
    addShare(*share, devices, workload);
    if (of_cluster) {
      addClusterNames(*share, workload);
      continue;
    }
    for (const bj::value& word : share->at("command").get_array())
      if (reservesMemory(textOf(word))) workload.engine_reserves = true;
  }
  return all;
}

}  // namespace divvy::console
