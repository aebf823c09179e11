// The grammar of what asks a cluster: explain, plan, snapshot.
#include <CLI/CLI.hpp>

#include "grammar.h"

namespace divvy::cli {

// As kubectl has them.
void Grammar::addCluster(CLI::App* command) {
  ClusterText& text = raw.cluster;
  command
      ->add_option("--kubeconfig", text.kubeconfig,
                   "how to reach the cluster [KUBECONFIG, as a pod does, ~/.kube/config]")
      ->type_name("FILE");
  command->add_option("--context", text.context, "of the kubeconfig [its current one]")
      ->type_name("NAME");
  command->add_option("--vendors", text.vendors, "as the cluster's scheduler was told [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--node-policy", text.node_policy, "likewise [divvy]")->type_name("NAME");
  command->add_option("--pools", raw.pools, "likewise, pools of devices [none]")->type_name("FILE");
  command->add_option("--compat", text.compat, "likewise [none]")->type_name("none|hami");
}

void Grammar::addFiles(CLI::App* command) {
  command
      ->add_option("-f,--filename", raw.cluster.files,
                   "YAML or JSON of pods, or of what makes pods; - is stdin; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command->add_option("-n,--namespace", raw.cluster.space, "of the pods [the context's]")
      ->type_name("NAME");
}

void Grammar::addPlan() {
  CLI::App* plan =
      add("plan", "Where pods of manifests would go, one after the other", makePlanPods);
  addFiles(plan);
  addCluster(plan);
  plan->add_option("--device-policy", raw.device_policy, "as the cluster's scheduler was told")
      ->type_name("WORDS");
  addOutput(plan);
}

}  // namespace divvy::cli
