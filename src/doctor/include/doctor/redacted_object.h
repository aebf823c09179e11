// Of objects of an API server what a bundle has: only what is named here. Pure.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace divvy::doctor {

// Annotations and labels that are about devices: Divvy's, HAMi's, NVIDIA's.
bool isAboutDevices(std::string_view key);

// Name, labels and annotations about devices, amounts, versions, conditions, taints.
boost::json::object nodeExcerpt(const boost::json::value& node);
// Name, node, phase, scheduler, gates, what its containers ask for, annotations about devices,
// conditions. No image, command, argument, environment, volume.
boost::json::object podExcerpt(const boost::json::value& pod);
boost::json::object leaseExcerpt(const boost::json::value& lease);
// Its data, if it is Divvy's own by its label; else nothing but its name.
boost::json::object configMapExcerpt(const boost::json::value& map);
// Whether an event is to be in it: the scheduler's, or a kubelet's that refused a pod for its
// devices. What else is told of pods may hold their commands.
bool isTold(const boost::json::value& event);
boost::json::object eventExcerpt(const boost::json::value& event);

}  // namespace divvy::doctor
