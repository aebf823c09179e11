// What kube-scheduler looks at itself before it asks about devices, as far as it is known here:
// whether a node takes new pods, its taints, what the pod selects nodes by, and what of processors,
// memory and the like is left. Not looked at: other pods' affinity, spread, volumes and ports.
// Pure.
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
  // `ours`: resources that are none of kube-scheduler's.
  explicit KubeFilters(std::function<bool(const std::string&)> ours) : ours_(std::move(ours)) {}

  // Objects as API servers have them.
  void setNode(const boost::json::value& node);
  // It takes what it asks for from that node, until it is ended.
  void setPod(const boost::json::value& pod, const std::string& node);
  void endPod(const std::string& uid);
  // In order of names.
  std::vector<std::string> nodes() const;
  // Whether it counts who is there already. kClearable: not of processors, memory and the number of
  // pods, which others would leave if they ended.
  enum class Full : std::uint8_t { kCounts, kClearable };
  // Why the pod cannot be there; empty: nothing that is looked at here is in the way.
  std::string whyNot(const boost::json::value& pod, const std::string& node,
                     Full full = Full::kCounts) const;

 private:
  // By resource; thousandths.
  using Amounts = std::map<std::string, std::int64_t>;
  struct Node {
    boost::json::value spec;
    boost::json::object labels;
    Amounts left;
  };
  struct Taken {
    std::string node;
    Amounts amounts;
  };

  Amounts askedBy(const boost::json::value& pod) const;
  void take(const Taken& taken, int sign);

  std::function<bool(const std::string&)> ours_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Taken> taken_;  // by UID
};

}  // namespace divvy::cli
