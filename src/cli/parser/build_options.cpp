// From words to values: the options of each subcommand.
#include <algorithm>
#include <initializer_list>

#include "config/node_choice.h"
#include "config/node_settings.h"
#include "config/placement_options.h"
#include "config/resource_name_options.h"
#include "engine/usage_by_hour_text.h"
#include "files/host_name.h"
#include "files/listen.h"
#include "options/raw_options.h"
#include "share_options/share_options.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kShortestIntervalMs = 100;

SimChoice simOf(const RawOptions& raw) {
  return raw.sim_given ? SimChoice(raw.sim) : SimChoice();
}

// Reads an option if it is given.
template <typename Parse, typename Target>
Result<void> read(const std::string& text, Parse parse, Target& target) {
  if (text.empty()) return {};
  auto value = parse(text);
  if (!value) return value.error();
  target = *std::move(value);
  return {};
}

// Reads a duration; errors name the option.
auto timeOf(const char* option) {
  return [option](const std::string& text) -> Result<std::uint64_t> {
    Result<std::uint64_t> ms = parseDurationMs(text);
    return ms ? ms : Result<std::uint64_t>(Error(ms.error()).context(option));
  };
}

// Returns the first error.
Result<void> firstError(std::initializer_list<Result<void>> readings) {
  for (const Result<void>& reading : readings) {
    if (!reading) return reading;
  }
  return {};
}

// An option that is not given leaves the target without a value.
template <typename Parse, typename Target>
Result<void> readGiven(const std::string& text, Parse parse, std::optional<Target>& target) {
  Target value{};
  Result<void> good = read(text, parse, value);
  if (good && !text.empty()) target = value;
  return good;
}

Result<engine::DevicePolicy> devicePolicy(const std::string& text) {
  Result<engine::DevicePolicy> policy = engine::parseDevicePolicy(text);
  return policy ? policy : Error(policy.error()).context("--device-policy");
}

Result<engine::UsageByHour> expectedUse(const std::string& text) {
  Result<engine::UsageByHour> daily = engine::parseDaily(text);
  return daily ? daily : Error(daily.error()).context("--expected-use");
}

Result<bool> parseOverhead(const std::string& text) {
  if (text == "inside" || text == "outside") return text == "inside";
  return Error{ErrorCode::kUsage,
               "--context-overhead \"" + text + "\" is not known; accepted: inside, outside"};
}

Result<void> readIdle(const RawOptions& raw, agent::IdleRequest& target) {
  const auto named = [](const char* option) {
    return [option](const std::string& text) -> Result<std::uint64_t> {
      Result<std::uint64_t> ms = parseIdleTime(text);
      return ms ? ms : Result<std::uint64_t>(Error(ms.error()).context(option));
    };
  };
  return firstError({readGiven(raw.idle_reclaim, named("--idle-reclaim"), target.reclaim_ms),
                     readGiven(raw.idle_stop, named("--idle-stop"), target.stop_ms)});
}

}  // namespace

Result<Output> outputOf(const RawOptions& raw, bool wide) {
  const bool known =
      raw.output == "json" || raw.output == "table" || (wide && raw.output == "wide");
  if (!raw.output.empty() && !known) {
    return Error{ErrorCode::kUsage, "--output \"" + raw.output +
                                        "\" is not known; accepted: table, " +
                                        (wide ? "wide, json" : "json")};
  }
  return Output{raw.output == "json", raw.output == "wide", !raw.no_headers, !raw.no_color};
}

namespace {

// Reads the options of placement.
Result<void> readPlacing(const RawOptions& raw, RunOptions& run) {
  run.sim = simOf(raw);
  for (const std::string& model : raw.models) {
    const Result<void> named = share_options::check(*share_options::ofOption("model"), model);
    if (!named) return Error(named.error()).context("--model");
  }
  run.ask.models = raw.models;
  run.ask.uuids = raw.uuids;
  const auto gpus = [](const std::string& text) { return parseCount(text, "--gpus", 1, kMaxGpus); };
  Result<void> counted = read(raw.gpus, gpus, run.ask.gpus);
  if (!counted) return counted;
  const auto cores = [&](const std::string& text) { return parseCores(text, run.ask.gpus); };
  if (!raw.policy.empty() && raw.cores.empty()) {
    return Error{ErrorCode::kUsage, "--cores-policy requires --cores; accepted: both of them"};
  }
  Result<void> good = firstError({read(raw.memory, agent::parseMemoryAsk, run.ask.memory),
                                  read(raw.cores, cores, run.ask.cores),
                                  read(raw.policy, agent::parseCoresPolicy, run.ask.cores_policy),
                                  read(raw.priority, agent::parsePriority, run.priority),
                                  read(raw.enforce, agent::parseEnforce, run.enforce),
                                  read(raw.overhead, parseOverhead, run.ask.context_inside),
                                  readGiven(raw.guaranteed, parseGuarantee, run.ask.guaranteed),
                                  readGiven(raw.pool, agent::parsePoolName, run.ask.pool),
                                  readGiven(raw.device_policy, devicePolicy, run.ask.devices),
                                  readGiven(raw.expected_use, expectedUse, run.ask.expected_use)});
  if (good && run.ask.guaranteed) good = checkGuarantee(*run.ask.guaranteed, run.ask.memory);
  return good;
}

}  // namespace

namespace {

// Reads all options of a share.
Result<void> readShare(const RawOptions& raw, RunOptions& run) {
  run.wait = raw.wait_given;
  Result<void> good = firstError({readPlacing(raw, run), read(raw.name, agent::parseName, run.name),
                                  read(raw.wait, timeOf("--wait"), run.wait_ms),
                                  read(raw.on_pressure, agent::parseOnPressure, run.on_pressure),
                                  read(raw.pressure_wait, parsePressureWait, run.pressure_wait_ms),
                                  readIdle(raw, run.idle)});
  if (good && !raw.pressure_wait.empty() && run.on_pressure != agent::OnPressure::kWait)
    good = Error{ErrorCode::kUsage,
                 "--pressure-wait requires --on-pressure wait; accepted: both of them"};
  return good;
}

Result<void> forContainers(const RawOptions& raw, const RunOptions& run) {
  if (run.enforce == agent::Enforce::kAuto || run.enforce == agent::Enforce::kInterposer) return {};
  return Error{ErrorCode::kUsage,
               "--enforce " + raw.enforce + " does not support containers; accepted: interposer"};
}

Result<void> readContainer(const RawOptions& raw, RunOptions& run) {
  const Runtime runtime = raw.runtime == "docker" ? Runtime::kDocker : Runtime::kPodman;
  Result<ContainerArguments> words = parseContainerWords(runtime, raw.command);
  if (!words) return words.error();
  if (Result<void> good = forContainers(raw, run); !good) return good;
  // The tenant gets the container's name, if that is valid for a tenant.
  if (run.name.empty() && agent::parseName(words->name)) run.name = words->name;
  // The remark is for a command line without our option.
  if (!raw.memory.empty()) words->remarks.clear();
  run.command.insert(run.command.begin(), {runtimeName(runtime), "run"});
  run.container = std::move(*words);
  return {};
}

}  // namespace

Result<Options> makeRun(const RawOptions& raw) {
  RunOptions run;
  run.command = raw.command;
  if (run.command.empty() && raw.runtime.empty()) {
    return Error{ErrorCode::kUsage, "run: no command; accepted: divvy run [OPTIONS] -- COMMAND"};
  }
  if (const Result<void> good = readShare(raw, run); !good) return good.error();
  const Result<void> contained = raw.runtime.empty() ? Result<void>() : readContainer(raw, run);
  if (!contained) return contained.error();
  return Options{run};
}

Result<Options> makeShare(ShareOptions::What what, const RawOptions& raw) {
  ShareOptions share;
  share.what = what;
  share.sim = simOf(raw);
  share.name = raw.name;
  if (what == ShareOptions::What::kRemove) return Options{share};
  const Result<void> good = firstError({readShare(raw, share.run), forContainers(raw, share.run)});
  if (!good) return good.error();
  share.cdi_dir = raw.cdi_dir.empty() ? "/run/cdi" : raw.cdi_dir;
  if (share.cdi_dir[0] != '/')
    return Error{ErrorCode::kUsage, "--cdi-dir \"" + share.cdi_dir +
                                        "\" is not an absolute path; accepted: /run/cdi, /etc/cdi"};
  return Options{share};
}

// `reason`, `reason CODE`, `reason WORDS`: quoted or as several words.
Result<Options> makeExplainReason(const RawOptions& raw) {
  const Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  if (hasAgentOptions(raw) || !raw.cluster.files.empty() || !raw.cluster.namespace_name.empty())
    return Error{ErrorCode::kUsage,
                 "explain reason takes no options of a request; accepted: CODE or words, -o and "
                 "--no-headers"};
  ExplainReasonOptions options;
  options.output = *output;
  const std::vector<std::string>& words = raw.cluster.words;
  for (std::size_t at = 1; at < words.size(); ++at)
    options.code += (at == 1 ? "" : " ") + words[at];
  return Options{std::move(options)};
}

Result<Options> makeExplain(const RawOptions& raw) {
  if (!raw.cluster.words.empty() && raw.cluster.words.front() == "reason")
    return makeExplainReason(raw);
  if (meansCluster(raw)) return makeExplainPod(raw);
  ExplainOptions explain;
  const Result<void> good = readPlacing(raw, explain.run);
  if (!good) return good.error();
  const Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  explain.output = *output;
  return Options{explain};
}

Result<Options> makeList(ListOptions::What what, const RawOptions& raw) {
  Result<Output> output = outputOf(raw, what == ListOptions::What::kTenants);
  if (!output) return output.error();
  ListOptions list{what, simOf(raw), *output, {}, raw.cluster.node, false};
  if (!meansCluster(raw)) {
    const ClusterText& text = raw.cluster;
    const bool more = !text.vendors.empty() || !text.device_config.empty() ||
                      !text.model_resources.empty() || !raw.pools.empty();
    if (list.node.empty() && text.namespace_name.empty() && !text.all_namespaces && !more)
      return Options{list};
    return Error{ErrorCode::kUsage,
                 "--node, --namespace, --all-namespaces, --vendors, --device-config, "
                 "--model-resources and --pools require --cluster; accepted: with --cluster"};
  }
  if (list.sim)
    return Error{ErrorCode::kUsage, "--sim selects an agent, not a cluster; accepted: one of them"};
  Result<ClusterChoice> cluster = clusterOf(raw);
  if (!cluster) return cluster.error();
  list.cluster = std::move(*cluster);
  // As in kubectl, -A precedes -n.
  if (raw.cluster.all_namespaces) list.cluster->namespace_name.clear();
  list.own_namespace = raw.plugin && what == ListOptions::What::kTenants &&
                       list.cluster->namespace_name.empty() && !raw.cluster.all_namespaces;
  return Options{list};
}

Result<Options> makeTop(const RawOptions& raw) {
  Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  TopOptions top;
  top.sim = simOf(raw);
  top.output = *output;
  const auto frames = [](const std::string& text) { return parseCount(text, "-n", 1, 1000000); };
  Result<void> good = firstError({read(raw.frames, frames, top.frames),
                                  read(raw.interval, timeOf("--interval"), top.interval_ms)});
  if (!good) return good.error();
  if (top.interval_ms < kShortestIntervalMs)
    return Error{ErrorCode::kUsage, "--interval " + raw.interval + ": accepted: " +
                                        std::to_string(kShortestIntervalMs) + "ms and more"};
  return Options{top};
}

Result<Options> makeSet(const RawOptions& raw) {
  if (namesPod(raw.tenant) || raw.plugin) return makeSetPod(raw);
  const ClusterText& cluster = raw.cluster;
  if (!cluster.container.empty() || !cluster.namespace_name.empty() ||
      hasConnectionOptions(cluster.connection) || !raw.timeout.empty() || raw.no_wait ||
      !raw.output.empty())
    return Error{ErrorCode::kUsage,
                 "set: -c, -n, -o, --timeout, --no-wait and connection options apply to pods only; "
                 "accepted: with pod/NAME or pod/NAMESPACE/NAME in place of TENANT"};
  SetOptions set;
  set.tenant = raw.tenant;
  set.sim = simOf(raw);
  // Only the agent knows the number of the tenant's devices.
  const auto cores = [](const std::string& text) { return parseCores(text, 0); };
  Result<void> good = firstError(
      {readGiven(raw.memory, agent::parseMemoryAsk, set.memory), read(raw.cores, cores, set.cores),
       readGiven(raw.policy, agent::parseCoresPolicy, set.cores_policy),
       readGiven(raw.priority, agent::parsePriority, set.priority),
       readGiven(raw.guaranteed, parseGuarantee, set.guaranteed),
       readGiven(raw.on_pressure, agent::parseOnPressure, set.on_pressure),
       readGiven(raw.pressure_wait, parsePressureWait, set.pressure_wait_ms),
       readIdle(raw, set.idle), read(raw.name, agent::parseName, set.name)});
  if (good && set.guaranteed && set.memory) good = checkGuarantee(*set.guaranteed, *set.memory);
  if (!good) return good.error();
  if (!set.memory && set.cores == 0 && !set.cores_policy && !set.priority && set.name.empty() &&
      !set.guaranteed && !set.on_pressure && !set.pressure_wait_ms && !set.idle.any()) {
    return Error{
        ErrorCode::kUsage,
        "resize: nothing to change; accepted: --memory, --guaranteed, --on-pressure, "
        "--pressure-wait, --idle-reclaim, --idle-stop, --cores, --cores-policy, --priority, "
        "--name"};
  }
  return Options{set};
}

Result<Options> makeEvents(const RawOptions& raw) {
  Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  return Options{EventsOptions{raw.tenant, raw.follow, simOf(raw), *output}};
}

Result<Options> makeQueues(const RawOptions& raw) {
  const Result<Output> output = outputOf(raw, true);
  if (!output) return output.error();
  Result<ConnectionOptions> connection = connectionOf(raw.cluster.connection);
  if (!connection) return connection.error();
  return Options{QueuesOptions{std::move(*connection), *output}};
}

Result<Options> makeSnapshot(const RawOptions& raw) {
  SnapshotOptions snapshot{raw.output, raw.redact, simOf(raw), {}};
  if (!meansCluster(raw)) return Options{snapshot};
  if (snapshot.sim)
    return Error{ErrorCode::kUsage, "--sim selects an agent, not a cluster; accepted: one of them"};
  Result<ClusterChoice> cluster = clusterOf(raw);
  if (!cluster) return cluster.error();
  snapshot.cluster = std::move(*cluster);
  return Options{snapshot};
}

Result<Options> makeWait(const RawOptions& raw) {
  WaitOptions wait;
  wait.sim = simOf(raw);
  wait.tenant = raw.tenant;
  if (raw.all != raw.tenant.empty()) {
    return Error{ErrorCode::kUsage,
                 "wait: one of TENANT and --all is required; accepted: one of them"};
  }
  Result<void> good = read(raw.timeout, timeOf("--timeout"), wait.timeout_ms);
  if (!good) return good.error();
  return Options{wait};
}

namespace {

// Maximum number of tenants of a device: device IDs, and with them messages to the kubelet, are
// bounded.
constexpr unsigned kMaxPerDevice = 100;

Result<void> readInjection(const ClusterNodeText& text, agent::ClusterNode& cluster) {
  if (!text.injection.empty()) {
    const Result<agent::InjectionMode> read = agent::parseInjecting(text.injection);
    if (!read) return Error(read.error()).context("--injection");
    cluster.injecting = *read;
  }
  if (!text.cdi_dir.empty()) cluster.cdi_dir = text.cdi_dir == "none" ? "" : text.cdi_dir;
  if (!cluster.cdi_dir.empty() && cluster.cdi_dir[0] != '/')
    return Error{ErrorCode::kUsage, "--cdi-dir \"" + cluster.cdi_dir +
                                        "\" is relative; an absolute path, or none, is accepted"};
  if (cluster.cdi_dir.empty() && cluster.injecting == agent::InjectionMode::kCdi)
    return Error{ErrorCode::kUsage, "--injection cdi needs a --cdi-dir"};
  return {};
}

Result<void> readClusterNode(const ClusterNodeText& text, AgentOptions& options) {
  if (text.name.empty()) {
    if (text.kubeconfig.empty() && text.context.empty() && text.kubelet_dir.empty() &&
        text.resources.empty() && text.model_names.empty() && text.model_resources.empty() &&
        text.per_device.empty() && text.install_dir.empty() && text.injection.empty() &&
        text.cdi_dir.empty() && !text.announce_numa && !text.by_helper && text.dialect.empty() &&
        text.announce_memory.empty() && text.announce_cores.empty())
      return {};
    return Error{ErrorCode::kUsage,
                 "--kubeconfig, --context, --kubelet-dir, --helper, --install-dir, "
                 "--announce-numa, --announce-memory, --announce-cores, --dialect, --resource, "
                 "--model-names, --model-resources, --per-device, --injection and --cdi-dir "
                 "require --node-name, the node of Kubernetes"};
  }
  agent::ClusterNode cluster;
  cluster.name = text.name;
  if (!text.kubelet_dir.empty()) cluster.kubelet_dir = text.kubelet_dir;
  if (!cluster.kubelet_dir.starts_with('/'))
    return Error{ErrorCode::kUsage, "--kubelet-dir \"" + cluster.kubelet_dir +
                                        "\" is relative; an absolute path is accepted"};
  if (const Result<void> read =
          readSwitch(text.deprecated_names, "--deprecated-names", &cluster.deprecated_names);
      !read)
    return read.error();
  cluster.install_dir = text.install_dir;
  if (!cluster.install_dir.empty() && cluster.install_dir[0] != '/')
    return Error{ErrorCode::kUsage, "--install-dir \"" + cluster.install_dir +
                                        "\" is relative; an absolute path is accepted"};
  if (const Result<void> read = readInjection(text, cluster); !read) return read.error();
  if (const Result<void> read = readNames(text, &options, &cluster); !read) return read.error();
  if (!text.per_device.empty()) {
    const Result<unsigned> count = parseCount(text.per_device, "--per-device", 1, kMaxPerDevice);
    if (!count) return count.error();
    cluster.per_device = *count;
  }
  cluster.announce_numa = text.announce_numa;
  cluster.by_helper = text.by_helper;
  options.cluster = std::move(cluster);
  options.kubeconfig = text.kubeconfig;
  options.context = text.context;
  return {};
}

// On a cluster node something scrapes metrics; the agent of a single machine opens no port by
// default.
Result<void> readMetrics(const ClusterNodeText& node_text, AgentOptions& options) {
  const std::string& text = node_text.metrics_listen;
  agent::MetricsOptions where;
  if (const Result<void> read =
          readSwitch(node_text.deprecated_names, "--deprecated-names", &where.deprecated);
      !read)
    return read;
  if (text == "none" || (text.empty() && !options.cluster)) {
    if (!node_text.compat_metrics && node_text.metrics_labels.empty()) return {};
    return Error{ErrorCode::kUsage,
                 std::string(node_text.compat_metrics ? "--compat-metrics" : "--metrics-labels") +
                     ": metrics are off; accepted: with --metrics-listen"};
  }
  where.hami = node_text.compat_metrics;
  if (!node_text.metrics_labels.empty()) {
    Result<std::vector<std::string>> keys = agent::parsePodLabels(node_text.metrics_labels);
    if (!keys) return Error(keys.error()).context("--metrics-labels");
    where.pod_labels = std::move(*keys);
  }
  if (text.empty()) where.host = "0.0.0.0";
  const Result<void> read = readListen(text, "--metrics-listen", &where.host, &where.port);
  if (read) options.metrics = where;
  return read;
}

}  // namespace

Result<Options> makeAgent(const RawOptions& raw) {
  AgentOptions options;
  options.to_log_file = raw.log_file;
  const auto fd = [](const std::string& text) { return parseCount(text, "--ready-fd", 0, 1023); };
  unsigned ready_fd = 0;
  Result<void> good = firstError({read(raw.node, nodeForAgent, options.node),
                                  read(raw.idle_exit, timeOf("--idle-exit"), options.idle_ms),
                                  read(raw.ready_fd, fd, ready_fd)});
  if (!good) return good.error();
  if (!raw.ready_fd.empty()) options.ready_fd = static_cast<int>(ready_fd);
  Result<agent::Oversubscription> memory = parseOversubscription(raw.memory_terms);
  if (!memory) return memory.error();
  options.memory = std::move(*memory);
  Result<agent::IdlePolicy> idle = parseIdlePolicy(raw.idle);
  if (!idle) return idle.error();
  options.idle = std::move(*idle);
  const Result<agent::BypassPolicy> bypass = parseBypassPolicy(raw.bypass);
  if (!bypass) return bypass.error();
  options.bypass = *bypass;
  Result<agent::PlacementOptions> placing = readPlacingTerms(raw.pools, raw.device_policy);
  if (!placing) return placing.error();
  options.placing = std::move(*placing);
  if (const Result<void> node = readClusterNode(raw.cluster_node, options); !node)
    return node.error();
  if (const Result<void> read = readMetrics(raw.cluster_node, options); !read) return read.error();
  const std::string name = options.cluster ? options.cluster->name : hostName();
  if (const auto read = applyNodeSettings(raw.cluster_node.settings, name, &options); !read)
    return read.error();
  if (options.cluster && options.cluster->by_helper && options.memory.checkpoint.value_or(false))
    return Error{
        ErrorCode::kUsage,
        "--checkpoint on is not supported with --helper: the agent does not see the processes"};
  if (options.cluster && !raw.idle_exit.empty())
    return Error{
        ErrorCode::kUsage,
        "--idle-exit is not supported with --node-name: a node without pods still needs its agent"};
  return Options{options};
}

Result<Options> makeOutput(bool version, const RawOptions& raw) {
  Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  return version ? Options{VersionOptions{*output}} : Options{SimOptions{*output}};
}

Result<Options> makeStop(const RawOptions& raw) {
  return Options{StopOptions{raw.force, simOf(raw)}};
}

}  // namespace divvy::cli
