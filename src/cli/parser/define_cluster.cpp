// The grammar of what asks a cluster: explain, plan, snapshot; and of what moves there.
#include <CLI/CLI.hpp>

#include "config/migrate_values.h"
#include "files/simulate_files.h"
#include "parser/define.h"
#include "public_names/public_names.h"

namespace divvy::cli {
namespace {

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
    CLI::App* command =
        add(name, text, [what](const RawOptions& r) { return makeCordon(what, r); });
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
  CLI::App* migrate =
      add("migrate", "Another system's values, or earlier names, as Divvy's present ones", nullptr);
  migrate->require_subcommand(1);
  CLI::App* values = add("values", "HAMi's Helm values as Divvy's", makeMigrateValues, migrate);
  values->add_option("-f,--filename", raw.cluster.files, "of HAMi's chart; - is stdin")
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
  CLI::App* plan =
      add("plan", "Where pods of manifests would go, one after the other", makePlanPods);
  addFiles(plan);
  addCluster(plan, Spaces::kOwn);
  addMinRuntime(plan);
  plan->add_option("--device-policy", raw.device_policy, "as the cluster's scheduler was told")
      ->type_name("WORDS");
  addOutput(plan);
}

void Grammar::addQueues() {
  CLI::App* queues =
      add("queues", "Who has how much of a cluster's devices, and who waits for what", makeQueues);
  addOutput(queues, true);
  addConnection(queues);
}

}  // namespace divvy::cli
