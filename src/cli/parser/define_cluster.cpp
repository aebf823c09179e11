// The grammar of what asks a cluster: explain, plan, snapshot; and of what moves there.
#include <CLI/CLI.hpp>

#include "config/migrate_values.h"
#include "files/simulate_files.h"
#include "parser/define.h"

namespace divvy::cli {
namespace {

Result<Options> makeMigrateValues(const Raw& raw) {
  const std::string file = raw.cluster.files.front();
  const Result<std::string> text =
      readFile(file == "-" ? "/dev/stdin" : file, "values of HAMi's chart");
  if (!text) return text.error();
  Result<std::string> values = valuesFromHami(*text, file);
  if (!values) return values.error();
  return Options{PrintOptions{std::move(*values)}};
}

// Whose words it speaks, and what it calls its devices.
void addNames(CLI::App* agent, ClusterNodeText& text) {
  agent
      ->add_option("--dialect", text.dialect,
                   "whose scheduler places the pods: hami is Divvy's or HAMi's [hami]")
      ->type_name("hami|volcano");
  agent
      ->add_option("--resource", text.resources,
                   "extended resources that each count all devices; may be repeated, and the first "
                   "one stays the first [nvidia.com/gpu,divvy.dev/gpu; of Volcano "
                   "volcano.sh/vgpu-number]")
      ->delimiter(',')
      ->type_name("NAME,...");
  agent
      ->add_option("--model-names", text.model_names,
                   "devices of a model are counted by its name, too (divvy.dev/gpu-h100), and "
                   "instances by their profile's (nvidia.com/mig-3g.40gb) [on; of Volcano off]")
      ->type_name("on|off");
  agent
      ->add_option("--model-resources", text.model_resources,
                   "further names of models, the file that the scheduler was given [none]")
      ->type_name("FILE");
  agent
      ->add_option(
          "--announce-memory", text.announce_memory,
          "the resources under which the node's status says how many MiB its devices have "
          "together; none: not [nvidia.com/gpumem,divvy.dev/gpumem, and their percentages; "
          "of Volcano volcano.sh/vgpu-memory]")
      ->delimiter(',')
      ->type_name("NAME,...");
  agent
      ->add_option(
          "--announce-cores", text.announce_cores,
          "of their compute, in percent [nvidia.com/gpucores,divvy.dev/gpucores; of Volcano "
          "volcano.sh/vgpu-cores]")
      ->delimiter(',')
      ->type_name("NAME,...");
}

void addMetrics(CLI::App* agent, ClusterNodeText& text) {
  agent
      ->add_option("--metrics-listen", text.metrics_listen,
                   "for Prometheus: /metrics; none: not [with --node-name 0.0.0.0:9394, else none]")
      ->type_name("HOST:PORT");
  agent
      ->add_option(
          "--metrics-labels", text.metrics_labels,
          "labels of pods that divvy_tenant_labels has, for whoever charges by them [none]")
      ->type_name("KEY,...");
  agent->add_flag("--compat-metrics", text.compat_metrics,
                  "under the names of HAMi's node monitor, too");
}

}  // namespace

// How it is reached; and by which names devices are known there.
void Grammar::addReach(CLI::App* command, Spaces spaces) {
  addConnection(command, spaces);
  ClusterText& text = raw.cluster;
  command->add_option("--vendors", text.vendors, "as the cluster's scheduler was told [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  command
      ->add_option("--device-config", text.device_config,
                   "likewise, HAMi's device-config.yaml, or the ConfigMap with it [none]")
      ->type_name("FILE");
  command
      ->add_option("--model-resources", text.model_resources,
                   "likewise, resources that count devices of some models only [none]")
      ->type_name("FILE");
}

// Of those that say where something would go, too.
void Grammar::addCluster(CLI::App* command, Spaces spaces) {
  addReach(command, spaces);
  ClusterText& text = raw.cluster;
  command->add_option("--node-policy", text.node_policy, "likewise [divvy]")->type_name("NAME");
  command->add_option("--pools", raw.pools, "likewise, pools of devices [none]")->type_name("FILE");
  command->add_option("--compat", text.compat, "likewise [none]")->type_name("none|hami");
}

// Of those that say who would have to end.
void Grammar::addMinRuntime(CLI::App* command) {
  command
      ->add_option("--min-runtime", raw.cluster.min_runtime,
                   "likewise, how long pods run before they may have to end for others [0s]")
      ->type_name("TIME");
}

void Grammar::addClusterNode(CLI::App* agent) {
  ClusterNodeText& text = raw.cluster_node;
  agent
      ->add_option("--node-name", text.name,
                   "serve that node of Kubernetes: be its kubelet's device plugin")
      ->type_name("NAME");
  agent
      ->add_option("--kubeconfig", text.kubeconfig,
                   "of its cluster [KUBECONFIG, as a pod does, ~/.kube/config]")
      ->type_name("FILE");
  agent->add_option("--context", text.context, "of the kubeconfig [its current one]")
      ->type_name("NAME");
  agent->add_flag("--helper", text.by_helper,
                  "this process has no rights on the node: divvy agent-helper beside it does");
  agent
      ->add_option("--kubelet-dir", text.kubelet_dir,
                   "device-plugins/ and pod-resources/ are there [/var/lib/kubelet]")
      ->type_name("DIR");
  agent
      ->add_option("--install-dir", text.install_dir,
                   "what containers get is copied there first: for an agent that is in a "
                   "container itself, where the node has the folder under the same path [not]")
      ->type_name("DIR");
  agent
      ->add_option(
          "--injection", text.injection,
          "how the runtime is told what containers get; auto: by CDI where it is known to read "
          "that (containerd 2, CRI-O 1.28) and, of real cards, NVIDIA's spec is of the driver "
          "that runs; else by mounts [auto]")
      ->type_name("auto|mounts|cdi");
  agent
      ->add_option("--cdi-dir", text.cdi_dir,
                   "where it looks for devices; none: nowhere [/var/run/cdi]")
      ->type_name("DIR");
  addNames(agent, text);
  agent->add_option("--per-device", text.per_device, "containers that may share one [10]")
      ->type_name("N");
  agent->add_flag("--announce-numa", text.announce_numa,
                  "tell the kubelet of each unit's NUMA node: for one that aligns processors");
  agent
      ->add_option("--node-settings", text.settings,
                   "what holds for single nodes: cards left out, and more (docs/node-settings.md); "
                   "or HAMi's config.json; read at the start, goes before options [none]")
      ->type_name("FILE");
  addMetrics(agent, text);
}

void Grammar::addFiles(CLI::App* command) {
  command
      ->add_option("-f,--filename", raw.cluster.files,
                   "YAML or JSON of pods, or of what makes pods; - is stdin; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("-n,--namespace", raw.cluster.space, "of the pods [the context's]")
      ->type_name("NAME");
}

void Grammar::addCordon() {
  using What = CordonOptions::What;
  const auto one = [this](const char* name, const char* text, What what) {
    CLI::App* command = add(name, text, [what](const Raw& r) { return makeCordon(what, r); });
    command->add_option("WHERE", raw.cluster.node, "NODE, NODE/INDEX or NODE/UUID")
        ->type_name("")
        ->required();
    addReach(command);
    return command;
  };
  one("cordon", "Give nothing new of a cluster's devices", What::kCordon);
  one("uncordon", "Give of them again", What::kUncordon);
  CLI::App* drain = one("drain", "Cordon them, and have their pods leave", What::kDrain);
  drain->add_flag("--dry-run", raw.cluster.dry_run, "say who would, and change nothing");
  drain->add_flag("--force", raw.force, "also pods that nobody makes anew, or that say not to");
  drain->add_option("--timeout", raw.timeout, "give up after this long [5m]")->type_name("TIME");
}

void Grammar::addMigrate() {
  CLI::App* migrate = add("migrate", "What another system was told, in Divvy's words", nullptr);
  migrate->require_subcommand(1);
  CLI::App* values = add("values", "HAMi's Helm values as Divvy's", makeMigrateValues, migrate);
  values->add_option("-f,--filename", raw.cluster.files, "of HAMi's chart; - is stdin")
      ->type_name("FILE")
      ->expected(1)
      ->required();
}

void Grammar::addPlan() {
  CLI::App* plan =
      add("plan", "Where pods of manifests would go, one after the other", makePlanPods);
  addFiles(plan);
  addCluster(plan, Spaces::kOwn);
  addMinRuntime(plan);
  plan->add_option("--device-policy", raw.device_policy, "as the cluster's scheduler was told")
      ->type_name("WORDS");
  addOutput(plan);
}

}  // namespace divvy::cli
