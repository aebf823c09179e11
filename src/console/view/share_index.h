// The shares of a reading, by their common properties. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "rows/cluster_rows.h"

namespace divvy::console {

// Refers to the reading, which has to stay where it is.
class ShareIndex {
 public:
  explicit ShareIndex(const ClusterReading& reading);
  ShareIndex(const ShareIndex&) = delete;
  ShareIndex& operator=(const ShareIndex&) = delete;

  const ClusterReading& reading() const { return reading_; }
  const std::vector<ContainerShare>& all() const { return shares_; }
  // The shares on a device, and their number on a node.
  const std::vector<const ContainerShare*>& on(const scheduler::DeviceUsage& device) const;
  std::size_t onNode(const std::string& node) const;
  // Null: not known.
  const DeviceUse* useOf(const scheduler::DeviceUsage& device) const;

  // Returns whether `other` has this share, or this device, and its row would be the same.
  bool isSameIn(const ShareIndex& other, const ContainerShare& share) const;
  bool isSameIn(const ShareIndex& other, const scheduler::DeviceUsage& device) const;

 private:
  void add(const scheduler::AllocatedShare& share);
  const ShareUse* useOf(const ClusterPodView& pod, const std::string& container,
                        const std::string& device) const;

  const ClusterReading& reading_;
  std::unordered_map<std::string, const scheduler::DeviceUsage*> devices_;  // by NODE/UUID
  std::unordered_map<std::string, const ClusterPodView*> pods_;             // by NAMESPACE/POD
  std::unordered_map<std::string, std::size_t> places_;                     // of shares, by id
  std::vector<ContainerShare> shares_;
  std::unordered_map<const scheduler::DeviceUsage*, std::vector<const ContainerShare*>> by_device_;
  std::map<std::string, std::size_t> by_node_;
};

}  // namespace divvy::console
