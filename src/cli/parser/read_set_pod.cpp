// `divvy resize pod/...`, from words.
#include <utility>

#include "base/device_memory.h"
#include "options/raw_options.h"

namespace divvy::cli {
namespace {

// The scheduler waits a minute for the node's agent.
constexpr std::uint64_t kTimeoutMs = 75'000;

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, "set: " + what};
}

// "pod/NAME", "pod/NAMESPACE/NAME".
Result<void> readTarget(const RawOptions& raw, SetPodOptions* options) {
  const std::string& ns = raw.cluster.namespace_name;
  const std::string named =
      namesPod(raw.tenant) ? raw.tenant.substr(raw.tenant.find('/') + 1) : std::string();
  const std::size_t slash = named.find('/');
  const bool full = slash != std::string::npos;
  options->name = full ? named.substr(slash + 1) : named;
  options->namespace_name = full ? named.substr(0, slash) : ns;
  const bool both = full && !ns.empty() && ns != options->namespace_name;
  const bool bad = options->name.empty() || options->name.find('/') != std::string::npos ||
                   (full && options->namespace_name.empty());
  if (!bad && !both) return {};
  return usage('"' + raw.tenant + '"' + (both ? " and -n " + ns : "") +
               "; accepted: pod/NAME with -n NAMESPACE, or pod/NAMESPACE/NAME");
}

Result<void> checkNothingElse(const RawOptions& raw) {
  const std::pair<const std::string*, const char*> others[] = {
      {&raw.guaranteed, "--guaranteed"},       {&raw.on_pressure, "--on-pressure"},
      {&raw.pressure_wait, "--pressure-wait"}, {&raw.name, "--name"},
      {&raw.policy, "--cores-policy"},         {&raw.idle_reclaim, "--idle-reclaim"},
      {&raw.idle_stop, "--idle-stop"}};
  for (const auto& [value, name] : others)
    if (!value->empty())
      return usage(std::string(name) +
                   " cannot be changed of a running pod; accepted: --memory, --cores, --priority");
  if (raw.sim_given) return usage("--sim is of this machine, and the pod of a cluster");
  if (raw.memory.empty() && raw.cores.empty() && raw.priority.empty())
    return usage("nothing to change; accepted: --memory, --cores, --priority");
  return {};
}

Result<void> readAmounts(const RawOptions& raw, SetPodOptions* options) {
  if (!raw.memory.empty()) {
    const Result<Bytes> memory = parseDeviceMemory(raw.memory);
    const bool plain = raw.memory.find_first_not_of("0123456789") == std::string::npos;
    if (!memory && plain && raw.memory != "0") return Error(memory.error()).context("--memory");
    if (!memory || *memory < mib(1))
      return usage("--memory \"" + raw.memory +
                   "\" is not accepted; of a pod's container 1Mi and more is, as 6Gi");
    options->memory = *memory;
  }
  if (!raw.cores.empty()) {
    const Result<unsigned> cores = parseCores(raw.cores, 1);
    if (!cores) return cores.error();
    options->cores = *cores;
  }
  if (raw.priority.empty()) return {};
  const Result<agent::Priority> priority = agent::parsePriority(raw.priority);
  if (!priority) return priority.error();
  options->priority = raw.priority;
  return {};
}

}  // namespace

bool namesPod(const std::string& tenant) {
  return tenant.starts_with("pod/") || tenant.starts_with("pods/") || tenant.starts_with("po/");
}

Result<Options> makeSetPod(const RawOptions& raw) {
  SetPodOptions options;
  for (const Result<void>& good : {readTarget(raw, &options), checkNothingElse(raw)})
    if (!good) return good.error();
  if (const Result<void> good = readAmounts(raw, &options); !good) return good.error();
  Result<ConnectionOptions> connection = connectionOf(raw.cluster.connection);
  if (!connection) return connection.error();
  options.cluster.connection = std::move(*connection);
  options.container = raw.cluster.container;
  options.wait = !raw.no_wait;
  options.timeout_ms = kTimeoutMs;
  if (!raw.timeout.empty()) {
    const Result<std::uint64_t> timeout = parseDurationMs(raw.timeout);
    if (!timeout) return Error{timeout.error().code(), "--timeout: " + timeout.error().message()};
    options.timeout_ms = *timeout;
  }
  const Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  options.output = *output;
  return Options{options};
}

}  // namespace divvy::cli
