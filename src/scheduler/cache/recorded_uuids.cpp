#include "cache/recorded_uuids.h"

#include <algorithm>
#include <iterator>

namespace divvy::scheduler {
namespace {

constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool isUnique(std::string_view id) {
  if (id.size() < kForm.size()) return false;
  id.remove_prefix(id.size() - kForm.size());
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  return std::equal(id.begin(), id.end(), kForm.begin(), [&](char given, char form) {
    return form == 'x' ? kDigits.find(given) != kDigits.npos : given == form;
  });
}

std::set<std::string> uniqueOf(const kube::Inventory& inventory) {
  std::set<std::string> uuids;
  for (const kube::InventoryModel& one : inventory.models)
    std::copy_if(one.uuids.begin(), one.uuids.end(), std::inserter(uuids, uuids.end()), isUnique);
  return uuids;
}

using Index = std::unordered_map<std::string, std::set<std::string>>;

void erase(Index* index, const std::string& uuid, const std::string& node) {
  const auto at = index->find(uuid);
  if (at == index->end()) return;
  at->second.erase(node);
  if (at->second.empty()) index->erase(at);
}

}  // namespace

std::vector<std::string> RecordedUuids::set(const std::string& name,
                                            const NodeInventory& inventory) {
  Node now;
  if (inventory.inventory) {
    now.has = uniqueOf(*inventory.inventory);
    for (const std::string& uuid : uniqueOf(inventory.registered))
      if (!now.has.contains(uuid)) now.lacks.insert(uuid);
  }
  Node& before = nodes_[name];
  for (const std::string& uuid : before.lacks) erase(&lacking_, uuid, name);
  for (const std::string& uuid : now.lacks) lacking_[uuid].insert(name);
  std::set<std::string> changed;
  std::set_symmetric_difference(before.has.begin(), before.has.end(), now.has.begin(),
                                now.has.end(), std::inserter(changed, changed.end()));
  std::set<std::string> concerned;
  for (const std::string& uuid : changed) {
    if (now.has.contains(uuid))
      owners_[uuid].insert(name);
    else
      erase(&owners_, uuid, name);
    if (const auto lacking = lacking_.find(uuid); lacking != lacking_.end())
      concerned.insert(lacking->second.begin(), lacking->second.end());
  }
  concerned.erase(name);
  before = std::move(now);
  if (before.has.empty() && before.lacks.empty()) nodes_.erase(name);
  return {concerned.begin(), concerned.end()};
}

std::vector<std::string> RecordedUuids::remove(const std::string& node) {
  return set(node, NodeInventory{});
}

RecordedElsewhere RecordedUuids::elsewhereThan(const std::string& node) const {
  return [this, node](const std::string& uuid) -> std::string {
    const auto owners = owners_.find(uuid);
    if (owners == owners_.end()) return {};
    const auto other = std::find_if(owners->second.begin(), owners->second.end(),
                                    [&](const std::string& one) { return one != node; });
    return other == owners->second.end() ? std::string() : *other;
  };
}

}  // namespace divvy::scheduler
