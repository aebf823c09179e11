// The kubelet's own note of whose devices are which: the only place that tells of containers that
// come before a pod's others and end. Source: its device manager's kubelet_internal_checkpoint,
// which is not an interface: whatever of it is not understood is an error, and never a guess.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::kubelet {

// What the kubelet gave one container of one resource, when its pod came.
struct CheckpointEntry {
  std::string uid;  // the pod's
  std::string container;
  std::string resource;
  std::vector<std::string> ids;  // ascending
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

// In the kubelet's folder of device plugins.
inline constexpr const char* kCheckpointName = "kubelet_internal_checkpoint";

// kCorrupt: what is wrong, and where. `doubt`: that its checksum is not that of what it says, where
// it has the form of Kubernetes 1.30 to 1.34; empty: nothing speaks against it. A later version may
// sum in another way, so that by itself this is no reason to refuse a container.
Result<std::vector<CheckpointEntry>> checkpointOf(std::string_view text,
                                                  std::string* doubt = nullptr);
// kNotFound: there is none; kIo: it cannot be read; kCorrupt. Names the file, as does `doubt`.
Result<std::vector<CheckpointEntry>> readCheckpoint(KubeletDirs& sockets,
                                                    std::string* doubt = nullptr);

// Those who have exactly these, in the order in which they are noted.
std::vector<CheckpointEntry> notedWith(const std::vector<CheckpointEntry>& noted,
                                       const std::string& resource,
                                       const std::vector<std::string>& ids);

}  // namespace divvy::kubelet
