// The grammar of `divvy scheduler`.
#include <CLI/CLI.hpp>

#include "parser/define.h"

namespace divvy::cli {

void Grammar::addScheduler() {
  CLI::App* scheduler = add(
      "scheduler", "Serve a cluster's kube-scheduler: where pods with devices go", makeScheduler);
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--kubeconfig", text.kubeconfig,
                   "how to reach the cluster [as a pod does, KUBECONFIG, ~/.kube/config]")
      ->type_name("FILE");
  scheduler->add_option("--context", text.context, "of the kubeconfig [its current one]")
      ->type_name("NAME");
  scheduler
      ->add_option("--scheduler-name", text.name,
                   "pods with devices are given to [divvy-scheduler]")
      ->type_name("NAME");
  scheduler
      ->add_option("--vendors", text.vendors,
                   "whose devices it places; pods that ask for others' are left to others [all]")
      ->delimiter(',')
      ->type_name("NAME,...");
  scheduler
      ->add_option("--device-config", text.device_config,
                   "HAMi's device-config.yaml, or the ConfigMap with it: how resources are called, "
                   "and defaults; the families that it has are placed. Give it to --print, too "
                   "[names as in HAMi's chart, all families]")
      ->type_name("FILE");
  scheduler
      ->add_option("--listen", text.listen, "for kube-scheduler: /filter, /bind [127.0.0.1:9396]")
      ->type_name("HOST:PORT");
  scheduler
      ->add_option("--webhook-listen", text.webhook_listen,
                   "for the API server, with TLS: /webhook [0.0.0.0:9443]")
      ->type_name("HOST:PORT");
  scheduler->add_option("--cert-file", text.certificate, "of the webhook, PEM [no webhook]")
      ->type_name("FILE");
  scheduler->add_option("--key-file", text.key, "its key, PEM")->type_name("FILE");
  addOwnCertificate(scheduler);
  addPlacing(scheduler);
  addPrinted(scheduler);
  scheduler
      ->add_option("--metrics-listen", text.metrics_listen,
                   "for Prometheus: /metrics [0.0.0.0:9395]")
      ->type_name("HOST:PORT");
  scheduler->add_flag("--compat-metrics", text.compat_metrics,
                      "metrics under HAMi's and Volcano's names, too, and pod by pod");
  addAgentWords(scheduler);
  scheduler
      ->add_option("--lease", text.lease,
                   "of the kube-scheduler beside it: pods are placed while that holds it; none: "
                   "this is the only replica [divvy-system/ and the scheduler's name]")
      ->type_name("NAMESPACE/NAME");
  scheduler
      ->add_option("--identity", text.identity,
                   "the lease is ours where its holder is this and '_' and anything [the host's "
                   "name]")
      ->type_name("NAME");
  scheduler->add_option("--ports-file", text.ports, "where its ports are written, as JSON")
      ->type_name("FILE");
}

// What only HAMi's agents, and vendors', need.
void Grammar::addAgentWords(CLI::App* scheduler) {
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--hami-label", text.hami_label,
                   "the label that HAMi's monitor selects pods by: auto: on nodes where that runs "
                   "[auto]")
      ->type_name("auto|always|never");
  scheduler
      ->add_option("--locks", text.locks,
                   "node locks that vendors' agents find their pod by: auto: where such an agent "
                   "may be [auto]")
      ->type_name("auto|never");
  scheduler
      ->add_option("--handshakes", text.handshakes,
                   "with vendors' agents: auto: who reports is asked again; never: nothing is "
                   "written [auto]")
      ->type_name("auto|never");
}

void Grammar::addQueues() {
  CLI::App* queues =
      add("queues", "Who has how much of a cluster's devices, and who waits for what", makeQueues);
  addOutput(queues, true);
  addConnection(queues);
}

void Grammar::addOwnCertificate(CLI::App* scheduler) {
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--cert-secret", text.secret,
                   "instead: make it, make it anew in time, and share it by this Secret")
      ->type_name("NAMESPACE/NAME");
  scheduler
      ->add_option(
          "--webhook-config", text.registration,
          "with it: MutatingWebhookConfiguration that is to trust it [the scheduler's name]")
      ->type_name("NAME");
  scheduler
      ->add_option("--cert-names", text.names,
                   "with it: what it is for beside the Service that is called like the scheduler")
      ->type_name("NAME,...");
  scheduler->add_option("--cert-life", text.life, "with it: how long each is valid [2160h]")
      ->type_name("TIME");
}

// Of pods that do not use their devices, or go around what limits them.
void Grammar::addNotices(CLI::App* scheduler) {
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--idle-notice", text.idle_notice,
                   "from telling a pod that it does not use its devices (use.divvy.dev/idle-stop) "
                   "to its eviction [5m]")
      ->type_name("TIME");
  scheduler
      ->add_option("--idle-url", text.idle_url,
                   "where to POST that, and again before it is evicted: an answer may ask for "
                   "more time, {\"extendSeconds\": 600}, and without one it stays [nowhere]")
      ->type_name("URL");
  scheduler
      ->add_option("--idle-ca", text.idle_ca,
                   "whose certificates are believed there, PEM [those that the system trusts]")
      ->type_name("FILE");
  scheduler
      ->add_option("--idle-extension", text.idle_extension,
                   "how much more time such answers get at most, all together [1h]")
      ->type_name("TIME");
  scheduler
      ->add_option("--bypass-notice", text.bypass_notice,
                   "from telling a pod that it goes around what limits it to its eviction, on "
                   "nodes whose agents say so (divvy agent --on-bypass evict) [1m]")
      ->type_name("TIME");
}

void Grammar::addPlacing(CLI::App* scheduler) {
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--node-policy", text.node_policy,
                   "which node, of pods that do not say: divvy, binpack, spread, fgd ... [divvy]")
      ->type_name("NAME");
  scheduler
      ->add_option("--device-policy", text.device_policy,
                   "which of its devices, likewise: words as `divvy run` takes them [tightest]")
      ->type_name("WORDS");
  scheduler
      ->add_option("--pools", text.pools, "pools of devices; their users are namespaces [none]")
      ->type_name("FILE");
  scheduler
      ->add_option("--model-resources", text.model_resources,
                   "further resources that count devices of some models only [those of vendors/]")
      ->type_name("FILE");
  scheduler
      ->add_option("--priority-class", text.priority_class,
                   "priority on devices of pods by their PriorityClass [none]")
      ->type_name("NAME=PRIORITY,...");
  scheduler
      ->add_option("--priority-value", text.priority_value,
                   "likewise by its value, from this one on, where the class is not named [none]")
      ->type_name("VALUE=PRIORITY,...");
  scheduler
      ->add_option("--compat", text.compat,
                   "hami: nodes and devices are scored as HAMi does, ties included [none]")
      ->type_name("none|hami");
  scheduler
      ->add_option(
          "--min-runtime", text.min_runtime,
          "how long a pod runs before it may have to end for one of higher priority, where "
          "it does not say (annotation use.divvy.dev/min-runtime) [0s]")
      ->type_name("TIME");
  scheduler
      ->add_option("--most-different-shares", text.most_different_shares,
                   "different shares that the containers of one pod may ask for, 0 for any number "
                   "[8]")
      ->type_name("N");
  scheduler
      ->add_option("--inventory-learning", text.inventory_learning,
                   "how long devices that a node registers are added to its inventory (annotation "
                   "divvy.dev/inventory), from its first registration on; later ones do not count "
                   "until an operator removes the annotation; off: no inventory is written [1h]")
      ->type_name("TIME|off");
  addNotices(scheduler);
  scheduler->add_flag("--all-feasible", text.all_feasible,
                      "tell kube-scheduler all nodes that would do and how good each is, and let "
                      "it choose (preferred affinity counts then); give it the configuration that "
                      "--print config has with this");
}

void Grammar::addPrinted(CLI::App* scheduler) {
  SchedulerText& text = raw.scheduler;
  scheduler
      ->add_option("--print", text.print,
                   "print what the cluster has to be told instead: the configuration of the "
                   "kube-scheduler beside it, the webhook's registration, the policy against "
                   "bindings of a leader that is none any more, who may do what, what queues are; "
                   "or the options of divvy run with their forms in pods")
      ->type_name("config|webhook|fencing|policies|queues|options");
  scheduler
      ->add_option("--writers", text.writers,
                   "with policies: who writes assignments and registrations beside Divvy")
      ->type_name("USER,...");
  scheduler
      ->add_option("--binders", text.binders,
                   "with policies: who binds pods (without devices) in single namespaces")
      ->type_name("USER,...");
  scheduler
      ->add_option("--other-schedulers", text.others,
                   "with policies: that pods with devices may name beside Divvy's")
      ->type_name("NAME,...");
}

}  // namespace divvy::cli
