#include "startup.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "agent/file_lock.h"
#include "base/processes.h"
#include "container/library_staging.h"
#include "helper/remote.h"
#include "log/log.h"
#include "os/host_memory.h"

namespace divvy::agent {
namespace {

// How often a node without a driver is checked: a GPU operator may install one later.
constexpr std::chrono::seconds kDriverAgain{10};
constexpr std::chrono::seconds kHelperAgain{1};

// Half of the memory that the host can provide now.
Bytes defaultReserve() {
  return {hostAvailable().count / 2};
}

Result<MemoryPolicy> policyFor(const Oversubscription& told, const Inventory& inventory) {
  std::vector<DeviceName> names;
  for (const Device& device : inventory.devices())
    names.push_back({device.info.index, device.info.uuid});
  Result<std::vector<DeviceTerms>> devices = termsFor(told, names);
  if (!devices) return devices.error();
  MemoryPolicy policy{std::move(*devices),
                      told.host_reserve.value_or(defaultReserve()),
                      told.chunk.value_or(kSwapChunk),
                      told.host_map.value_or(true) && mapsHostMemory(inventory.driverVersion()),
                      {},
                      {}};
  for (std::size_t i = 0; i < policy.devices.size(); ++i) {
    const DeviceTerms& terms = policy.devices[i];
    const Bytes physical = inventory.devices()[i].info.physical;
    if (terms.budget > physical)
      return Error{ErrorCode::kUsage, "--device-budget " + formatBytes(terms.budget) + ": device " +
                                          std::to_string(names[i].index) + " has " +
                                          formatBytes(physical) + "; accepted: at most that"};
    if (terms.overcommit_permille == kNoOvercommit) continue;
    log::info("device is overcommitted", {{"device", std::to_string(names[i].index)},
                                          {"permille", std::to_string(terms.overcommit_permille)},
                                          {"host_reserve", formatBytes(policy.host_reserve)}});
  }
  return policy;
}

// In a cluster agents run on all nodes, and wait where there is no driver or device yet. Nothing:
// the agent got a request to stop meanwhile. `source`: as of Inventory::open().
std::optional<Result<Inventory>> openInventory(
    Startup* startup, const std::shared_ptr<driver::ProcessSource>& source) {
  const ServeOptions& options = startup->options;
  for (;;) {
    Result<Inventory> inventory =
        Inventory::open(options.node, startup->paths, startup->install, source);
    if (inventory || !options.cluster || options.node.simulated()) return inventory;
    if (startup->health->endsWithin(kDriverAgain, "devices: " + inventory.error().message()))
      return std::nullopt;
  }
}

// The sockets of the kubelet, the helper's processes and its figures of use.
Privileges privilegesOfHelper(const NodePaths& paths, const std::string& kubelet_dir) {
  // Three connections, and one for each thread that asks for a connection's peer. So no query waits
  // for the answer to another one, above all not for the driver's.
  const auto link = [&] {
    return std::make_shared<helper::Client>(paths.helper(), helper::kPatience);
  };
  Privileges way;
  way.access.link = link();
  way.access.sockets = std::make_shared<helper::RemoteKubeletDirs>(link(), kubelet_dir);
  way.source = std::make_shared<helper::RemoteUsage>(link());
  return way;
}

}  // namespace

void reportStart(int fd, const std::string& line) {
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, line.data(), line.size());
  close(fd);
}

std::optional<Privileges> acquirePrivileges(Startup* startup) {
  const ServeOptions& options = startup->options;
  Privileges way;
  if (!options.cluster) return way;
  const std::string& kubelet_dir = options.cluster->kubelet_dir;
  if (!options.cluster->by_helper) {
    way.access.sockets = std::make_shared<kubelet::LocalKubeletDirs>(kubelet_dir);
    return way;
  }
  way = privilegesOfHelper(startup->paths, kubelet_dir);
  for (;;) {
    Result<std::unique_ptr<helper::RemoteProcesses>> far =
        helper::RemoteProcesses::make(way.access.link);
    if (far) {
      useProcesses(std::move(*far));
      return way;
    }
    if (startup->health->endsWithin(kHelperAgain, "its helper: " + far.error().message()))
      return std::nullopt;
  }
}

Result<std::optional<Fd>> lockNode(const ServeOptions& options, const NodePaths& paths) {
  Fd lock = lockPath(paths.lock(), false, options.cluster.has_value());
  if (lock.valid()) return std::optional<Fd>(std::move(lock));
  if (errno != EWOULDBLOCK)
    return Error{ErrorCode::kIo, "opening " + paths.lock() + ": " + std::strerror(errno)};
  // A user that starts this agent by hand would assume that its options apply.
  if (options.ready_fd < 0) {
    log::open("");
    log::warn("an agent already serves this node, with its own options; stop it with divvy stop",
              {{"node", options.node.name}});
  }
  reportStart(options.ready_fd, "ok\n");
  return std::optional<Fd>();
}

Result<void> takeOverNode(const ServeOptions& options, const NodePaths& paths,
                          const Privileges& way) {
  log::open(options.to_log_file ? paths.log() : "");
  if (way.access.link)
    if (Result<void> lent = helper::shareDirsAgain(*way.access.link); !lent) return lent;
  for (const std::string& notice : options.notices) log::warn(notice);
  return {};
}

Result<void> stageForContainers(Startup* startup) {
  const std::optional<ClusterNode>& cluster = startup->options.cluster;
  if (!cluster || cluster->install_dir.empty()) return {};
  Result<InstallLayout> staged =
      stageInstall(startup->install, cluster->install_dir, startup->options.node.simulated());
  if (!staged) return staged.error();
  startup->install = std::move(*staged);
  return {};
}

std::optional<Result<NodeDevices>> openDevices(Startup* startup, const Privileges& way) {
  std::optional<Result<Inventory>> opened = openInventory(startup, way.source);
  startup->health.reset();
  if (!opened) return std::nullopt;
  if (!*opened) return opened->error();
  Inventory inventory = std::move(**opened);
  inventory.exclude(startup->options.excluded);
  Result<MemoryPolicy> memory = policyFor(startup->options.memory, inventory);
  if (!memory) return memory.error();
  inventory.measureContexts(startup->paths, startup->install);
  memory->reclaim = startup->options.idle.reclaim;
  memory->stop = startup->options.idle.stop;
  return NodeDevices{std::move(inventory), std::move(*memory)};
}

}  // namespace divvy::agent
