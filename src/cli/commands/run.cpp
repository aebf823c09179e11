// `divvy run`: a share for one command and everything it starts.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/install_layout.h"
#include "agent/process.h"
#include "agent_client/node_selection.h"
#include "agent_client/share_client.h"
#include "commands/commands.h"
#include "ledger/pages.h"
#include "process/process_tree.h"

extern char** environ;

namespace divvy::cli {
namespace {

// Time until the agent has freed the share for the next command of a script.
constexpr int kFarewellMs = 5000;
// If agents die one after another, a further one does not help.
constexpr unsigned kRevivals = 5;

// Sets NAME to `value`, followed by the former value if there was one.
void setFirst(std::vector<std::string>& environment, const std::string& name, std::string value,
              bool keep_old) {
  for (std::string& entry : environment) {
    if (!entry.starts_with(name + "=")) continue;
    const std::string old = entry.substr(name.size() + 1);
    if (keep_old && !old.empty()) value += ":" + old;
    entry = name + "=" + value;
    return;
  }
  environment.push_back(name + "=" + value);
}

// Adds what the share's backend needs.
void addGranted(std::vector<std::string>& environment, const agent::CommandEnvironment& granted) {
  for (const std::string& variable : granted.variables) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos)
      setFirst(environment, variable.substr(0, equals), variable.substr(equals + 1), false);
  }
  for (auto library = granted.preload.rbegin(); library != granted.preload.rend(); ++library)
    setFirst(environment, "LD_PRELOAD", *library, true);
}

// The library could only count a wrong value; here it can be reported.
Result<void> checkLimit() {
  const char* limit = std::getenv("DIVVY_MEMORY_LIMIT");
  std::uint64_t bytes = 0;
  if (limit == nullptr || limit[0] == 0 || ledger::parseByteLimit(limit, &bytes)) return {};
  return Error(ErrorCode::kUsage, "DIVVY_MEMORY_LIMIT: \"" + std::string(limit) +
                                      "\" is not a size; accepted: 4Gi, 512Mi or 1000000000");
}

// Searched in PATH, as execvp does.
bool isInstalled(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::string all = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    if (access((all.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

// The runtime is installed, and so are its containers.
Result<void> checkRuntime(Runtime runtime) {
  const std::string program = runtimeName(runtime);
  if (!isInstalled(program))
    return Error{ErrorCode::kUnavailable, program + " is not installed: not found in PATH"};
  for (const char* variable : {"CONTAINER_HOST", "CONTAINER_CONNECTION"}) {
    const char* value = std::getenv(variable);
    if (runtime == Runtime::kPodman && value != nullptr && value[0] != 0)
      return Error{ErrorCode::kUnavailable, std::string(variable) +
                                                " is set: containers of a remote podman are not on "
                                                "this machine, or not visible to this agent"};
  }
  const char* host = std::getenv("DOCKER_HOST");
  if (runtime == Runtime::kDocker && host != nullptr && host[0] != 0 &&
      std::strncmp(host, "unix://", 7) != 0)
    return Error{ErrorCode::kUnavailable,
                 "DOCKER_HOST is " + std::string(host) +
                     ": containers of a remote daemon are not on this machine"};
  return {};
}

// The runtime's program; its command line needs the share.
Result<CommandLaunch> containerLaunch(const RunOptions& options) {
  if (Result<void> here = checkRuntime(options.container->runtime); !here) return here.error();
  for (const std::string& remark : options.container->remarks) printNote(remark);
  CommandLaunch launch;
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  return launch;
}

// Prepares everything except the tenant's directory, so that an error here needs no share.
Result<CommandLaunch> launchOf(const RunOptions& options, const agent::Node& node) {
  if (options.container) return containerLaunch(options);
  if (const Result<void> limit = checkLimit(); !limit) return limit.error();
  Result<agent::InstallLayout> install = agent::findInstall();
  if (!install) return install.error();
  Result<std::string> preload = install->preload();
  if (!preload) return preload.error();
  Result<std::string> root = agent::runtimeRoot();
  if (!root) return root.error();
  CommandLaunch launch{options.command, {}};
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  setFirst(launch.environment, "LD_PRELOAD", *preload, true);
  if (!node.simulated()) return launch;
  setFirst(launch.environment, "LD_LIBRARY_PATH", install->sim_dir, true);
  setFirst(launch.environment, "SIMGPU_PROFILE", node.profile(), false);
  setFirst(launch.environment, "SIMGPU_DIR", agent::NodePaths(*root, node).cards(), false);
  return launch;
}

// The agent ended while the command runs. Another one is started, so that shares of processes that
// die are freed. It outlives the process tree, so it must not become part of it.
AgentLink reviveAgent(const agent::Node& node) {
  const ProcessTree::ReaperPause pause;
  Result<AgentLink> link = findOrStartAgent(node);
  return link ? std::move(*link) : AgentLink();
}

void releaseShare(AgentLink& link, const agent::Node& node, const std::string& tenant) {
  const agent::EndRequest request{tenant};
  if (link.open() && link.call(request, kFarewellMs)) return;
  const ProcessTree::ReaperPause pause;
  Result<AgentLink> other = findOrStartAgent(node);
  if (other) static_cast<void>(other->call(request, kFarewellMs));
}

// Exit statuses of shells: not found; found but not executable.
int launchStatus(const Error& error) {
  return error.code() == ErrorCode::kNotFound ? 127 : 126;
}

}  // namespace

int run(const RunOptions& options) {
  Result<agent::Node> node = nodeForRun(options.sim);
  if (!node) return fail(node.error());
  Result<CommandLaunch> launch = launchOf(options, *node);
  if (!launch) return fail(launch.error());
  Result<GrantedShare> grant = requestShare(requestOf(options), *node);
  if (!grant) return fail(grant.error());
  AgentLink& link = grant->link;
  const std::string& tenant = grant->share.tenant;
  if (options.container) {
    launch->command = containerCommand(*options.container, grant->share.edits);
  } else {
    setFirst(launch->environment, "DIVVY_TENANT_DIR", grant->share.dir, false);
    addGranted(launch->environment, grant->share.environment);
  }
  ProcessTree tree(options.container ? ProcessTree::Orphans::kLeft : ProcessTree::Orphans::kOurs);
  Result<pid_t> started = tree.start(*launch);
  if (!started) {
    releaseShare(link, *node, tenant);
    fail(started.error());
    return launchStatus(started.error());
  }
  static_cast<void>(link.call(agent::StartedRequest{tenant, *started}));
  unsigned revivals = 0;
  tree.waitForAll(link.fd(), [&] {
    link.close();  // the agent never sends unasked, so it has ended
    if (++revivals > kRevivals) return -1;
    link = reviveAgent(*node);
    return link.fd();
  });
  releaseShare(link, *node, tenant);
  tree.endLikeCommand();
}

}  // namespace divvy::cli
