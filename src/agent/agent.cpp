#include "agent/agent.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "agent/file_lock.h"
#include "base/processes.h"
#include "device/fault_store.h"
#include "device/inventory.h"
#include "deviceplugin/device_plugin.h"
#include "enforcement/checkpoint_controller.h"
#include "enforcement/limit_bypass_monitor.h"
#include "enforcement/timeslice_probe.h"
#include "events/event_detector.h"
#include "log/log.h"
#include "os/asio.h"
#include "os/heartbeat_file.h"
#include "os/managed_files.h"
#include "server/api_server.h"
#include "startup.h"
#include "telemetry/metrics_endpoint.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/container_registration.h"
#include "tenant_registration/process_registrar.h"

namespace divvy::agent {
namespace {

using Clock = asio::steady_timer::clock_type;

// How often the agent searches for lost registrations and evaluates idleness.
constexpr std::chrono::seconds kSweep{1};

void raiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Simulated devices may run slower or faster than real time.
arbiter::Settings computeOn(const Node& node, std::optional<std::uint64_t> quantum_ms) {
  arbiter::Settings settings;
  settings.residency.quantum =
      static_cast<arbiter::Nanos>(quantum_ms.value_or(0)) * arbiter::kMillisecond;
  const char* text = node.simulated() ? std::getenv("SIMGPU_TIME_SCALE") : nullptr;
  if (text == nullptr) return settings;
  const double speed = std::strtod(text, nullptr);
  const bool sensible = speed >= 0.001 && speed <= 1000;
  return sensible ? arbiter::atSpeed(settings, speed) : settings;
}

// Removes the lock file as well. A process that waits for the lock checks that the file still has
// that name. `returns`: another agent will start soon.
void removeNode(const NodePaths& paths, bool returns) {
  rmdir(paths.tenants().c_str());
  std::vector<ManagedFile> own = nodeFiles();
  // State for the next agent stays; that agent removes it.
  const PersistedDeviceState known = loadKnown(paths.faults());
  const bool kept = known.any() || (returns && !known.errors.empty());
  if (kept) {
    std::erase_if(own, [](const ManagedFile& file) { return file.name == "faults"; });
    // The file's time states until when faults were observed.
    utimensat(AT_FDCWD, paths.faults().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  for (const std::string& left : removeManaged(paths.dir(), own))
    if (left != "helper.sock" && !(kept && left == "faults"))
      log::warn("a directory stays: it holds a file that Divvy did not create",
                {{"directory", paths.dir()}, {"file", left}});
}

class Agent {
 public:
  // `lock`: on the node's directory.
  Agent(const Startup& startup, NodeDevices devices, Fd lock, PrivilegedAccess access)
      : options_(startup.options),
        paths_(startup.paths),
        inventory_(std::move(devices.inventory)),
        lock_(std::move(lock)),
        signals_(loop_, SIGTERM, SIGINT),
        tick_(loop_),
        tenants_(loop_, paths_, inventory_, computeOn(options_.node, options_.memory.quantum_ms),
                 std::move(devices.memory), [this] { server_.wakeQueue(); }),
        checkpoints_(loop_, tenants_, inventory_, startup.install.executable,
                     options_.memory.checkpoint.value_or(false)),
        trial_(loop_, options_.node, paths_, startup.install, inventory_),
        idle_(tenants_, events_, options_.idle),
        bypass_(tenants_, inventory_, events_, options_.bypass),
        door_(loop_, options_.node, paths_, startup.install, tenants_, inventory_),
        server_(loop_, options_.node, options_.placing, tenants_, inventory_, trial_, events_,
                idle_, door_, [this] { loop_.stop(); }),
        registrar_(loop_, tenants_) {
    if (options_.cluster)
      device_plugin_.emplace(DevicePluginInputs{.loop = loop_,
                                                .cluster = *options_.cluster,
                                                .node = options_.node,
                                                .paths = paths_,
                                                .install = startup.install,
                                                .tenants = tenants_,
                                                .container_registration = door_,
                                                .inventory = inventory_,
                                                .bypass = bypass_,
                                                .access = std::move(access)});
    if (options_.cluster) bypass_.includePods(), tenants_.audit().alwaysAudit();
    const std::string& name = options_.cluster ? options_.cluster->name : options_.node.name;
    if (options_.metrics)
      exporter_.emplace(
          tenants_, bypass_, name, [this] { return server_.snapshot(); },
          [this] { return device_plugin_ ? device_plugin_->unready() : std::string(); });
    if (exporter_) server_.setLatenessSource([this] { return exporter_->lateMs(); });
    tenants_.notifier().onEvent([this](EventView event) { events_.add(std::move(event)); });
    tenants_.notifier().onEnd([this](const Tenant& tenant) {
      if (!tenant.pages) return;
      const TenantView last = takeMemoryView(tenant, tenants_, inventory_);
      for (EventView& event : event_watch_.detectEnd(last)) events_.add(std::move(event));
    });
  }

  // Must be called before run(). After an error unknown tenants may be alive, so cleanUp() must not
  // run.
  Result<void> recover() {
    // The driver reports faults only from its first query on.
    tenants_.healthMonitor().pollHealth();
    Result<void> adopted = tenants_.recoverAll();
    // Running processes are registered first, so that nothing that they use is given to another
    // tenant.
    for (unsigned i = 0; adopted && i < kFirstSweeps && !tenants_.liveness().sweep(); ++i) {
    }
    if (adopted) tenants_.healthMonitor().restoreFaults();
    if (adopted) tenants_.overcommit().updateResidency();
    if (adopted) idle_.withdrawNotices();
    return adopted;
  }

  Result<void> run() {
    Result<void> listening = registrar_.listen(paths_.registrar(), Registrar::AcceptFrom::kOwn);
    if (listening && anyContained()) listening = door_.open();
    if (listening) listening = server_.listen(paths_.socket());
    if (listening && exporter_) listening = expose();
    if (listening && device_plugin_) listening = device_plugin_->begin();
    if (!listening) return listening;
    signals_.async_wait([this](const error_code& fault, int signal) {
      if (fault) return;
      told_to_end_ = signal == SIGTERM;
      loop_.stop();
    });
    last_busy_ = Clock::now();
    tick();
    checkpoints_.begin();
    reportStart(options_.ready_fd, "ok\n");
    log::info("agent is ready",
              {{"node", options_.node.name}, {"driver", inventory_.driverVersion()}});
    loop_.run();
    if (device_plugin_) device_plugin_->end();
    return {};
  }

  // Removes everything that this agent and its predecessors created, unless there are tenants.
  void cleanUp() {
    if (!tenants_.all().empty()) {
      log::info("agent stops; the next agent takes over running tenants");
      return;
    }
    if (!holdsPath(lock_, paths_.lock())) {
      log::info("another agent uses this directory now; nothing is removed");
      return;
    }
    unlink(paths_.socket().c_str());
    removeNode(paths_, told_to_end_);
    if (!runtimeRootIsNamed()) rmdir(paths_.root().c_str());
  }

 private:
  // Their processes can start further ones.
  bool anyContained() const {
    return std::any_of(tenants_.all().begin(), tenants_.all().end(),
                       [](const auto& entry) { return entry.second->record.contained; });
  }

  // On a cluster node a port in use does not make the node's devices unavailable.
  Result<void> expose() {
    Result<void> listening = exporter_->listen(loop_, *options_.metrics);
    if (listening || !options_.cluster) return listening;
    log::warn("metrics endpoint is unavailable; it is tried again",
              {{"error", listening.error().message()}});
    return {};
  }

  void tick() {
    tenants_.liveness().sweep();
    registrar_.poll();
    door_.poll();
    markWatch(paths_.watchMark());
    tenants_.overcommit().updateResidency();
    tenants_.liveness().skipStopped();
    // The driver worker takes one question at a time, so health and use are queried in turn.
    if (++ticks_ % kHealthEvery == 0 && tenants_.healthMonitor().pollHealth() && device_plugin_)
      device_plugin_->healthChanged();
    bypass_.poll();
    tenants_.audit().auditUsage();
    const Snapshot looked = takeMemorySnapshot(tenants_, inventory_);
    for (EventView& event : event_watch_.detect(looked, nowMs())) events_.add(std::move(event));
    // The process that uses the port may end.
    if (exporter_ && !exporter_->listening())
      static_cast<void>(exporter_->listen(loop_, *options_.metrics));
    if (exporter_) exporter_->tick(looked, event_watch_.refusedAllocations(), nowMs());
    idle_.poll();
    if (device_plugin_) device_plugin_->tick();
    if (!tenants_.all().empty() || !server_.idle()) last_busy_ = Clock::now();
    if (options_.idle_ms != 0 &&
        Clock::now() - last_busy_ >= std::chrono::milliseconds(options_.idle_ms))
      leave();
    const std::chrono::milliseconds idle(options_.idle_ms == 0 ? UINT32_MAX : options_.idle_ms);
    tick_.expires_after(std::min<std::chrono::milliseconds>(kSweep, idle));
    tick_.async_wait([this](const error_code& fault) {
      if (!fault) tick();
    });
  }

  // Clients start agents under the lock on the directory. While this agent holds it none is
  // started, and clients that have connected are served first.
  void leave() {
    Fd gate = lockPath(paths_.dir(), true, false);
    // No client can reach a directory that was removed, for example at the end of a session.
    const bool gone = !gate.valid() && errno == ENOENT;
    if ((!gate.valid() && !gone) || server_.acceptPending()) {
      last_busy_ = Clock::now();
      return;
    }
    gate_ = std::move(gate);
    log::info("agent is idle and exits");
    loop_.stop();
  }

  static constexpr unsigned kHealthEvery = 2;
  static constexpr unsigned kFirstSweeps = 16;  // for all slots of a page
  unsigned ticks_ = 0;
  bool told_to_end_ = false;  // by the service manager, which starts another agent
  ServeOptions options_;
  NodePaths paths_;
  Inventory inventory_;
  Fd lock_;
  Fd gate_;
  asio::io_context loop_{1};
  asio::signal_set signals_;
  asio::steady_timer tick_;
  Clock::time_point last_busy_;
  TenantManager tenants_;
  CheckpointController checkpoints_;
  TimesliceProbe trial_;
  EventDetector event_watch_;
  EventLog events_;
  IdleReaper idle_;
  LimitBypassMonitor bypass_;
  ContainerRegistration door_;
  ApiServer server_;
  Registrar registrar_;
  std::optional<Exporter> exporter_;
  std::optional<DevicePluginController> device_plugin_;
};

// Call after a start that failed. Removes the created folders, unless there are tenants.
void removeUnused(const NodePaths& paths, const CreatedDirs& made) {
  if (std::filesystem::exists(paths.tenants())) return;
  removeNode(paths, true);
  if (made.made_root) rmdir(paths.root().c_str());
}

Result<void> runAgent(const Startup& startup, NodeDevices devices, Fd lock,
                      const PrivilegedAccess& access) {
  Agent agent(startup, std::move(devices), std::move(lock), access);
  Result<void> result = agent.recover();
  if (!result) return result;
  result = agent.run();
  agent.cleanUp();
  return result;
}

Result<void> start(const ServeOptions& options) {
  const Result<std::string> root = runtimeRoot();
  if (!root) return root.error();
  const Result<InstallLayout> install = findInstall();
  if (!install) return install.error();
  Startup startup{options, NodePaths(*root, options.node), *install, {}};
  startup.health.emplace(options.metrics);
  // With a helper, the helper creates these directories and gives them to this process's group.
  const std::optional<Privileges> way = acquirePrivileges(&startup);
  if (!way) return {};
  const Result<CreatedDirs> made = makeNodeDir(startup.paths);
  if (!made) return made.error();
  Result<std::optional<Fd>> lock = lockNode(options, startup.paths);
  if (!lock) return lock.error();
  if (!*lock) return {};
  if (Result<void> taken = takeOverNode(options, startup.paths, *way); !taken) return taken;
  if (Result<void> staged = stageForContainers(&startup); !staged) return staged;
  std::optional<Result<NodeDevices>> devices = openDevices(&startup, *way);
  if (!devices) return {};
  if (!*devices) {
    removeUnused(startup.paths, *made);
    return devices->error();
  }
  return runAgent(startup, std::move(**devices), std::move(**lock), way->access);
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  // With a helper the group may use the files of this process, so a successor without its user's
  // rights can, even root without capabilities.
  umask(options.cluster && options.cluster->by_helper ? 007 : 077);
  signal(SIGPIPE, SIG_IGN);
  raiseDescriptorLimit();
  Result<void> result = start(options);
  if (!result) {
    reportStart(options.ready_fd, std::string(errorName(result.error().code())) + " " +
                                      result.error().message() + "\n");
  }
  return result;
}

}  // namespace divvy::agent
