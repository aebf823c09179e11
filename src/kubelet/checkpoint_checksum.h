// The checksum that a kubelet writes beside what its checkpoint holds: 32 bits of FNV-1a over that
// data as Go's spew prints it, types and all. Source: pkg/kubelet/checkpointmanager/checksum and
// pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes 1.30 to 1.34, where nothing of it changed.
// Pure. Private.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json.hpp>

namespace divvy::kubelet {

// Of the member Data. None: it has other members than those versions write, or of another form:
// what another version would have made of it nobody here knows.
std::optional<std::uint32_t> checksumOf(const boost::json::value& data);

}  // namespace divvy::kubelet
