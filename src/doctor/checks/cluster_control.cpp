// Checks of Divvy's control plane: installed, in force, and with a leader.
#include <algorithm>
#include <array>

#include "checks/certificate.h"
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

// From this version ValidatingAdmissionPolicies are GA, and tokens name their node.
constexpr Version kMin{1, 30, "v1.30"};
// The tested version (docs/guides/install.md).
constexpr Version kTried{1, 34, "v1.34"};
constexpr std::int64_t kDay = 24 * 3600;
// Certificates are renewed when a third of their 90 days is left. One with less than this is not
// being renewed.
constexpr std::int64_t kSoon = 14 * kDay;
// Clocks of maintained machines differ by less.
constexpr std::int64_t kMaxSkewMs = 5000;

constexpr const char* kInstall = "helm install divvy ... -n divvy-system (docs/guides/install.md)";

bool below(const Version& a, const Version& b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

// Returns true if the check is skipped: its objects cannot be read, or Divvy is not installed.
bool leftOut(const ClusterFacts& facts, const ListError& listed, FindingBuilder& sink) {
  if (listed) {
    sink.skip(listed->message());
    return true;
  }
  if (!facts.installed) sink.skip("Divvy is not installed in this cluster");
  return !facts.installed;
}

void checkServer(const ClusterFacts& facts, FindingBuilder& sink) {
  if (facts.fault)
    return sink.fault({facts.fault->message(), "the cluster cannot be checked from here",
                       "kubectl version  (asks the same server with the same kubeconfig)"},
                      facts.server);
  if (!facts.version) return sink.skip("the API server does not report its version", facts.server);
  const Version& version = *facts.version;
  if (below(version, kMin))
    return sink.fault({version.text + ", older than " + kMin.text,
                       "it lacks ValidatingAdmissionPolicy, or tokens that name their node: "
                       "assignments of pods cannot be protected",
                       "upgrade the cluster"},
                      facts.server);
  sink.ok(version.text +
              (below(kTried, version)
                   ? std::string(", newer than the last tested version (") + kTried.text + ")"
                   : ""),
          facts.server);
}

void checkWebhook(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.webhooks_listed, sink)) return;
  if (!facts.webhook)
    return sink.fault({"Divvy's MutatingWebhookConfiguration is missing",
                       "pods with devices go to the cluster's default scheduler; policies refuse "
                       "them, or they run without limits",
                       "helm upgrade, or: divvy scheduler --print webhook | kubectl apply -f -"});
  if (facts.webhook->policy != "Fail")
    sink.warn({"failurePolicy is " + facts.webhook->policy + ", not Fail",
               "while the webhook is down, pods with devices are created without it",
               "divvy scheduler --print webhook | kubectl apply -f -"},
              facts.webhook->name);
  if (!sink.hasFindings()) sink.ok("fails closed", facts.webhook->name);
}

void checkAnswers(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.webhooks_listed, sink)) return;
  if (!facts.webhook) return sink.skip("the webhook is missing");
  if (facts.webhook->by_url) return sink.skip("the webhook is called by a URL, not a Service");
  if (facts.endpoints_listed) return sink.skip(facts.endpoints_listed->message());
  const std::string service = facts.webhook->namespace_name + "/" + facts.webhook->service;
  if (facts.endpoints > 0) return sink.ok(counted(facts.endpoints, "ready address"), service);
  sink.fault(
      {"the Service has no ready endpoint",
       "pods with devices cannot be created: the webhook fails closed",
       "kubectl -n " + facts.webhook->namespace_name + " get pods -l app.kubernetes.io/name=divvy"},
      service);
}

void checkCertificate(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.webhooks_listed, sink)) return;
  if (!facts.webhook) return sink.skip("the webhook is missing");
  const std::string& name = facts.webhook->name;
  const char* anew =
      "kubectl -n divvy-system logs deployment/divvy-scheduler -c divvy  (shows the reason); "
      "delete Secret divvy-webhook to create a new certificate";
  if (facts.webhook->authorities.empty()) {
    if (facts.webhook->by_url) return sink.ok("the API server's default authorities", name);
    return sink.fault(
        {"caBundle is empty",
         "API servers do not trust the webhook: pods with devices cannot be created", anew},
        name);
  }
  const Result<std::vector<Validity>> all = validitiesOf(facts.webhook->authorities);
  if (!all)
    return sink.fault(
        {"caBundle: " + all.error().message(),
         "API servers do not trust the webhook: pods with devices cannot be created", anew},
        name);
  const std::int64_t now = facts.now_ms / 1000;
  std::int64_t left = INT64_MIN, begins = INT64_MAX;
  for (const Validity& one : *all) {
    begins = std::min(begins, one.from);
    if (one.from <= now) left = std::max(left, one.until - now);
  }
  if (left == INT64_MIN)
    return sink.fault(
        {"it becomes valid in " + std::to_string((begins - now) / 60 + 1) + " minutes",
         "a clock is wrong; until then pods with devices cannot be created",
         "check the clocks of this machine and of the scheduler's node"},
        name);
  const std::string days =
      counted(static_cast<std::size_t>(std::max<std::int64_t>(left, 0) / kDay), "day");
  if (left <= 0)
    return sink.fault(
        {"its authority expired " + counted(static_cast<std::size_t>(-left / kDay), "day") + " ago",
         "pods with devices cannot be created", anew},
        name);
  if (left < kSoon)
    return sink.warn({"its authority expires in " + days,
                      "Divvy renews it 30 days before expiry: renewal fails, or another component "
                      "issues the certificate",
                      anew},
                     name);
  sink.ok("valid for " + days, name);
}

void checkPolicies(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.policies_listed, sink)) return;
  constexpr const char* kTells = "divvy-visible-devices";  // warns, unless the cluster denies
  constexpr std::array<const char*, 11> kOurs{"divvy-pod-annotations",
                                              "divvy-bindings",
                                              "divvy-node-annotations",
                                              "divvy-agents",
                                              "divvy-devices",
                                              "divvy-ephemeral-containers",
                                              "divvy-gates",
                                              "divvy-priority",
                                              "divvy-scheduler-fencing",
                                              "divvy-volcano-annotations",
                                              kTells};
  std::vector<std::string> missing;
  for (const char* name : kOurs) {
    const auto found = std::find_if(facts.policies.begin(), facts.policies.end(),
                                    [name](const GuardPolicy& one) { return one.name == name; });
    // With one replica and no Lease the fence may be missing.
    const bool fence = std::string(name) == "divvy-scheduler-fencing";
    if (found == facts.policies.end()) {
      if (!fence || facts.lease) missing.emplace_back(name);
    } else if (!found->bound || (!found->denies && std::string(name) != kTells)) {
      missing.push_back(std::string(name) + (found->bound ? " (does not deny)" : " (not bound)"));
    }
  }
  if (missing.empty()) return sink.ok("all are active");
  sink.warn({"not active: " + joined(missing),
             "API servers do not protect assignments of pods, or do not check the leader's term",
             "divvy scheduler --print policies | kubectl apply -f -  (and --print fencing; "
             "docs/guides/kubernetes.md)"});
}

void checkQueues(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.queues_listed, sink)) return;
  if (facts.queues) return sink.ok("queues.divvy.dev is served");
  sink.warn({"the resource Queue is missing", "pods that name a queue stay pending",
             "divvy scheduler --print queues | kubectl apply -f -"});
}

void checkLease(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.lease_read, sink)) return;
  const std::string name = facts.namespace_name + "/" + facts.own_scheduler;
  const std::string look = "kubectl -n " + facts.namespace_name +
                           " get pods; their /readyz (port 9396) lists what is missing";
  if (!facts.lease)
    return sink.warn({"none found", "no leader, unless the scheduler runs with --lease none", look},
                     name);
  const LeaseFacts& lease = *facts.lease;
  if (lease.holder.empty())
    return sink.fault({"it has no holder", "pods with devices stay pending", look}, name);
  const std::int64_t age = lease.looked_ms - lease.renewed_ms;
  if (lease.moved || (age >= -kMaxSkewMs && age <= lease.seconds * 1000))
    return sink.ok("held by " + lease.holder, name);
  const std::string off = std::to_string(std::abs(age) / 1000) + " s ";
  sink.fault({lease.holder + " renewed it " + off + (age < 0 ? "in the future" : "ago") +
                  ", by this machine's clock",
              "no leader: pods with devices stay pending", look},
             name);
}

void checkSkew(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.lease_read, sink)) return;
  if (!facts.lease || facts.lease->renewed_ms == 0)
    return sink.skip("no Lease to compare the clock with");
  if (!facts.lease->moved) return sink.skip("the Lease was not renewed during the check");
  const std::int64_t age = facts.lease->looked_ms - facts.lease->renewed_ms;
  if (std::abs(age) <= kMaxSkewMs) return sink.ok("within some seconds of the Lease's holder");
  sink.warn({"off by " + std::to_string(std::abs(age) / 1000) + " s against " + facts.lease->holder,
             "ages and certificates are misjudged, here or there; leader election is not affected",
             "chronyc tracking, here and on the scheduler's node"});
}

void checkScheduler(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.workloads_listed, sink)) return;
  if (!facts.scheduler)
    return sink.warn(
        {"no Deployment divvy-scheduler",
         "it runs in another way, or not at all: no pods are placed without a scheduler",
         kInstall});
  const WorkloadFacts& found = *facts.scheduler;
  const std::string name = found.namespace_name + "/" + found.name;
  const std::string seen =
      std::to_string(found.ready) + " of " + std::to_string(found.wanted) + " replicas are ready";
  const std::string look =
      "kubectl -n " + found.namespace_name + " describe deployment " + found.name;
  if (found.ready == 0)
    return sink.fault({seen, "pods with devices are refused, or stay pending", look}, name);
  if (found.ready < found.wanted)
    return sink.warn({seen, "the loss of another replica may stop scheduling", look}, name);
  sink.ok(seen, name);
}

void checkAgents(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.workloads_listed, sink)) return;
  if (!facts.agent)
    return sink.skip(
        "no DaemonSet divvy-agent: agents run in another way, or HAMi's agents serve nodes");
  const WorkloadFacts& found = *facts.agent;
  const std::string name = found.namespace_name + "/" + found.name;
  const std::string seen =
      std::to_string(found.ready) + " of " + std::to_string(found.wanted) + " nodes have it ready";
  if (found.ready >= found.wanted) return sink.ok(seen, name);
  sink.warn({seen, "no container with devices starts on the others",
             "kubectl -n " + found.namespace_name +
                 " get pods -l app.kubernetes.io/component=agent -o wide"},
            name);
}

void checkSecurity(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.namespaces_listed, sink)) return;
  const std::string& level = facts.security;
  if (level.empty())
    return sink.ok("the namespace sets none; the cluster's default is unknown",
                   facts.namespace_name);
  if (level == "privileged") return sink.ok("privileged", facts.namespace_name);
  if (!facts.agent && !facts.workloads_listed)
    return sink.ok(level + ", and no agent runs", facts.namespace_name);
  sink.fault({"pod-security.kubernetes.io/enforce is " + level,
              "agents' pods are not created: they need host paths and hostPID",
              "kubectl label namespace " + facts.namespace_name +
                  " pod-security.kubernetes.io/enforce=privileged --overwrite"},
             facts.namespace_name);
}

void checkClass(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.workloads_listed, sink)) return;
  if (!facts.agent) return sink.skip("no DaemonSet divvy-agent");
  if (facts.classes_listed) return sink.skip(facts.classes_listed->message());
  const auto has = [&](const std::string& name) {
    return std::find(facts.classes.begin(), facts.classes.end(), name) != facts.classes.end();
  };
  const std::string& named = facts.agent->runtime_class;
  if (!named.empty() && has(named)) return sink.ok("agents name " + named);
  if (!named.empty())
    return sink.fault({"agents name RuntimeClass " + named + ", which does not exist",
                       "their pods are not created",
                       "install it (GPU Operator, RKE2 and k3s do), or: helm upgrade ... --set "
                       "agent.runtimeClassName="});
  if (!has("nvidia")) return sink.ok("agents name none, and NVIDIA's does not exist");
  const bool unseen = std::any_of(facts.nodes.begin(), facts.nodes.end(), [](const auto& one) {
    return one.labelled && one.registered == 0;
  });
  if (!unseen) return sink.ok("agents name none, and see their GPUs");
  sink.warn({"agents name none, RuntimeClass nvidia exists, and nodes with GPUs register none",
             "unless NVIDIA's runtime is the default, agents get no driver",
             "helm upgrade ... --set agent.runtimeClassName=nvidia"});
}

void checkDeprecatedNames(const ClusterFacts& facts, FindingBuilder& sink) {
  if (leftOut(facts, facts.rules_listed, sink)) return;
  for (const std::string& name : facts.deprecated_rules) {
    const std::size_t slash = name.find('/');
    const std::string rule =
        "prometheusrule " + name.substr(slash + 1) + " -n " + name.substr(0, slash);
    sink.warn(
        {"it uses metric or alert names of the release before",
         "its alerts cannot fire from the next release on, or with deprecatedNames: false",
         "kubectl get " + rule +
             " -o yaml | divvy migrate names -f - | kubectl apply -f -  (or where it is kept)"},
        "PrometheusRule " + name);
  }
  if (!sink.hasFindings())
    sink.ok("no PrometheusRule uses a metric or alert name of the release before");
}

}  // namespace

std::optional<Version> versionOf(const std::string& major, const std::string& minor,
                                 const std::string& text) {
  const auto number = [](const std::string& from) -> std::optional<std::uint32_t> {
    const std::size_t digits = from.find_first_not_of("0123456789");
    const std::string plain = from.substr(0, digits);
    if (plain.empty() || plain.size() > 6) return std::nullopt;
    if (digits != std::string::npos && from.substr(digits) != "+") return std::nullopt;
    return static_cast<std::uint32_t>(std::stoul(plain));
  };
  const auto first = number(major), second = number(minor);
  if (!first || !second) return std::nullopt;
  return Version{*first, *second, text};
}

ClusterEntries controlChecks() {
  return {{"api-server", "is the API server reachable, with a supported version", checkServer},
          {"webhook-registered", "does the webhook receive pods with devices, and fail closed",
           checkWebhook},
          {"webhook-answers", "does the webhook have a ready endpoint", checkAnswers},
          {"webhook-certificate", "is the webhook's certificate trusted, and for how long",
           checkCertificate},
          {"admission-policies", "do API servers enforce the admission policies", checkPolicies},
          {"queue-kind", "does the resource Queue exist", checkQueues},
          {"scheduler-lease", "is there a leader", checkLease},
          {"clock-skew", "does this machine's clock agree with the leader's", checkSkew},
          {"scheduler-replicas", "are all schedulers ready", checkScheduler},
          {"agent-replicas", "are all agents ready", checkAgents},
          {"pod-security", "can agents' pods be created in their namespace", checkSecurity},
          {"runtime-class", "does the agents' RuntimeClass exist", checkClass},
          {"deprecated-names", "do alert rules use metric or alert names of the release before",
           checkDeprecatedNames}};
}

}  // namespace divvy::doctor
