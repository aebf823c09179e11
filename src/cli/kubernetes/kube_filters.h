// The filters of kube-scheduler before it asks about devices, as far as they are known here. They
// are: whether a node takes new pods, taints, node selection, and free CPU, memory and other
// resources. Not considered: affinity to other pods, spread, volumes and ports. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace divvy::cli {

class KubeFilters {
 public:
  // `ours`: resources that kube-scheduler does not count.
  explicit KubeFilters(std::function<bool(const std::string&)> ours) : ours_(std::move(ours)) {}

  // Adds or updates a node; objects are as API servers return them.
  void setNode(const boost::json::value& node);
  void removeNode(const std::string& name);
  // Subtracts the pod's requests from the node, until endPod().
  void setPod(const boost::json::value& pod, const std::string& node);
  void endPod(const std::string& uid);
  // Ascending by name.
  std::vector<std::string> nodes() const;
  // Whether running pods count. kClearable: not for CPU, memory and the number of pods, which these
  // pods would free.
  enum class FullNodes : std::uint8_t { kCounts, kClearable };
  // Returns why the pod cannot be on the node; empty: no filter here refuses it.
  std::string whyNot(const boost::json::value& pod, const std::string& node,
                     FullNodes full = FullNodes::kCounts) const;

 private:
  // Thousandths, by resource.
  using Amounts = std::map<std::string, std::int64_t>;
  struct Node {
    boost::json::value spec;
    boost::json::object labels;
    Amounts allocatable;
  };
  struct PodUsage {
    std::string node;
    Amounts amounts;
  };

  Amounts requestsOf(const boost::json::value& pod) const;
  void charge(const PodUsage& taken, int sign);
  std::int64_t left(const std::string& node, const std::string& resource) const;

  std::function<bool(const std::string&)> ours_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Amounts> used_;    // by node
  std::map<std::string, PodUsage> taken_;  // by UID
};

}  // namespace divvy::cli
