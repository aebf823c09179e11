// Redacted objects for a bundle: only the members named here. Pure.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace divvy::doctor {

// Returns whether an annotation or label is about devices: Divvy's, HAMi's, NVIDIA's.
bool isAboutDevices(std::string_view key);

// Keeps name, labels and annotations about devices, amounts, versions, conditions and taints.
boost::json::object nodeExcerpt(const boost::json::value& node);
// Keeps name, node, phase, scheduler, gates, requests of containers, annotations about devices and
// conditions. Drops image, command, arguments, environment and volumes.
boost::json::object podExcerpt(const boost::json::value& pod);
boost::json::object leaseExcerpt(const boost::json::value& lease);
// Keeps the data if the label is Divvy's; else only the name.
boost::json::object configMapExcerpt(const boost::json::value& map);
// Returns whether an event is kept: the scheduler's, and a kubelet's that refused a pod for its
// devices. Other events of pods may hold their commands.
bool isTold(const boost::json::value& event);
boost::json::object eventExcerpt(const boost::json::value& event);

}  // namespace divvy::doctor
