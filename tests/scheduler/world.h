// Nodes of every vendor, as their agents register them, and pods as users write them. Written by
// hand, by the documented forms: not by our codec.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "kube/node.h"
#include "kube/pod.h"
#include "vendors/catalog.h"

namespace divvy::scheduler {

using Texts = std::map<std::string, std::string>;

inline const vendors::Catalog& allVendors() {
  static const vendors::Catalog all = *vendors::Catalog::of(vendors::builtIn());
  return all;
}

// "hygon", "ascend-910B3", "cambricon" ...: every one has two devices, but for those whose devices
// come in larger numbers.
kube::Node nodeWith(const std::string& devices);
std::vector<std::string> allNodes();

// Containers of these limits, one each.
boost::json::value podObject(const std::vector<Texts>& limits, const Texts& annotations,
                             const std::vector<Texts>& init = {});
// Applies JSON patches that only add.
void apply(const boost::json::array& patch, boost::json::value* object);

}  // namespace divvy::scheduler
