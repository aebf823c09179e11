// Workloads of Divvy in a cluster, and other programs with its task.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "base/rfc3339.h"
#include "diagnose/doctor_cluster.h"
#include "json/path.h"
#include "kube/lease.h"
#include "public_names/public_names.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using doctor::ClusterFacts;
using doctor::ForeignInstallation;

constexpr const char* kWebhook = "pods.divvy.dev";
constexpr const char* kAgents = "divvy-agent";
constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1/";
constexpr int kPollMs = 250;
constexpr int kMaxLooks = 12;

// If the kind is unknown, there are no objects of it.
doctor::ListError listEach(KubeApi& api, const std::string& path, const std::string& query,
                           const std::function<void(const json::value&)>& each) {
  const Result<void> listed = api.list(path, query, each);
  if (listed || listed.error().code() == ErrorCode::kNotFound) return std::nullopt;
  return listed.error();
}

bool isHami(const std::string& text) {
  return text.find("hami") != std::string::npos || text.find("4pdosc/k8s-vdevice") != text.npos;
}

void addWebhook(const json::value& object, ClusterFacts* facts) {
  const std::string name = textAt(object, {"metadata", "name"});
  bool hami = isHami(name);
  for (const json::value& one : listAt(object, {"webhooks"})) {
    const std::string own = textAt(one, {"name"});
    hami = hami || isHami(own);
    if (own != kWebhook) continue;
    doctor::WebhookFacts found;
    found.name = name;
    found.policy = textAt(one, {"failurePolicy"});
    found.by_url = presentAt(one, {"clientConfig", "url"}) != nullptr;
    found.namespace_name = textAt(one, {"clientConfig", "service", "namespace"});
    found.service = textAt(one, {"clientConfig", "service", "name"});
    const std::string bundle = textAt(one, {"clientConfig", "caBundle"});
    const auto pem = fromBase64(bundle);
    // Invalid base64 is reported as an invalid certificate.
    found.authorities = pem ? std::string(pem->begin(), pem->end()) : bundle;
    facts->webhook = std::move(found);
    return;
  }
  if (hami)
    facts->foreign_installations.push_back(
        {ForeignInstallation::Kind::kHami, "MutatingWebhookConfiguration " + name, true});
}

void readPolicies(KubeApi& api, ClusterFacts* facts) {
  facts->policies_listed = listEach(
      api, std::string(kAdmission) + "validatingadmissionpolicies", "", [&](const json::value& o) {
        facts->policies.push_back({textAt(o, {"metadata", "name"}), false, false});
      });
  if (facts->policies_listed) return;
  facts->policies_listed = listEach(
      api, std::string(kAdmission) + "validatingadmissionpolicybindings", "",
      [&](const json::value& o) {
        const std::string policy = textAt(o, {"spec", "policyName"});
        for (doctor::GuardPolicy& one : facts->policies) {
          if (one.name != policy) continue;
          one.bound = true;
          for (const json::value& action : listAt(o, {"spec", "validationActions"}))
            one.denies = one.denies || (action.is_string() && action.get_string() == "Deny");
        }
      });
}

// Returns true if a container's name or image matches.
bool runs(const json::value& object, bool (*is)(const std::string&)) {
  if (is(textAt(object, {"metadata", "name"}))) return true;
  for (const json::value& one : listAt(object, {"spec", "template", "spec", "containers"}))
    if (is(textAt(one, {"image"}))) return true;
  return false;
}

bool isPlugin(const std::string& text) {
  return text.find("nvidia-device-plugin") != std::string::npos ||
         text.find("/k8s-device-plugin") != std::string::npos;
}

void addWorkload(const json::value& object, const std::string& kind, ClusterFacts* facts) {
  doctor::WorkloadFacts one;
  one.namespace_name = textAt(object, {"metadata", "namespace"});
  one.name = textAt(object, {"metadata", "name"});
  const bool daemons = kind == "DaemonSet";
  if (daemons) {
    one.wanted = integerAt(object, {"status", "desiredNumberScheduled"});
    one.ready = integerAt(object, {"status", "numberReady"});
  } else {
    one.wanted = integerAt(object, {"spec", "replicas"});
    one.ready = integerAt(object, {"status", "readyReplicas"});
  }
  one.runtime_class = textAt(object, {"spec", "template", "spec", "runtimeClassName"});
  if (daemons && one.name == kAgents) {
    facts->agent = std::move(one);
  } else if (!daemons && one.name == facts->own_scheduler) {
    facts->scheduler = std::move(one);
  } else if (runs(object, isHami)) {
    facts->foreign_installations.push_back({ForeignInstallation::Kind::kHami,
                                            kind + " " + one.namespace_name + "/" + one.name,
                                            false});
  } else if (daemons && one.wanted > 0 && runs(object, isPlugin)) {
    facts->foreign_installations.push_back({ForeignInstallation::Kind::kPlugin,
                                            kind + " " + one.namespace_name + "/" + one.name,
                                            false});
  }
}

void readWorkloads(KubeApi& api, ClusterFacts* facts) {
  for (const auto& [path, kind] :
       {std::pair("deployments", "Deployment"), std::pair("daemonsets", "DaemonSet")}) {
    const doctor::ListError listed =
        listEach(api, std::string("/apis/apps/v1/") + path, "",
                 [&, kind = kind](const json::value& o) { addWorkload(o, kind, facts); });
    if (listed) facts->workloads_listed = listed;
  }
}

// Divvy's own rules use both names on purpose.
void readRules(KubeApi& api, ClusterFacts* facts) {
  facts->rules_listed = listEach(
      api, "/apis/monitoring.coreos.com/v1/prometheusrules", "", [&](const json::value& rule) {
        const std::string name = textAt(rule, {"metadata", "name"});
        const json::value* spec = presentAt(rule, {"spec"});
        if (spec == nullptr || name == "divvy-alerts") return;
        const std::string text = json::serialize(*spec);
        if (public_names::withPresentNames(text) == text) return;
        facts->deprecated_rules.push_back(textAt(rule, {"metadata", "namespace"}) + "/" + name);
      });
}

void readEndpoints(KubeApi& api, ClusterFacts* facts) {
  if (!facts->webhook || facts->webhook->by_url) return;
  facts->endpoints_listed = listEach(
      api,
      "/apis/discovery.k8s.io/v1/namespaces/" + facts->webhook->namespace_name + "/endpointslices",
      "labelSelector=kubernetes.io%2Fservice-name%3D" + facts->webhook->service,
      [&](const json::value& slice) {
        for (const json::value& one : listAt(slice, {"endpoints"})) {
          // An endpoint without a condition counts as ready.
          const json::value* ready = presentAt(one, {"conditions", "ready"});
          if (ready == nullptr || !ready->is_bool() || ready->get_bool())
            facts->endpoints += listAt(one, {"addresses"}).size();
        }
      });
}

void readNamespace(KubeApi& api, ClusterFacts* facts) {
  const Result<json::value> ns =
      api.call({kube::Verb::kGet, "/api/v1/namespaces/" + facts->namespace_name});
  if (ns) {
    facts->security = textAt(*ns, {"metadata", "labels", "pod-security.kubernetes.io/enforce"});
  } else {
    facts->namespaces_listed = ns.error();
  }
}

}  // namespace

void readInstalled(KubeApi& api, ClusterFacts* facts) {
  facts->webhooks_listed = listEach(api, std::string(kAdmission) + "mutatingwebhookconfigurations",
                                    "", [&](const json::value& o) { addWebhook(o, facts); });
  readPolicies(api, facts);
  // Every user may read the list of kinds.
  const Result<json::value> group = api.call({kube::Verb::kGet, "/apis/divvy.dev"});
  facts->queues = group.has_value();
  if (!group && group.error().code() != ErrorCode::kNotFound) facts->queues_listed = group.error();
  readWorkloads(api, facts);
  if (facts->webhooks_listed || facts->workloads_listed)
    facts->rivals_listed =
        facts->webhooks_listed ? facts->webhooks_listed : facts->workloads_listed;
  facts->installed = facts->webhook || facts->scheduler || facts->agent || facts->queues;
  for (const doctor::GuardPolicy& one : facts->policies)
    facts->installed = facts->installed || one.name.starts_with("divvy-");
  if (facts->webhook && !facts->webhook->namespace_name.empty()) {
    facts->namespace_name = facts->webhook->namespace_name;
  } else if (facts->scheduler) {
    facts->namespace_name = facts->scheduler->namespace_name;
  } else if (facts->agent) {
    facts->namespace_name = facts->agent->namespace_name;
  }
  readEndpoints(api, facts);
  if (facts->installed) readNamespace(api, facts);
  if (facts->installed) readRules(api, facts);

  facts->classes_listed =
      listEach(api, "/apis/node.k8s.io/v1/runtimeclasses", "", [&](const json::value& o) {
        facts->classes.push_back(textAt(o, {"metadata", "name"}));
      });
}

void readLease(KubeApi& api, bool watch, ClusterFacts* facts, json::value* object) {
  const std::string path = kube::leasePath(facts->namespace_name, facts->own_scheduler);
  std::string first;
  for (int observation = 0; observation < (watch ? kMaxLooks : 1); ++observation) {
    if (observation > 0) poll(nullptr, 0, kPollMs);
    Result<json::value> lease = api.call({kube::Verb::kGet, path});
    if (!lease) {
      if (lease.error().code() != ErrorCode::kNotFound) facts->lease_read = lease.error();
      return;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string renewed = textAt(*lease, {"spec", "renewTime"});
    doctor::LeaseFacts found;
    found.holder = textAt(*lease, {"spec", "holderIdentity"});
    found.seconds = integerAt(*lease, {"spec", "leaseDurationSeconds"});
    found.renewed_ms = rfc3339Ms(renewed, Rfc3339Form::kUtc);
    found.looked_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    found.moved = observation > 0 && renewed != first;
    if (observation == 0) first = renewed;
    const bool done = found.moved || found.holder.empty() || renewed.empty();
    facts->lease = std::move(found);
    *object = std::move(*lease);
    if (done) return;
  }
}

}  // namespace divvy::cli
