#include "cache/node_table.h"

#include <algorithm>
#include <set>
#include <utility>

namespace divvy::scheduler {
namespace {

using UsageByModel = std::map<std::string, ModelUsage>;

void add(const std::string& model, std::int64_t milli, Bytes memory, UsageByModel* to) {
  ModelUsage& use = to->try_emplace(model, ModelUsage{model}).first->second;
  use.milli += milli;
  use.mebibytes += static_cast<std::int64_t>(memory.count / mib(1).count);
}

std::vector<ModelUsage> listOf(const UsageByModel& by_model) {
  std::vector<ModelUsage> list;
  list.reserve(by_model.size());
  for (const auto& [model, use] : by_model) list.push_back(use);
  return list;
}

}  // namespace

const CachedNode* NodeTable::find(std::string_view name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

const DeviceMetadataMap* NodeTable::devicesOf(const std::string& name) const {
  const CachedNode* found = find(name);
  return found == nullptr ? nullptr : &found->devices;
}

void NodeTable::set(const std::string& name, CachedNode node) {
  nodes_[name] = std::move(node);
  alike_.clear();
}

void NodeTable::cordon(const std::string& name, const kube::Node& said) {
  CachedNode& known = nodes_.at(name);
  known.said = said;
  known.node.cordoned = true;
}

void NodeTable::erase(const std::string& name) {
  nodes_.erase(name);
  faults_.erase(name);
  alike_.clear();
}

const std::vector<std::vector<std::string>>& NodeTable::alike() {
  if (!alike_.empty()) return alike_;
  // By kinds, models and memory of their devices.
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [name, known] : nodes_) {
    std::set<std::string> devices;
    for (const engine::Device& one : known.node.devices)
      devices.insert(one.kind.text + '/' + one.model.text + '/' + std::to_string(one.memory.count));
    std::string key;
    for (const std::string& one : devices) key += one + ';';
    groups[key].push_back(name);
  }
  for (auto& [key, names] : groups) {
    std::sort(names.begin(), names.end());
    alike_.push_back(std::move(names));
  }
  return alike_;
}

std::vector<ModelUsage> NodeTable::usageOf(const engine::Placement& placement) const {
  UsageByModel by_model;
  const CachedNode* node = find(placement.node.text);
  for (const engine::Charge& charge : placement.charges) {
    std::string model;
    if (node != nullptr)
      for (const engine::Device& device : node->node.devices)
        if (device.uuid == charge.uuid) model = device.model.text;
    add(model, charge.compute.milli, charge.memory, &by_model);
  }
  return listOf(by_model);
}

std::vector<ModelUsage> NodeTable::capacity() const {
  UsageByModel by_model;
  for (const auto& [name, node] : nodes_)
    for (const engine::Device& device : node.node.devices)
      add(device.model.text, device.compute.milli, device.memory, &by_model);
  return listOf(by_model);
}

void NodeTable::setFault(const std::string& name, const std::string& why) {
  faults_[name] = why;
}

void NodeTable::close(const std::string& name, const std::string& uid, const std::string& why) {
  closed_[name][uid] =
      "closed for new shares: the allocation of a pod there cannot be read (" + why + ')';
}

std::vector<std::string> NodeTable::open(const std::string& uid, const std::string& but) {
  std::vector<std::string> opened;
  for (auto at = closed_.begin(); at != closed_.end();) {
    if (at->first == but || at->second.erase(uid) == 0 || !at->second.empty()) {
      ++at;
      continue;
    }
    faults_.erase(at->first);
    opened.push_back(at->first);
    at = closed_.erase(at);
  }
  return opened;
}

engine::Node NodeTable::shown(const std::string& name) {
  engine::Node node = nodes_.at(name).node;
  const auto closed = closed_.find(name);
  if (closed == closed_.end()) return node;
  node.cordoned = true;
  faults_[name] = closed->second.begin()->second;
  return node;
}

}  // namespace divvy::scheduler
