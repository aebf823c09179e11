// Options of `divvy scheduler`, in the order of its help.
#include <array>

#include "daemon_options/daemon_options.h"

namespace divvy::daemon_options {
namespace {

constexpr std::array kScheduler{
    DaemonOption{.option = "kubeconfig",
                 .type = "FILE",
                 .help = "how to reach the cluster",
                 .otherwise = "as a pod does, KUBECONFIG, ~/.kube/config"},
    DaemonOption{.option = "context",
                 .type = "NAME",
                 .help = "of the kubeconfig",
                 .otherwise = "its current one"},
    DaemonOption{.option = "scheduler-name",
                 .type = "NAME",
                 .help = "pods with devices are given to",
                 .otherwise = "divvy-scheduler"},
    DaemonOption{
        .option = "vendors",
        .type = "NAME,...",
        .help = "vendors of the devices that it places; it ignores pods that request other devices",
        .otherwise = "all",
        .form = Form::kList},
    DaemonOption{
        .option = "device-config",
        .type = "FILE",
        .help = "HAMi's device-config.yaml, or the ConfigMap with it: how resources are called, "
                "and defaults; the families that it has are placed. Give it to --print, too",
        .otherwise = "names as in HAMi's chart, all families",
        .chart = "scheduler.deviceConfig"},
    DaemonOption{.option = "listen",
                 .type = "HOST:PORT",
                 .help = "for kube-scheduler: /filter, /bind",
                 .otherwise = "127.0.0.1:9396",
                 .chart = kSetByChart},
    DaemonOption{.option = "webhook-listen",
                 .type = "HOST:PORT",
                 .help = "for the API server, with TLS: /webhook",
                 .otherwise = "0.0.0.0:9443",
                 .chart = kSetByChart},
    DaemonOption{.option = "cert-file",
                 .type = "FILE",
                 .help = "of the webhook, PEM",
                 .otherwise = "no webhook",
                 .chart = "webhook.secretName"},
    DaemonOption{.option = "key-file",
                 .type = "FILE",
                 .help = "its key, PEM",
                 .chart = "webhook.secretName"},
    DaemonOption{
        .option = "cert-secret",
        .type = "NAMESPACE/NAME",
        .help = "instead: issue the certificate, renew it in time, and share it by this Secret",
        .chart = kSetByChart},
    DaemonOption{.option = "webhook-config",
                 .type = "NAME",
                 .help = "with --cert-secret: MutatingWebhookConfiguration that gets the CA bundle",
                 .otherwise = "the scheduler's name"},
    DaemonOption{.option = "cert-names",
                 .type = "NAME,...",
                 .help = "with --cert-secret: further host names of the certificate, beside the "
                         "Service of the scheduler's name",
                 .chart = "webhook.url"},
    DaemonOption{.option = "cert-life",
                 .type = "TIME",
                 .help = "with --cert-secret: how long a certificate is valid",
                 .otherwise = "2160h"},
    DaemonOption{.option = "node-policy",
                 .type = "NAME",
                 .help = "node policy for pods without their own: divvy, binpack, spread, fgd ...",
                 .otherwise = "divvy",
                 .chart = "scheduler.nodePolicy"},
    DaemonOption{
        .option = "device-policy",
        .type = "WORDS",
        .help = "device policy for pods without their own; words as in `divvy run --device-policy`",
        .otherwise = "tightest",
        .chart = "scheduler.devicePolicy"},
    DaemonOption{.option = "pools",
                 .type = "FILE",
                 .help = "pools of devices; their users are namespaces",
                 .otherwise = "none",
                 .chart = "scheduler.pools"},
    DaemonOption{.option = "model-resources",
                 .type = "FILE",
                 .help = "further resources that count devices of some models only",
                 .otherwise = "those of vendors/",
                 .chart = "scheduler.modelResources"},
    DaemonOption{.option = "priority-class",
                 .type = "NAME=PRIORITY,...",
                 .help = "priority on devices of pods by their PriorityClass",
                 .otherwise = "none",
                 .chart = "scheduler.priorityClasses"},
    DaemonOption{.option = "priority-value",
                 .type = "VALUE=PRIORITY,...",
                 .help = "likewise by its value, from this one on, where the class is not named",
                 .otherwise = "none"},
    DaemonOption{.option = "compat",
                 .type = "none|hami",
                 .help = "hami: nodes and devices are scored as HAMi does, ties included",
                 .otherwise = "none",
                 .chart = "scheduler.compat"},
    DaemonOption{.option = "min-runtime",
                 .type = "TIME",
                 .help = "how long a pod runs before it may have to end for one of higher "
                         "priority, where it does not say (annotation use.divvy.dev/min-runtime)",
                 .otherwise = "0s",
                 .chart = "scheduler.minRuntime"},
    DaemonOption{
        .option = "most-different-shares",
        .type = "N",
        .help = "different shares that the containers of one pod may ask for, 0 for any number",
        .otherwise = "8",
        .chart = "scheduler.mostDifferentShares"},
    DaemonOption{
        .option = "inventory-learning",
        .type = "TIME|off",
        .help = "how long devices that a node registers are added to its inventory (annotation "
                "divvy.dev/inventory), from its first registration on; later ones do not count "
                "until an operator removes the annotation; off: no inventory is written",
        .otherwise = "1h",
        .chart = "scheduler.inventoryLearning"},
    DaemonOption{.option = "idle-notice",
                 .type = "TIME",
                 .help = "from the notice that a pod does not use its devices "
                         "(use.divvy.dev/idle-stop) to its eviction",
                 .otherwise = "5m",
                 .chart = "scheduler.idle.notice"},
    DaemonOption{.option = "idle-url",
                 .type = "URL",
                 .help = "where to POST that, and again before it is evicted: an answer may ask "
                         "for more time, {\"extendSeconds\": 600}, and without one it stays",
                 .otherwise = "nowhere",
                 .chart = "scheduler.idle.url"},
    DaemonOption{.option = "idle-ca",
                 .type = "FILE",
                 .help = "CA certificates for --idle-url, PEM",
                 .otherwise = "those that the system trusts",
                 .chart = "scheduler.idle.ca"},
    DaemonOption{.option = "idle-extension",
                 .type = "TIME",
                 .help = "how much more time such answers get at most, all together",
                 .otherwise = "1h",
                 .chart = "scheduler.idle.extension"},
    DaemonOption{.option = "bypass-notice",
                 .type = "TIME",
                 .help = "from the notice that a pod bypasses its limits to its eviction, on nodes "
                         "with divvy agent --on-bypass evict",
                 .otherwise = "1m",
                 .chart = "scheduler.bypassNotice"},
    DaemonOption{.option = "all-feasible",
                 .help = "tell kube-scheduler all nodes that would do and how good each is, and "
                         "let it choose (preferred affinity counts then); give it the "
                         "configuration that --print config has with this",
                 .form = Form::kFlag},
    DaemonOption{.option = "print",
                 .type = "config|webhook|fencing|policies|queues|kueue|options",
                 .help = "print and exit: the configuration of the kube-scheduler, the webhook "
                         "configuration, the fencing policy, the admission policies, the queue "
                         "CRD, Kueue's configuration for shares; or the options of divvy run with "
                         "their forms in pods"},
    DaemonOption{
        .option = "writers",
        .type = "USER,...",
        .help = "with policies: users that may write assignments and registrations, beside Divvy"},
    DaemonOption{
        .option = "binders",
        .type = "USER,...",
        .help = "with policies: users that may bind pods without devices in single namespaces"},
    DaemonOption{.option = "other-schedulers",
                 .type = "NAME,...",
                 .help = "with policies: further schedulers that pods with devices may name"},
    DaemonOption{.option = "metrics-listen",
                 .type = "HOST:PORT",
                 .help = "for Prometheus: /metrics",
                 .otherwise = "0.0.0.0:9395",
                 .chart = kSetByChart},
    DaemonOption{.option = "compat-metrics",
                 .help = "metrics under HAMi's and Volcano's names, too, and pod by pod",
                 .form = Form::kFlag,
                 .chart = "scheduler.compatMetrics"},
    DaemonOption{.option = "deprecated-names",
                 .type = "on|off",
                 .help = "metrics and annotations have the names of the release before, too "
                         "(docs/reference/public-names.md)",
                 .otherwise = "on",
                 .chart = "deprecatedNames"},
    DaemonOption{
        .option = "hami-label",
        .type = "auto|always|never",
        .help = "the label that HAMi's monitor selects pods by: auto: on nodes where that runs",
        .otherwise = "auto",
        .chart = "scheduler.hamiLabel"},
    DaemonOption{
        .option = "locks",
        .type = "auto|never",
        .help =
            "node locks that vendors' agents find their pod by: auto: where such an agent may be",
        .otherwise = "auto",
        .chart = "scheduler.locks"},
    DaemonOption{.option = "handshakes",
                 .type = "auto|never",
                 .help = "handshake with vendors' agents; auto: agents that report are asked "
                         "again; never: nothing is written",
                 .otherwise = "auto",
                 .chart = "scheduler.handshakes"},
    DaemonOption{.option = "lease",
                 .type = "NAMESPACE/NAME",
                 .help = "of the kube-scheduler beside it: pods are placed while that holds it; "
                         "none: this is the only replica",
                 .otherwise = "divvy-system/ and the scheduler's name",
                 .chart = kSetByChart},
    DaemonOption{.option = "identity",
                 .type = "NAME",
                 .help = "the lease is ours where its holder is this and '_' and anything",
                 .otherwise = "the host's name"},
    DaemonOption{
        .option = "ports-file", .type = "FILE", .help = "where its ports are written, as JSON"},
};

}  // namespace

std::span<const DaemonOption> schedulerOptions() {
  return kScheduler;
}

}  // namespace divvy::daemon_options
