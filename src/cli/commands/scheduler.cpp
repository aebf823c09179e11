// `divvy scheduler`.
#include <unistd.h>

#include <cstdio>

#include "commands/commands.h"
#include "config/device_config_file.h"
#include "config/placement_options.h"
#include "engine/policy.h"
#include "files/host_name.h"
#include "kubernetes/kube_api.h"
#include "scheduler/admission_policies.h"
#include "scheduler/fencing_policy.h"
#include "scheduler/kueue_config.h"
#include "scheduler/manifests.h"
#include "scheduler/queue_crd.h"
#include "scheduler/resource_catalog.h"
#include "scheduler/server.h"
#include "share_options/share_options.h"

namespace divvy::cli {
namespace {

// Reads the file; without one the list is empty. Prints the keys that have no effect.
Result<std::vector<vendors::Descriptor>> devicesFor(const std::string& file) {
  Result<vendors::DeviceConfig> config = readDeviceConfigFile(file);
  if (!config) return config.error();
  if (file.empty()) return std::move(config->families);
  const auto reportIgnored = [](const std::vector<std::string>& keys, const char* what) {
    for (const std::string& key : keys)
      std::fprintf(stderr, "divvy scheduler: --device-config: %s %s\n", key.c_str(), what);
    return keys.size();
  };
  const std::size_t unknown = reportIgnored(config->unknown, "is unknown");
  const std::size_t undone = reportIgnored(config->not_done, "is ignored");
  std::fprintf(stderr,
               "divvy scheduler: --device-config: %zu keys are unknown, %zu are ignored, %zu are "
               "read by node agents\n",
               unknown, undone, config->of_agents.size());
  return std::move(config->families);
}

scheduler::PolicyOptions policyOptions(const SchedulerOptions& options) {
  scheduler::PolicyOptions policy;
  policy.name = options.name;
  policy.writers = options.writers;
  policy.binders = options.binders;
  policy.schedulers = options.others;
  policy.priorities = options.priorities;
  return policy;
}

// Returns the text of --print.
Result<std::string> printed(const SchedulerOptions& options, const vendors::Catalog& catalog) {
  switch (options.print) {
    case SchedulerOptions::Print::kNothing:
      break;
    case SchedulerOptions::Print::kConfig:
      return scheduler::schedulerConfig(catalog, options.name, options.all_feasible);
    case SchedulerOptions::Print::kWebhook:
      return scheduler::webhookConfig(catalog, options.name);
    case SchedulerOptions::Print::kFencing:
      return scheduler::fencingPolicy(catalog, options.name);
    case SchedulerOptions::Print::kQueues:
      return scheduler::queuesManifest(options.name);
    case SchedulerOptions::Print::kKueue:
      return scheduler::kueueConfiguration(catalog, scheduler::KueueRole::kAlone);
    case SchedulerOptions::Print::kOptions:
      return share_options::table();
    case SchedulerOptions::Print::kPolicies:
      return scheduler::policies(catalog, policyOptions(options));
  }
  return std::string();
}

int print(const SchedulerOptions& options) {
  const Result<std::vector<vendors::Descriptor>> all = devicesFor(options.device_config);
  if (!all) return fail(all.error());
  const Result<vendors::Catalog> catalog =
      scheduler::readCatalog(*all, options.vendors, options.model_resources);
  if (!catalog) return fail(catalog.error());
  const Result<std::string> text = printed(options, *catalog);
  if (!text) return fail(text.error());
  std::fputs(text->c_str(), stdout);
  return 0;
}

Result<void> readPlacing(const SchedulerOptions& options, scheduler::SchedulerOptions* terms) {
  if (!options.node_policy.empty()) {
    const Result<engine::Policy> policy = engine::parsePolicy(options.node_policy);
    if (!policy) return Error(policy.error()).context("--node-policy");
    terms->placing.policy = *policy;
  }
  if (!options.device_policy.empty()) {
    const Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(options.device_policy);
    if (!devices) return Error(devices.error()).context("--device-policy");
    terms->placing.devices = *devices;
  }
  // Affects only pods that state their use by hour.
  terms->placing.daily.ties = true;
  if (options.hami_scores) terms->placing.compat = engine::Compat::kHami;
  if (options.pools.empty()) return {};
  Result<std::vector<engine::Pool>> pools = readPools(options.pools);
  if (!pools) return pools.error();
  terms->pools = std::move(*pools);
  return {};
}

}  // namespace

int serveScheduler(const SchedulerOptions& options) {
  if (options.print != SchedulerOptions::Print::kNothing) return print(options);
  Result<kube::Access> access = accessFor(options.kubeconfig, options.context);
  if (!access) return fail(access.error());
  scheduler::SchedulerOptions terms;
  const Result<void> placing = readPlacing(options, &terms);
  if (!placing) return fail(placing.error());
  terms.access = std::move(*access);
  terms.name = options.name;
  terms.vendors = options.vendors;
  Result<std::vector<vendors::Descriptor>> devices = devicesFor(options.device_config);
  if (!devices) return fail(devices.error());
  terms.devices = std::move(*devices);
  terms.model_resources = options.model_resources;
  terms.priorities = options.priorities;
  terms.host = options.host;
  terms.port = options.port;
  terms.webhook_host = options.webhook_host;
  terms.webhook_port = options.webhook_port;
  terms.metrics_host = options.metrics_host;
  terms.metrics_port = options.metrics_port;
  terms.hami_metrics = options.hami_metrics;
  terms.deprecated_names = options.deprecated_names;
  terms.certificate_file = options.certificate_file;
  terms.key_file = options.key_file;
  terms.own_certificate = options.own_certificate;
  terms.hami_label = options.hami_label;
  terms.locks = options.locks;
  terms.handshakes = options.handshakes != scheduler::WhereAgents::kNever;
  terms.ports_file = options.ports_file;
  terms.all_feasible = options.all_feasible;
  terms.lease_namespace = options.lease_namespace;
  terms.lease_name = options.lease_name;
  terms.identity = options.identity.empty() ? hostName() : options.identity;
  terms.min_runtime = std::chrono::seconds((options.min_runtime_ms + 999) / 1000);
  terms.most_different_shares = options.most_different_shares;
  const auto whole = [](std::uint64_t ms) { return std::chrono::seconds((ms + 999) / 1000); };
  terms.inventory_learning = whole(options.inventory_learning_ms);
  terms.idle_notice = whole(options.idle_notice_ms);
  terms.idle_extension = whole(options.idle_extension_ms);
  terms.bypass_notice = whole(options.bypass_notice_ms);
  if (!options.idle_url.empty()) {
    Result<kube::Access> platform = kube::urlAccess(options.idle_url, options.idle_ca);
    // The URL was checked when it was read.
    if (!platform) return fail(Error(platform.error()).context("--idle-ca"));
    terms.platform = std::move(*platform);
  }
  const Result<void> served = scheduler::serve(terms);
  return served ? 0 : fail(served.error());
}

}  // namespace divvy::cli
