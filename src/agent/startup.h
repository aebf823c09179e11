// The steps of the agent's start, until it has devices. Private.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "agent/install_layout.h"
#include "agent/node.h"
#include "base/fd.h"
#include "base/result.h"
#include "device/inventory.h"
#include "deviceplugin/device_plugin.h"
#include "driver/process_source.h"
#include "telemetry/startup_health.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// State that the steps of the start share.
struct Startup {
  const ServeOptions& options;
  NodePaths paths;
  InstallLayout install;
  std::optional<StartupHealth> health;  // serves until the devices are open
};

struct NodeDevices {
  Inventory inventory;
  MemoryPolicy memory;
};

struct Privileges {
  PrivilegedAccess access;
  std::shared_ptr<driver::ProcessSource> source;  // null: the driver
};

// Gets access for operations that this process has no rights for. Nothing: the agent got a request
// to stop before the helper answered.
std::optional<Privileges> acquirePrivileges(Startup* startup);
// Locks the node's directory. A cluster node always has one agent: a new one waits until its
// predecessor, perhaps killed, has ended. Nothing: another agent serves there. The process that
// started this one then has the answer that an agent is ready. kIo: the lock cannot be opened.
Result<std::optional<Fd>> lockNode(const ServeOptions& options, const NodePaths& paths);
// Call with the node's lock held. Opens the log, and gets the directories that a predecessor could
// create until it ended, and that only it may use.
Result<void> takeOverNode(const ServeOptions& options, const NodePaths& paths,
                          const Privileges& way);
// Copies the installation to where containers can mount it, if the options name such a directory.
// Sets `startup->install` to the copy.
Result<void> stageForContainers(Startup* startup);
// Opens the devices and measures their contexts. Ends the startup's health endpoint. Nothing: the
// agent got a request to stop while it waited for a driver.
std::optional<Result<NodeDevices>> openDevices(Startup* startup, const Privileges& way);
// Sends one answer to the process that started this agent.
void reportStart(int fd, const std::string& line);

}  // namespace divvy::agent
