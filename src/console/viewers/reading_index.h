// Where a reading of a cluster has the objects of each namespace. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "console/cluster_source.h"
#include "console/viewer.h"

namespace divvy::console {

// Finds the objects of a scope without a look at those of others. Refers to the reading.
class ReadingIndex {
 public:
  explicit ReadingIndex(const ClusterReading& reading);

  const ClusterReading& reading() const { return *reading_; }

  // Copies, in the order of the reading.
  std::vector<ClusterPodView> pods(const NamespaceScope& scope) const;
  std::vector<scheduler::AllocatedShare> shares(const NamespaceScope& scope) const;
  std::vector<ClusterEvent> events(const NamespaceScope& scope) const;
  std::map<ShareUseKey, ShareUse> shareUse(const NamespaceScope& scope) const;
  // The devices that these shares are on.
  std::vector<scheduler::DeviceUsage> devicesOf(
      const std::vector<scheduler::AllocatedShare>& shares) const;

 private:
  using Places = std::vector<std::size_t>;
  using ByNamespace = std::map<std::string, Places, std::less<>>;

  const ClusterReading* reading_;
  ByNamespace pods_, shares_, events_;
  std::unordered_map<std::string, std::size_t> devices_;  // by NODE/UUID
};

}  // namespace divvy::console
