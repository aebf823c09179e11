// The edits of a container with devices, and the paths in it. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/container_edits.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "container/driver_libraries.h"
#include "device/inventory.h"
#include "kubelet/device_plugin.h"

namespace divvy::agent {

// In a container. The interposer searches for the pages there by itself.
inline constexpr const char* kTenantInside = "/run/divvy/tenant";
inline constexpr const char* kRegistrarInside = "/run/divvy/reg/register.sock";

// The place of a tenant's files, and which of them exist.
struct TenantFiles {
  std::string dir;
  bool swapped = false;  // some of its memory may be swapped
};

// Plain mounts, which every runtime supports: pages, registrar, libraries, and with simulated cards
// their driver. Without real cards and their driver.
ContainerEdits editsFor(const TenantFiles& tenant, const Node& node, const NodePaths& paths,
                        const InstallLayout& install);

// Adds the driver of real cards and these cards' device nodes, and no others: disables the
// additions of a toolkit.
void addDriver(const DriverLibraries& driver, ContainerEdits* edits);

// For the kubelet. The tenant's files need not exist yet. Whether its memory is ever swapped is not
// known, so all of them are mounted. `tenant`: ID. `visible`: cards that the runtime shows, all but
// excluded cards. Which of them the container has is not known when the kubelet asks; the
// interposer reports it.
kubelet::Injection injectionFor(const std::string& tenant, const Node& node, const NodePaths& paths,
                                const InstallLayout& install, const std::string& visible = "all");

// The value of NVIDIA_VISIBLE_DEVICES: "all", or the cards that are not excluded.
std::string visibleIn(const std::vector<Device>& devices);

// The contents of /etc/ld.so.preload in a container.
std::string preloadListInside();

// The tenant's ID for a container's device IDs, the same for any order of them: its pod is known
// only later. `resource`: counts the IDs; several resources may have the same IDs.
std::string tenantIdFor(std::vector<std::string> ids, const std::string& resource);

// Whether the kubelet got all of these IDs from us, for any cards. Otherwise another plugin served
// the node before. IDs of NVIDIA's replicas have the form of ours.
bool areOurs(const std::vector<std::string>& ids);

// "GPU-...::0" to "::N-1": the kubelet's device IDs of one card.
std::vector<kubelet::Device> unitsOf(const std::string& uuid, int numa, unsigned count);

}  // namespace divvy::agent
