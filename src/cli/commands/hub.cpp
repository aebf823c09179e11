// `divvy hub`: the capacity of several clusters, and the dispatcher of MultiKueue.
#include "hub/hub.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "commands/commands.h"
#include "kube/access.h"
#include "kubernetes/kube_api.h"
#include "scheduler/kueue_config.h"
#include "scheduler/resource_catalog.h"
#include "vendors/catalog.h"

namespace divvy::cli {
namespace {

constexpr std::size_t kMaxClusters = 100;

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Result<std::vector<std::string>> namesOf(const HubOptions& options) {
  Result<std::vector<std::string>> all = kube::kubeconfigContexts(options.clusters);
  if (!all) return all;
  std::vector<std::string> names = options.contexts.empty() ? *all : options.contexts;
  for (const std::vector<std::string>* given :
       {&options.contexts, &options.reserved, &options.on_demand})
    for (const std::string& name : *given)
      if (!contains(*all, name) || !contains(names, name))
        return Error{ErrorCode::kUsage,
                     "context " + name + " is not in " + options.clusters +
                         ", or --contexts leaves it out; accepted: names of used contexts"};
  if (names.empty() || names.size() > kMaxClusters)
    return Error{ErrorCode::kUsage, options.clusters + " has " + std::to_string(names.size()) +
                                        " contexts; accepted: 1 to " +
                                        std::to_string(kMaxClusters)};
  return names;
}

Result<hub::HubOptions> hubOptions(const HubOptions& options) {
  hub::HubOptions made;
  for (const std::string& name : {options.namespace_name, options.service})
    if (!isObjectName(name))
      return Error{ErrorCode::kUsage,
                   "\"" + name + "\" is not the name of an object; letters, digits, - and . are"};
  const Result<std::vector<std::string>> names = namesOf(options);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    kube::AccessWords words;
    words.context = name;
    Result<kube::Access> access = kube::kubeconfigListAccess(options.clusters, words);
    if (!access) return access.error();
    const hub::WorkerPrice price = contains(options.reserved, name)    ? hub::WorkerPrice::kReserved
                                   : contains(options.on_demand, name) ? hub::WorkerPrice::kOnDemand
                                                                       : hub::WorkerPrice::kPrivate;
    made.workers.push_back({name, std::move(*access), price});
  }
  made.scheduler_namespace = options.namespace_name;
  made.scheduler_service = options.service;
  made.host = options.host;
  made.port = options.port;
  made.spill_after = std::chrono::milliseconds(options.spill_after_ms);
  made.clears_nominations = options.clears_nominations;
  if (options.dispatch) {
    Result<kube::Access> manager = accessFor(options.manager);
    if (!manager) return manager.error();
    made.manager = std::move(*manager);
  }
  const std::string host =
      options.host.find(':') == std::string::npos ? options.host : '[' + options.host + ']';
  made.started = [host](std::uint16_t port) -> Result<void> {
    std::printf("The hub serves http://%s:%u/api/v1/clusters\n", host.c_str(), unsigned{port});
    std::fflush(stdout);
    return {};
  };
  return made;
}

int printKueue(const std::vector<std::string>& vendors) {
  const Result<vendors::Catalog> catalog = scheduler::readCatalog({}, vendors, "");
  if (!catalog) return fail(catalog.error());
  std::fputs(scheduler::kueueConfiguration(*catalog, scheduler::KueueRole::kManager).c_str(),
             stdout);
  return 0;
}

}  // namespace

int serveHub(const HubOptions& options) {
  if (options.print_kueue) return printKueue(options.vendors);
  signal(SIGPIPE, SIG_IGN);
  const Result<hub::HubOptions> made = hubOptions(options);
  if (!made) return fail(made.error());
  const Result<void> served = hub::serve(*made);
  return served ? 0 : fail(served.error());
}

}  // namespace divvy::cli
