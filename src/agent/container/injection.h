// What a container with devices gets, and where it finds it. Pure.
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

// In a container. The interposer looks for the pages there by itself.
inline constexpr const char* kTenantInside = "/run/divvy/tenant";
inline constexpr const char* kRegistrarInside = "/run/divvy/reg/register.sock";

// Where the files of a tenant are, and which of them there are.
struct TenantFiles {
  std::string dir;
  bool swapped = false;  // some of its memory may be
};

// By plain mounts, which every runtime has: pages, registrar, libraries, and with simulated cards
// their driver. Real cards and their driver are not in it.
ContainerEdits editsFor(const TenantFiles& tenant, const Node& node, const NodePaths& paths,
                        const InstallLayout& install);

// The driver of real cards and these cards' device nodes, and no others: what a toolkit would add
// by itself is called off.
void addDriver(const DriverLibraries& driver, ContainerEdits* edits);

// For the kubelet; the tenant's files need not be there yet, nor is it known whether any of its
// memory is ever swapped: it is given all of them. `tenant`: id. All cards but excluded ones are
// visible to the runtime (`visible`): which of them the container has is not known when the kubelet
// asks, and told by the interposer.
kubelet::Injection injectionFor(const std::string& tenant, const Node& node, const NodePaths& paths,
                                const InstallLayout& install, const std::string& visible = "all");

// As NVIDIA_VISIBLE_DEVICES has them: "all", or those that are not excluded.
std::string visibleIn(const std::vector<Device>& devices);

// What /etc/ld.so.preload says in a container.
std::string preloadListInside();

// Of a container's device ids, in whatever order, always the same: which pod's it is shows later.
// `resource`: by which they are counted; units of several resources may have the same ids.
std::string tenantIdFor(std::vector<std::string> ids, const std::string& resource);

// Whether the kubelet had all of these from us, of whatever cards; else of another plugin that
// served the node before. Replicas of NVIDIA's are called as ours are.
bool areOurs(const std::vector<std::string>& ids);

// "GPU-...::0" to "::N-1": units of one card, as the kubelet counts them.
std::vector<kubelet::Device> unitsOf(const std::string& uuid, int numa, unsigned count);

}  // namespace divvy::agent
