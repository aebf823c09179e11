// Options of a cluster and of its pods, from words.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "options/raw_options.h"

namespace divvy::cli {
namespace {

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

// "NAMESPACE/NAME", or a NAME.
void readName(const std::string& text, ExplainPodOptions* options) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) options->namespace_name = text.substr(0, slash);
  options->name = slash == std::string::npos ? text : text.substr(slash + 1);
}

// `pod NAME`, `pod NAMESPACE/NAME`, `pod/NAME`, `pod/NAMESPACE/NAME`.
Result<void> readWords(const std::vector<std::string>& words, ExplainPodOptions* options) {
  const std::string& first = words.front();
  const std::string kind = first.substr(0, first.find('/'));
  const bool pod = kind == "pod" || kind == "pods" || kind == "po";
  if (pod && words.size() == 2 && kind.size() == first.size()) {
    readName(words[1], options);
  } else if (pod && words.size() == 1 && kind.size() < first.size()) {
    readName(first.substr(kind.size() + 1), options);
  }
  const bool bad = options->name.empty() || options->name.find('/') != std::string::npos;
  if (!bad) return {};
  std::string given;
  for (const std::string& word : words) given += (given.empty() ? "" : " ") + word;
  return usage("\"" + given +
               "\" is not accepted; pod NAME, pod NAMESPACE/NAME, -f FILE and reason CODE are");
}

}  // namespace

bool hasAgentOptions(const RawOptions& raw) {
  for (const std::string* text : {&raw.memory, &raw.cores, &raw.policy, &raw.gpus, &raw.priority,
                                  &raw.enforce, &raw.overhead, &raw.guaranteed, &raw.pool})
    if (!text->empty()) return true;
  return raw.sim_given || !raw.models.empty() || !raw.uuids.empty();
}

bool meansCluster(const RawOptions& raw) {
  const ClusterText& text = raw.cluster;
  return raw.plugin || text.cluster || hasConnectionOptions(text.connection) ||
         !text.words.empty() || !text.files.empty();
}

Result<ClusterChoice> clusterOf(const RawOptions& raw) {
  const ClusterText& text = raw.cluster;
  ClusterChoice choice;
  Result<ConnectionOptions> connection = connectionOf(text.connection);
  if (!connection) return connection.error();
  choice.connection = std::move(*connection);
  choice.namespace_name = text.namespace_name;
  choice.vendors = text.vendors;
  choice.node_policy = text.node_policy;
  choice.device_policy = raw.device_policy;
  choice.pools = raw.pools;
  choice.hami_scores = text.compat == "hami";
  choice.device_config = text.device_config;
  choice.model_resources = text.model_resources;
  if (!text.min_runtime.empty()) {
    const Result<std::uint64_t> least = parseDurationMs(text.min_runtime);
    if (!least) return Error{least.error().code(), "--min-runtime: " + least.error().message()};
    choice.min_runtime_ms = *least;
  }
  if (!text.compat.empty() && text.compat != "none" && text.compat != "hami")
    return usage("--compat \"" + text.compat + "\" is not known; accepted: none, hami");
  return choice;
}

Result<Options> makeClusters(const RawOptions& raw) {
  const Result<Output> output = outputOf(raw, true);
  if (!output) return output.error();
  Result<ConnectionOptions> connection = connectionOf(raw.cluster.connection);
  if (!connection) return connection.error();
  const kube::AccessWords& words = connection->words;
  if (!words.server.empty() || !words.cluster.empty())
    return Error{ErrorCode::kUsage,
                 "--server and --cluster name one cluster; accepted: --contexts, or none"};
  ClustersOptions clusters;
  clusters.contexts = raw.cluster.contexts;
  if (!words.context.empty()) {
    if (!clusters.contexts.empty())
      return Error{ErrorCode::kUsage, "--context and --contexts; accepted: one of them"};
    clusters.contexts = {words.context};
  }
  clusters.connection = std::move(*connection);
  clusters.files = raw.cluster.files;
  if (!raw.cluster.divvy_namespace.empty()) clusters.namespace_name = raw.cluster.divvy_namespace;
  if (!raw.cluster.scheduler_service.empty()) clusters.service = raw.cluster.scheduler_service;
  clusters.output = *output;
  return Options{std::move(clusters)};
}

Result<Options> makeExplainPod(const RawOptions& raw) {
  if (hasAgentOptions(raw))
    return usage(
        "options of a request, such as --memory, do not apply to a pod; accepted: a pod or such "
        "options");
  ExplainPodOptions options;
  const ClusterText& text = raw.cluster;
  if (text.words.empty() == text.files.empty())
    return usage("explain: no pod given; accepted: pod NAMESPACE/NAME, or -f FILE");
  if (!text.words.empty()) {
    const Result<void> read = readWords(text.words, &options);
    if (!read) return read.error();
  }
  options.files = text.files;
  Result<ClusterChoice> cluster = clusterOf(raw);
  if (!cluster) return cluster.error();
  options.cluster = std::move(*cluster);
  if (!options.namespace_name.empty() && !options.cluster.namespace_name.empty() &&
      options.namespace_name != options.cluster.namespace_name)
    return usage("the pod is in namespace " + options.namespace_name + " and -n is " +
                 options.cluster.namespace_name + "; accepted: one of them");
  const Result<Output> output = outputOf(raw, true);
  if (!output) return output.error();
  options.output = *output;
  return Options{std::move(options)};
}

Result<Options> makeCordon(CordonOptions::What what, const RawOptions& raw) {
  CordonOptions options;
  options.what = what;
  // NODE, NODE/INDEX, NODE/UUID: a node's name has no slash.
  const std::string& text = raw.cluster.node;
  const std::size_t slash = text.find('/');
  options.node = text.substr(0, slash);
  if (slash != std::string::npos) options.device = text.substr(slash + 1);
  if (options.node.empty() || (slash != std::string::npos && options.device.empty()))
    return usage("\"" + text + "\" is not accepted; NODE, NODE/INDEX and NODE/UUID are");
  options.dry_run = raw.cluster.dry_run;
  options.force = raw.force;
  const Result<std::uint64_t> timeout =
      parseDurationMs(raw.timeout.empty() ? std::string("5m") : raw.timeout);
  if (!timeout) return Error{timeout.error().code(), "--timeout: " + timeout.error().message()};
  options.timeout_ms = *timeout;
  Result<ClusterChoice> cluster = clusterOf(raw);
  if (!cluster) return cluster.error();
  options.cluster = std::move(*cluster);
  return Options{std::move(options)};
}

Result<Options> makePlanPods(const RawOptions& raw) {
  PlanPodsOptions options;
  options.files = raw.cluster.files;
  if (options.files.empty())
    return usage("plan: no pods given; accepted: -f FILE (several, or - for stdin)");
  Result<ClusterChoice> cluster = clusterOf(raw);
  if (!cluster) return cluster.error();
  options.cluster = std::move(*cluster);
  const Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  options.output = *output;
  return Options{std::move(options)};
}

}  // namespace divvy::cli
