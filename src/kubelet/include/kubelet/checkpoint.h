// The kubelet's checkpoint of allocated devices. It is the only source for init containers that end
// before the pod's other containers start. Source: the kubelet's device manager,
// kubelet_internal_checkpoint. That file is no interface, so an unknown form is an error and never
// a guess.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// Device IDs of one resource that the kubelet allocated to a container when its pod was admitted.
struct CheckpointEntry {
  std::string uid;  // of the pod
  std::string container;
  std::string resource;
  std::vector<std::string> ids;  // ascending
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

// File name in the kubelet's folder of device plugins.
inline constexpr const char* kCheckpointName = "kubelet_internal_checkpoint";

// Decodes a checkpoint. kCorrupt names fault and place. `doubt` is set if the checksum does not
// match a checkpoint in the form of Kubernetes 1.30 to 1.34; otherwise it is empty. A later version
// may use another checksum, so a mismatch alone is no reason to refuse a container.
Result<std::vector<CheckpointEntry>> checkpointOf(std::string_view text,
                                                  std::string* doubt = nullptr);
// Reads the kubelet's checkpoint, at most 16 MiB. kNotFound: there is none. kIo: it cannot be read.
// kCorrupt: as checkpointOf(). Errors and `doubt` name the file.
Result<std::vector<CheckpointEntry>> readCheckpoint(KubeletDirs& sockets,
                                                    std::string* doubt = nullptr);

// Returns the entries of a resource with exactly these device IDs, in the checkpoint's order.
std::vector<CheckpointEntry> notedWith(const std::vector<CheckpointEntry>& noted,
                                       const std::string& resource,
                                       const std::vector<std::string>& ids);

}  // namespace divvy::kubelet
