// Checksum of the kubelet's checkpoint: 32-bit FNV-1a over the data as Go's spew prints it, with
// types. Source: pkg/kubelet/checkpointmanager/checksum and pkg/kubelet/cm/devicemanager/checkpoint
// of Kubernetes 1.30 to 1.34, which are the same in all of them. Pure. Private.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json.hpp>

namespace divvy::kubelet {

// Returns the checksum of the member Data. Returns nothing if it has other members than these
// versions write, or another form: the checksum that another version computes is unknown here.
std::optional<std::uint32_t> checksumOf(const boost::json::value& data);

}  // namespace divvy::kubelet
