#include "annotations/assignment.h"

#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>

#include "annotations/share.h"
#include "kube/assignment.h"
#include "kube/instances.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr std::int64_t kPerSecond = 1'000'000'000;

// A share with its device, and its form in the assignment.
struct Given {
  const engine::Share* share = nullptr;
  const DeviceMetadata* device = nullptr;
  kube::AssignedDevice said;
};

// The shares of one kind, by container.
using Gift = std::vector<std::vector<Given>>;

struct Writing {
  const engine::Placement& placement;
  const std::vector<std::string>& containers;
  std::int64_t nanoseconds = 0;
};

std::string wordOf(std::string_view name, const Writing& writing, const Given* given) {
  if (name == "node") return writing.placement.node.text;
  if (name == "seconds") return std::to_string(writing.nanoseconds / kPerSecond);
  if (name == "nanoseconds") return std::to_string(writing.nanoseconds);
  if (given == nullptr) return "";
  if (name == "index") return std::to_string(given->device->index);
  if (name == "minor") return given->device->minor;
  if (name == "uuid") return given->said.uuid;
  if (name == "cores") return std::to_string(given->said.cores);
  if (name == "mebibytes") return std::to_string(given->said.mebibytes);
  if (name == "size") return given->share->part.text;
  if (name == "units")
    return std::to_string(given->share->memory.count / given->device->kind->memory.unit.count);
  return "";
}

std::string each(const Gift& gift, const std::function<std::string(const Given&)>& text) {
  std::string all;
  std::set<std::string> seen;
  for (const auto& container : gift) {
    for (const Given& one : container) {
      const std::string said = text(one);
      if (!said.empty() && seen.insert(said).second) all += (all.empty() ? "" : ",") + said;
    }
  }
  return all;
}

const Given* firstOf(const Gift& gift) {
  for (const auto& container : gift)
    if (!container.empty()) return &container.front();
  return nullptr;
}

// ---- forms without a template -------------------------------------------------------------------

std::string ascend(const Gift& gift) {
  json::array list;
  for (const auto& container : gift) {
    for (const Given& one : container) {
      json::object device{{"UUID", one.said.uuid}};
      if (!one.share->part.empty()) device["temp"] = one.share->part.text;
      device["memory"] = one.said.mebibytes;
      if (one.said.cores > 0) device["core"] = one.said.cores;
      list.push_back(std::move(device));
    }
  }
  return json::serialize(list);
}

std::string metax(const Gift& gift) {
  json::array list;
  for (const auto& container : gift) {
    json::array devices;
    for (const Given& one : container) {
      json::object device{{"uuid", one.said.uuid}};
      if (one.said.cores > 0) device["compute"] = one.said.cores;
      if (one.said.mebibytes > 0) device["vRam"] = one.said.mebibytes;
      devices.push_back(std::move(device));
    }
    list.push_back(std::move(devices));
  }
  return json::serialize(list);
}

std::string enflame(const Gift& gift, const std::vector<std::string>& containers) {
  json::object all;
  for (std::size_t at = 0; at < gift.size() && at < containers.size(); ++at) {
    if (gift[at].empty()) continue;
    const Given& one = gift[at].front();
    json::object said{{"allocated", false}};
    const std::string& size = one.share->part.text;
    boost::system::error_code fault;
    const json::value request = json::parse(size, fault);
    if (!fault) said["request"] = request;
    const auto profile = one.device->profiles.find(size);
    if (profile != one.device->profiles.end()) {
      said["profileID"] = profile->second.second;
      said["profileName"] = profile->second.first;
    }
    all[containers[at]] = std::move(said);
  }
  return json::serialize(all);
}

bool someCores(const Given& one) {
  return one.share->compute < engine::kWholeDevice;
}

std::string neuronIds(const Given& one) {
  if (!someCores(one)) return std::to_string(one.device->index);
  std::string ids;
  for (std::uint32_t core = 0; core < one.share->size; ++core)
    ids += (core == 0 ? "" : ",") +
           std::to_string(one.device->index * one.device->kind->cores.per_card + one.share->start +
                          core);
  return ids;
}

std::string formOf(const std::string& form, const Gift& gift,
                   const std::vector<std::string>& containers) {
  if (form == "ascend") return ascend(gift);
  if (form == "metax") return metax(gift);
  if (form == "enflame") return enflame(gift, containers);
  if (form == "neuron-ids") return each(gift, neuronIds);
  const Given* first = firstOf(gift);
  if (form == "neuron-resource" && first != nullptr && someCores(*first))
    return first->device->kind->cores.resource;
  return "";
}

std::string textOf(const vendors::AssignmentAnnotation& written, const Gift& gift,
                   const Writing& writing) {
  const auto filled = [&](const Given* given) {
    return vendors::fill(written.text,
                         [&](std::string_view name) { return wordOf(name, writing, given); });
  };
  switch (written.of) {
    case vendors::AssignmentAnnotation::Scope::kPod:
      return filled(nullptr);
    case vendors::AssignmentAnnotation::Scope::kFirst:
      return filled(firstOf(gift));
    case vendors::AssignmentAnnotation::Scope::kEach:
      return each(gift, [&](const Given& one) { return filled(&one); });
    case vendors::AssignmentAnnotation::Scope::kForm:
      return formOf(written.text, gift, writing.containers);
  }
  return "";
}

std::string instancesOf(const Gift& gift) {
  std::vector<kube::AssignedInstance> instances;
  for (std::size_t at = 0; at < gift.size(); ++at) {
    for (std::size_t i = 0; i < gift[at].size(); ++i) {
      const engine::Share& share = *gift[at][i].share;
      if (share.part.empty() || share.size == 0) continue;
      instances.push_back({at, i, share.uuid.text, share.part.text, share.start, share.size});
    }
  }
  return instances.empty() ? "" : kube::encode(instances);
}

void write(const vendors::Kind& kind, const Gift& gift, const Writing& writing, kube::Labels* out) {
  kube::Assignment assignment;
  for (const auto& container : gift) {
    assignment.emplace_back();
    for (const Given& one : container) assignment.back().push_back(one.said);
  }
  const vendors::PodDialect& wire = kind.wire.pod;
  const std::string text = kube::encode(assignment);
  const auto put = [&](const std::string& key, const std::string& value) {
    if (!key.empty() && !value.empty()) out->insert_or_assign(key, value);
  };
  put(wire.to_allocate, text);
  put(wire.allocated, text);
  put(wire.instances, instancesOf(gift));
  for (const vendors::AssignmentAnnotation& one : wire.further)
    put(one.key, textOf(one, gift, writing));
}

}  // namespace

kube::Labels annotationsOf(const engine::Placement& placement, const DeviceMetadataMap& devices,
                           const std::vector<std::string>& containers, std::int64_t nanoseconds) {
  std::map<std::string, Gift> gifts;
  for (std::size_t at = 0; at < placement.containers.size(); ++at) {
    for (const engine::Share& share : placement.containers[at]) {
      const auto device = devices.find(share.uuid.text);
      if (device == devices.end() || device->second.own_plugin) continue;
      Gift& gift = gifts[device->second.kind->name];
      gift.resize(placement.containers.size());
      gift[at].push_back({&share, &device->second, assignedOf(share, device->second)});
    }
  }
  kube::Labels out;
  const Writing writing{placement, containers, nanoseconds};
  for (const auto& [name, gift] : gifts) write(*firstOf(gift)->device->kind, gift, writing, &out);
  const std::string now = std::to_string(nanoseconds / kPerSecond);
  if (!placement.pool.empty()) out.emplace(kAssignedPool, placement.pool.text);
  out.emplace(kAssignedNode, placement.node.text);
  out.emplace(kAssignedTime, now);
  out.emplace(kBindPhase, "allocating");
  out.emplace(kBindTime, now);
  return out;
}

}  // namespace divvy::scheduler
