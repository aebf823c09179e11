#include "injection.h"

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

}  // namespace

std::string preloadListInside() {
  std::string text;
  for (const char* name : kLibraries) text += kLibrariesInside + std::string(name) + "\n";
  return text;
}

kubelet::Injection injectionFor(const std::string& tenant, const Node& node, const NodePaths& paths,
                                const Install& install, const std::string& visible) {
  kubelet::Injection given;
  const std::string dir = paths.tenants() + "/" + tenant;
  const std::string inside = kTenantInside;
  // File by file: who could write into the folder could put another control page there.
  given.mounts = {{inside + "/control", dir + "/control", true},
                  {inside + "/report", dir + "/report", false},
                  {inside + "/work", dir + "/work", false},
                  {"/run/divvy/reg", paths.containersDir(), true},
                  {"/etc/ld.so.preload", paths.preloadList(), true}};
  for (const char* name : kLibraries)
    given.mounts.push_back(
        {kLibrariesInside + std::string(name), install.lib_dir + "/" + name, true});
  if (!node.simulated()) {
    given.environment["NVIDIA_VISIBLE_DEVICES"] = visible;
    return given;
  }
  given.mounts.push_back({kSimgpuInside, install.sim_dir, true});
  given.mounts.push_back({kCardsInside, paths.cards(), false});
  given.environment = {{"LD_LIBRARY_PATH", kSimgpuInside},
                       {"SIMGPU_PROFILE", node.profile()},
                       {"SIMGPU_DIR", kCardsInside}};
  // A machine that was told how its cards are joined is the same one for all.
  for (const char* name : {"SIMGPU_NVLINKS", "SIMGPU_NUMA"})
    if (const char* told = std::getenv(name); told != nullptr) given.environment[name] = told;
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

std::string tenantIdFor(std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end());
  // FNV-1a: ids are the kubelet's and ours, nobody chooses them.
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

std::vector<kubelet::Device> unitsOf(const std::string& uuid, int numa, unsigned count) {
  std::vector<kubelet::Device> units;
  for (unsigned at = 0; at < count; ++at)
    units.push_back({uuid + "::" + std::to_string(at), true, numa});
  return units;
}

}  // namespace divvy::agent
