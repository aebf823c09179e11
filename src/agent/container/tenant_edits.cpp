#include "container/tenant_edits.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace divvy::agent {
namespace {

constexpr const char* kLibraries[] = {"libdivvy-cuda.so", "libdivvy-nvml.so"};
constexpr const char* kLibrariesInside = "/run/divvy/lib/";
constexpr const char* kSimgpuInside = "/run/divvy/simgpu";
constexpr const char* kCardsInside = "/run/divvy/card";
constexpr const char* kDriverInside = "/run/divvy/driver";

}  // namespace

std::string preloadListInside() {
  std::string text;
  for (const char* name : kLibraries) text += kLibrariesInside + std::string(name) + "\n";
  return text;
}

ContainerEdits editsFor(const TenantFiles& tenant, const Node& node, const NodePaths& paths,
                        const InstallLayout& install) {
  ContainerEdits edits;
  const std::string inside = kTenantInside;
  // Mounted file by file: a process that could write to the directory could replace the control
  // page.
  edits.mounts = {{tenant.dir + "/control", inside + "/control", true},
                  {tenant.dir + "/report", inside + "/report", false},
                  {tenant.dir + "/work", inside + "/work", false}};
  if (tenant.swapped) {
    edits.mounts.push_back({tenant.dir + "/residency", inside + "/residency", true});
    edits.mounts.push_back({tenant.dir + "/swap", inside + "/swap", false});
  }
  edits.mounts.push_back({paths.containersDir(), "/run/divvy/reg", true});
  edits.mounts.push_back({paths.preloadList(), kPreloadInside, true});
  for (const char* name : kLibraries)
    edits.mounts.push_back(
        {install.lib_dir + "/" + name, kLibrariesInside + std::string(name), true});
  if (!node.simulated()) return edits;
  edits.mounts.push_back({install.sim_dir, kSimgpuInside, true});
  edits.mounts.push_back({paths.cards(), kCardsInside, false});
  edits.environment = {{"LD_LIBRARY_PATH", kSimgpuInside},
                       {"SIMGPU_PROFILE", node.profile()},
                       {"SIMGPU_DIR", kCardsInside}};
  // Simulated links and NUMA nodes are the same for all containers of a machine.
  for (const char* name : {"SIMGPU_NVLINKS", "SIMGPU_NUMA"})
    if (const char* told = std::getenv(name); told != nullptr) edits.environment[name] = told;
  return edits;
}

void addDriver(const DriverLibraries& driver, ContainerEdits* edits) {
  for (const auto& [name, file] : driver.libraries)
    edits->mounts.push_back({file, std::string(kDriverInside) + "/" + name, true});
  edits->devices.insert(edits->devices.end(), driver.devices.begin(), driver.devices.end());
  edits->environment["LD_LIBRARY_PATH"] = kDriverInside;
  // CUDA images request all devices by this variable.
  edits->environment["NVIDIA_VISIBLE_DEVICES"] = "void";
}

kubelet::Injection injectionFor(const std::string& tenant, const Node& node, const NodePaths& paths,
                                const InstallLayout& install, const std::string& visible) {
  const ContainerEdits edits =
      editsFor({paths.tenants() + "/" + tenant, true}, node, paths, install);
  kubelet::Injection given;
  given.environment = edits.environment;
  for (const ContainerMount& mount : edits.mounts)
    given.mounts.push_back({mount.container_path, mount.host_path, mount.read_only});
  if (!node.simulated()) given.environment["NVIDIA_VISIBLE_DEVICES"] = visible;
  return given;
}

std::string visibleIn(const std::vector<Device>& devices) {
  std::string uuids;
  bool excluded = false;
  for (const Device& device : devices) {
    excluded = excluded || device.excluded;
    if (!device.excluded) uuids += (uuids.empty() ? "" : ",") + device.info.uuid;
  }
  if (!excluded) return "all";
  return uuids.empty() ? "none" : uuids;
}

// Between a device and the number of one of its device IDs.
constexpr const char* kUnit = "::";

// A tenant's ID does not depend on other resources that are served, or on their order. For this
// resource it is as older agents made it, which served no other.
constexpr std::string_view kUnnamed = "nvidia.com/gpu";

std::string tenantIdFor(std::vector<std::string> ids, const std::string& resource) {
  std::sort(ids.begin(), ids.end());
  if (resource != kUnnamed) ids.push_back(resource);
  // FNV-1a suffices: the IDs are the kubelet's and ours, so no tenant can choose them.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& id : ids) {
    for (const char c : id + "\n") {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3;
    }
  }
  char text[24];
  std::snprintf(text, sizeof text, "pod-%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool areOurs(const std::vector<std::string>& ids) {
  return std::all_of(ids.begin(), ids.end(), [](const std::string& id) {
    const std::size_t at = id.find(kUnit);
    if (at == 0 || at == std::string::npos) return false;
    const std::string number = id.substr(at + 2);
    return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  });
}

std::vector<kubelet::Device> unitsOf(const std::string& uuid, int numa, unsigned count) {
  std::vector<kubelet::Device> units;
  for (unsigned at = 0; at < count; ++at)
    units.push_back({uuid + kUnit + std::to_string(at), true, numa});
  return units;
}

}  // namespace divvy::agent
