#include "container/tenant_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace divvy::agent {
namespace {

using ::testing::Contains;

const InstallLayout kInstall{"/opt/divvy/bin/divvy", "/opt/divvy/lib", "/opt/divvy/simgpu"};

const kubelet::Mount* at(const kubelet::Injection& given, const std::string& path) {
  const auto found =
      std::find_if(given.mounts.begin(), given.mounts.end(),
                   [&](const kubelet::Mount& mount) { return mount.container_path == path; });
  return found == given.mounts.end() ? nullptr : &*found;
}

TEST(Injection, TenantMounts_LimitsAreReadOnly) {
  const Node node{"gpu"};
  const kubelet::Injection given =
      injectionFor("pod-1", node, NodePaths("/run/divvy", node), kInstall);
  ASSERT_NE(at(given, "/run/divvy/tenant/control"), nullptr);
  EXPECT_EQ(at(given, "/run/divvy/tenant/control")->host_path,
            "/run/divvy/gpu/tenants/pod-1/control");
  std::set<std::string> writable;
  for (const kubelet::Mount& mount : given.mounts)
    if (!mount.read_only) writable.insert(mount.container_path);
  EXPECT_EQ(writable, (std::set<std::string>{"/run/divvy/tenant/report", "/run/divvy/tenant/swap",
                                             "/run/divvy/tenant/work"}));
  // The folder itself is not there: with it tenant.json, and a way to put in another control page.
  for (const kubelet::Mount& mount : given.mounts)
    EXPECT_NE(mount.host_path, "/run/divvy/gpu/tenants/pod-1");
}

// Without them no memory of a pod was ever swapped, whatever its node promised.
TEST(Injection, SwapPages_AreMounted) {
  const Node node{"gpu"};
  const kubelet::Injection given =
      injectionFor("pod-1", node, NodePaths("/run/divvy", node), kInstall);
  for (const bool orders : {true, false}) {
    const std::string name = orders ? "/residency" : "/swap";
    const kubelet::Mount* page = at(given, "/run/divvy/tenant" + name);
    ASSERT_NE(page, nullptr) << name;
    EXPECT_EQ(page->host_path, "/run/divvy/gpu/tenants/pod-1" + name);
    EXPECT_EQ(page->read_only, orders) << name;
  }
}

TEST(Injection, PreloadList_LibrariesMountedWhereListed) {
  const Node node{"gpu"};
  const kubelet::Injection given =
      injectionFor("pod-1", node, NodePaths("/run/divvy", node), kInstall);
  EXPECT_EQ(preloadListInside(),
            "/run/divvy/lib/libdivvy-cuda.so\n/run/divvy/lib/libdivvy-nvml.so\n");
  EXPECT_EQ(at(given, "/run/divvy/lib/libdivvy-cuda.so")->host_path,
            "/opt/divvy/lib/libdivvy-cuda.so");
  EXPECT_EQ(at(given, "/run/divvy/lib/libdivvy-nvml.so")->host_path,
            "/opt/divvy/lib/libdivvy-nvml.so");
  EXPECT_EQ(at(given, "/etc/ld.so.preload")->host_path, "/run/divvy/gpu/ld.so.preload");
}

TEST(Injection, Registrar_FolderMountedAtSocketPath) {
  const Node node{"gpu"};
  const NodePaths paths("/run/divvy", node);
  const kubelet::Injection given = injectionFor("pod-1", node, paths, kInstall);
  const kubelet::Mount* folder = at(given, "/run/divvy/reg");
  ASSERT_NE(folder, nullptr);
  EXPECT_EQ(folder->host_path, paths.containersDir());
  EXPECT_EQ(std::string(kRegistrarInside).substr(std::string("/run/divvy/reg").size()),
            paths.containersRegistrar().substr(paths.containersDir().size()));
}

TEST(Injection, LongestNodeName_SocketPathFits) {
  const Node node{"sim-" + std::string(24, 'x')};
  EXPECT_LE(NodePaths(std::string(60, 'x'), node).containersRegistrar().size(), 107u);
}

TEST(Injection, SimulatedDevice_DriverIsMounted) {
  const Node node{"sim-h100"};
  const kubelet::Injection given =
      injectionFor("pod-1", node, NodePaths("/run/divvy", node), kInstall);
  EXPECT_EQ(at(given, "/run/divvy/simgpu")->host_path, "/opt/divvy/simgpu");
  EXPECT_EQ(at(given, "/run/divvy/card")->host_path, "/run/divvy/sim-h100/card");
  EXPECT_THAT(given.environment, Contains(std::pair("SIMGPU_PROFILE", "h100")));
  EXPECT_THAT(given.environment, Contains(std::pair("LD_LIBRARY_PATH", "/run/divvy/simgpu")));
}

// Whoever is let near an excluded card could use it past us.
TEST(Injection, ExcludedDevices_NotVisible) {
  const Node node{"gpu"};
  std::vector<Device> devices(3);
  for (std::size_t i = 0; i < devices.size(); ++i)
    devices[i].info.uuid = "GPU-" + std::to_string(i);
  EXPECT_EQ(visibleIn(devices), "all");
  devices[1].excluded = true;
  EXPECT_EQ(visibleIn(devices), "GPU-0,GPU-2");
  const kubelet::Injection given =
      injectionFor("pod-1", node, NodePaths("/run/divvy", node), kInstall, visibleIn(devices));
  EXPECT_THAT(given.environment, Contains(std::pair("NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-2")));
  devices[0].excluded = devices[2].excluded = true;
  EXPECT_EQ(visibleIn(devices), "none");
}

TEST(ContainerEdits, PodTenant_EqualKubeletInjection) {
  const Node node{"sim-h100"};
  const NodePaths paths("/run/divvy", node);
  const ContainerEdits edits = editsFor({paths.tenants() + "/pod-1", true}, node, paths, kInstall);
  const kubelet::Injection given = injectionFor("pod-1", node, paths, kInstall);
  EXPECT_EQ(edits.environment, given.environment);
  ASSERT_EQ(edits.mounts.size(), given.mounts.size());
  for (const ContainerMount& mount : edits.mounts) {
    ASSERT_NE(at(given, mount.container_path), nullptr);
    EXPECT_EQ(at(given, mount.container_path)->host_path, mount.host_path);
    EXPECT_EQ(at(given, mount.container_path)->read_only, mount.read_only);
  }
}

TEST(ContainerEdits, Swapped_AddsTwoMounts) {
  const Node node{"gpu"};
  const NodePaths paths("/run/divvy", node);
  const auto count = [&](bool swapped) {
    return editsFor({"/rt/t", swapped}, node, paths, kInstall).mounts.size();
  };
  EXPECT_EQ(count(true), count(false) + 2);
}

TEST(ContainerEdits, RealDevices_NamedAndToolkitDisabled) {
  const Node node{"gpu"};
  ContainerEdits edits = editsFor({"/rt/t", false}, node, NodePaths("/run/divvy", node), kInstall);
  EXPECT_TRUE(edits.devices.empty());
  addDriver({{{"libcuda.so.1", "/usr/lib/libcuda.so.550"}}, {"/dev/nvidiactl", "/dev/nvidia3"}},
            &edits);
  EXPECT_THAT(edits.mounts, Contains(ContainerMount{"/usr/lib/libcuda.so.550",
                                                    "/run/divvy/driver/libcuda.so.1", true}));
  EXPECT_EQ(edits.devices, (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia3"}));
  EXPECT_THAT(edits.environment, Contains(std::pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(edits.environment, Contains(std::pair("LD_LIBRARY_PATH", "/run/divvy/driver")));
}

TEST(Injection, DeviceIds_TenantIdIgnoresOrder) {
  const std::string ours = "divvy.dev/gpu";
  EXPECT_EQ(tenantIdFor({"a::0", "b::1"}, ours), tenantIdFor({"b::1", "a::0"}, ours));
  EXPECT_NE(tenantIdFor({"a::0", "b::1"}, ours), tenantIdFor({"a::0"}, ours));
  EXPECT_NE(tenantIdFor({"a::0", "b::1"}, ours), tenantIdFor({"a::0b::1"}, ours));
  EXPECT_LE(tenantIdFor({"a::0"}, ours).size(), 31u);
  // Two containers may have units that are called alike, by different names of the node's.
  EXPECT_NE(tenantIdFor({"a::0"}, ours), tenantIdFor({"a::0"}, "nvidia.com/gpu"));
  EXPECT_NE(tenantIdFor({"a::0"}, ours), tenantIdFor({"a::0"}, "divvy.dev/gpu-a100"));
  // As agents before those names called it: their containers run on.
  EXPECT_EQ(tenantIdFor({"a::0", "b::1"}, "nvidia.com/gpu"), "pod-d53623c03bd7d303");
}

// Regression: a container that HAMi's plugin had given its units was made a tenant when it began
// again under ours, and accused of going around it.
TEST(Injection, DeviceIdsOfOtherPlugin_AreNotOurs) {
  const std::string uuid = "GPU-00000000-0000-0000-0000-000000000000";
  EXPECT_TRUE(areOurs({uuid + "::0", uuid + "::19"}));
  for (const char* behind : {"", "-3", ":", "::", "::a", "::-1"})
    EXPECT_FALSE(areOurs({uuid + "::0", uuid + behind})) << behind;
  EXPECT_FALSE(areOurs({"::0"}));
}

TEST(Injection, MaxShares_DeviceHasAsManyIds) {
  const std::string uuid = "GPU-00000000-0000-0000-0000-000000000000";
  const std::vector<kubelet::Device> units = unitsOf(uuid, 1, 100);
  ASSERT_EQ(units.size(), 100u);
  EXPECT_EQ(units.front().id, uuid + "::0");
  EXPECT_LE(units.back().id.size(), 63u);
  EXPECT_EQ(units.back().numa, 1);
}

}  // namespace
}  // namespace divvy::agent
