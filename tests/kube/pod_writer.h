// Pods as an API server writes them in protobuf, made of their JSON.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace divvy::kube {

// A list of pods ({"metadata": .., "items": [..]}) with its envelope. Members that have no field
// here are an exception: a test that means one would not mean it otherwise.
std::string podListBytes(const boost::json::value& list);

}  // namespace divvy::kube
