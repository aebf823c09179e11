// The grammar of what asks a cluster: explain, plan, snapshot; and of what moves there.
#include <CLI/CLI.hpp>

#include "config/migrate_values.h"
#include "files/simulate_files.h"
#include "parser/define.h"
#include "public_names/public_names.h"

namespace divvy::cli {
namespace {

constexpr const char* kClustersHelp = R"(Examples:
  divvy clusters
  divvy clusters -f job.yaml --contexts lab,cloud-a
  kubectl divvy clusters -f job.yaml -o json | jq -r '.clusters[0].name'

Lists the clusters of the kubeconfig's contexts with the free capacity that Divvy's scheduler there
reports. With -f, the cluster in which most pods of the manifest would fit comes first. The count
honours devices, their fragments, and CPU, memory and number of pods of each node. It does not
honour quotas, node selectors, affinity and taints; `divvy plan` does, in one cluster. Exit status
3: the pod fits nowhere now. It reads through each API server with your rights, and needs permission
to get and create services/proxy of the scheduler's Service.)";

Result<Options> makeMigrateValues(const RawOptions& raw) {
  const std::string file = raw.cluster.files.front();
  const Result<std::string> text =
      readFile(file == "-" ? "/dev/stdin" : file, "values of HAMi's chart");
  if (!text) return text.error();
  Result<std::string> values = valuesFromHami(*text, file);
  if (!values) return values.error();
  return Options{PrintOptions{std::move(*values)}};
}

Result<Options> makeMigrateNames(const RawOptions& raw) {
  const std::string file = raw.cluster.files.front();
  Result<std::string> text =
      readFile(file == "-" ? "/dev/stdin" : file, "text with names of the release before");
  if (!text) return text.error();
  return Options{PrintOptions{public_names::withPresentNames(std::move(*text))}};
}

}  // namespace

// How it is reached; and by which names devices are known there.
void Grammar::addReach(CLI::App* command, Namespaces namespaces) {
  addConnection(command, namespaces);
  ClusterText& text = raw.cluster;
  command->add_option("--vendors", text.vendors, "vendors, as the cluster's scheduler has it [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  command
      ->add_option(
          "--device-config", text.device_config,
          "HAMi's device-config.yaml or its ConfigMap, as the cluster's scheduler has it [none]")
      ->type_name("FILE");
  command
      ->add_option("--model-resources", text.model_resources,
                   "resources that count devices of some models only, as the cluster's scheduler "
                   "has it [none]")
      ->type_name("FILE");
}

// Of those that say where something would go, too.
void Grammar::addCluster(CLI::App* command, Namespaces namespaces) {
  addReach(command, namespaces);
  ClusterText& text = raw.cluster;
  command
      ->add_option("--node-policy", text.node_policy,
                   "node policy, as the cluster's scheduler has it [divvy]")
      ->type_name("NAME");
  command
      ->add_option("--pools", raw.pools,
                   "pools of devices, as the cluster's scheduler has it [none]")
      ->type_name("FILE");
  command
      ->add_option("--compat", text.compat,
                   "compatibility mode, as the cluster's scheduler has it [none]")
      ->type_name("none|hami");
}

// Of those that say who would have to end.
void Grammar::addMinRuntime(CLI::App* command) {
  command
      ->add_option(
          "--min-runtime", raw.cluster.min_runtime,
          "minimum run time before a pod may be preempted, as the cluster's scheduler has it [0s]")
      ->type_name("TIME");
}

void Grammar::addFiles(CLI::App* command) {
  command
      ->add_option("-f,--filename", raw.cluster.files,
                   "YAML or JSON of pods or workloads; - is stdin; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("-n,--namespace", raw.cluster.namespace_name,
                   "namespace of the pods [the context's]")
      ->type_name("NAME");
}

void Grammar::addCordon() {
  using What = CordonOptions::What;
  const auto one = [this](const char* name, const char* text, What what) {
    CLI::App* command =
        add(name, text, [what](const RawOptions& r) { return makeCordon(what, r); });
    command->add_option("WHERE", raw.cluster.node, "NODE, NODE/INDEX or NODE/UUID")
        ->type_name("")
        ->required();
    addReach(command);
    return command;
  };
  one("cordon", "Mark devices of a cluster unschedulable", What::kCordon);
  one("uncordon", "Mark devices of a cluster schedulable", What::kUncordon);
  CLI::App* drain = one("drain", "Cordon devices of a cluster and evict their pods", What::kDrain);
  drain->add_flag("--dry-run", raw.cluster.dry_run,
                  "list the pods that would be evicted, change nothing");
  drain->add_flag("--force", raw.force,
                  "also pods without a controller, and pods that forbid eviction");
  drain->add_option("--timeout", raw.timeout, "give up after this long [5m]")->type_name("TIME");
}

void Grammar::addMigrate() {
  CLI::App* migrate = add(
      "migrate", "Convert another system's configuration, or names of an earlier Divvy", nullptr);
  migrate->require_subcommand(1);
  CLI::App* values =
      add("values", "Convert values of HAMi's Helm chart to Divvy's", makeMigrateValues, migrate);
  values->add_option("-f,--filename", raw.cluster.files, "values of HAMi's chart; - is stdin")
      ->type_name("FILE")
      ->expected(1)
      ->required();
  CLI::App* names = add("names", "A text with the present names of metrics and annotations",
                        makeMigrateNames, migrate);
  names->add_option("-f,--filename", raw.cluster.files, "dashboard, alert rules, ...; - is stdin")
      ->type_name("FILE")
      ->expected(1)
      ->required();
}

void Grammar::addPlan() {
  CLI::App* plan = add("plan", "Show where pods of manifests would be placed, one after the other",
                       makePlanPods);
  addFiles(plan);
  addCluster(plan, Namespaces::kOwn);
  addMinRuntime(plan);
  plan->add_option("--device-policy", raw.device_policy,
                   "device policy, as the cluster's scheduler has it")
      ->type_name("WORDS");
  addOutput(plan);
}

void Grammar::addQueues() {
  CLI::App* queues = add(
      "queues", "List a cluster's queues: allocation, guarantee, limit, pending pods", makeQueues);
  addOutput(queues, true);
  addConnection(queues);
}

void Grammar::addClusters() {
  ClusterText& text = raw.cluster;
  CLI::App* clusters =
      add("clusters", "Show free capacity of several clusters, and where a pod would fit",
          makeClusters);
  clusters->footer(kClustersHelp);
  clusters
      ->add_option("-f,--filename", text.files,
                   "YAML or JSON of a pod or workload: how many more of its pods fit; - is stdin")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  clusters->add_option("--contexts", text.contexts, "contexts of the kubeconfig [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  clusters
      ->add_option("--divvy-namespace", text.divvy_namespace,
                   "namespace of Divvy in each cluster [divvy-system]")
      ->type_name("NAME");
  clusters
      ->add_option("--scheduler-service", text.scheduler_service,
                   "Service of the scheduler [divvy-scheduler]")
      ->type_name("NAME");
  addOutput(clusters, true);
  addConnection(clusters);
}

}  // namespace divvy::cli
