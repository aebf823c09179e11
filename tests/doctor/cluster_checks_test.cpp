// A cluster on which all is well, and what is told when it is not.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "checks/certificate.h"
#include "made_tree.h"

namespace divvy::doctor {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 24 * 3600;

// A certificate that signs itself, good from then until then.
std::string certificate(std::int64_t from, std::int64_t until) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> it(X509_new(), X509_free);
  ASN1_TIME_set(X509_getm_notBefore(it.get()), from);
  ASN1_TIME_set(X509_getm_notAfter(it.get()), until);
  X509_set_pubkey(it.get(), key.get());
  X509_sign(it.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), it.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

ClusterFacts healthy() {
  ClusterFacts facts;
  facts.server = "10.0.0.1:6443";
  facts.version = versionOf("1", "34", "v1.34.4");
  facts.installed = true;
  facts.now_ms = kNow * 1000;
  facts.webhook = WebhookFacts{
      "divvy-scheduler", "Fail",           certificate(kNow - kDay, kNow + 80 * kDay), false,
      "divvy-system",    "divvy-scheduler"};
  facts.endpoints = 2;
  for (const char* name :
       {"divvy-pod-annotations", "divvy-bindings", "divvy-node-annotations", "divvy-devices",
        "divvy-ephemeral-containers", "divvy-gates", "divvy-priority", "divvy-scheduler-fencing",
        "divvy-visible-devices", "divvy-volcano-annotations", "divvy-agents"})
    facts.policies.push_back({name, true, true});
  facts.queues = true;
  facts.lease = LeaseFacts{"divvy-scheduler-1_uid", facts.now_ms - 700, 8, facts.now_ms, true};
  facts.scheduler = WorkloadFacts{"divvy-system", "divvy-scheduler", 2, 2, ""};
  facts.agent = WorkloadFacts{"divvy-system", "divvy-agent", 3, 3, "nvidia"};
  facts.security = "privileged";
  facts.classes = {"nvidia"};
  facts.nodes = {{"gpu-1", 10, true, "", 8, false, ""}, {"cpu-1", 0, false, "", 0, false, ""}};
  facts.waiting = {{"team-a", "trainer", "divvy-scheduler", false}};
  return facts;
}

TEST(ClusterChecks, HealthyCluster_EveryFindingOk) {
  for (const Finding& one : diagnose(healthy()))
    EXPECT_EQ(one.state, FindingState::kOk) << one.id << ' ' << one.subject << ": " << one.seen;
}

struct Spoiled {
  const char* name;
  const char* id;
  FindingState state;
  std::function<void(ClusterFacts&)> spoil;
};

void tryAll(const std::vector<Spoiled>& all) {
  for (const Spoiled& one : all) {
    ClusterFacts facts = healthy();
    one.spoil(facts);
    const Findings findings = diagnose(facts);
    EXPECT_EQ(stateOf(findings, one.id), one.state) << one.name << "\n" << saidOf(findings, one.id);
    for (const Finding& found : findings) {
      if (found.state == FindingState::kFault) {
        EXPECT_EQ(found.id, one.id) << one.name;
      }
      if (found.state == FindingState::kFault) {
        EXPECT_FALSE(found.fix.empty()) << one.name;
      }
    }
  }
}

TEST(ClusterChecks, InstallationFaults_FoundByTheirCheck) {
  using F = ClusterFacts;
  const auto certified = [](std::int64_t from, std::int64_t until) {
    return [=](F& f) { f.webhook->authorities = certificate(kNow + from, kNow + until); };
  };
  tryAll({
      {"too old", "api-server", FindingState::kFault,
       [](F& f) { f.version = versionOf("1", "29+", "v1.29.9-eks"); }},
      {"of a far future", "api-server", FindingState::kOk,
       [](F& f) { f.version = versionOf("1", "40", "v1.40.0"); }},
      {"an alert of old names", "deprecated-names", FindingState::kWarning,
       [](F& f) { f.deprecated_rules = {"monitoring/gpus"}; }},
      {"no webhook", "webhook-registered", FindingState::kFault, [](F& f) { f.webhook.reset(); }},
      {"fails open", "webhook-registered", FindingState::kWarning,
       [](F& f) { f.webhook->policy = "Ignore"; }},
      {"nobody answers", "webhook-answers", FindingState::kFault, [](F& f) { f.endpoints = 0; }},
      {"no authority", "webhook-certificate", FindingState::kFault,
       [](F& f) { f.webhook->authorities.clear(); }},
      {"no certificate at all", "webhook-certificate", FindingState::kFault,
       [](F& f) { f.webhook->authorities = "bm9uZQ=="; }},
      {"ended", "webhook-certificate", FindingState::kFault, certified(-91 * kDay, -kDay)},
      {"ends soon", "webhook-certificate", FindingState::kWarning,
       certified(-80 * kDay, 10 * kDay)},
      {"has not begun", "webhook-certificate", FindingState::kFault, certified(kDay, 90 * kDay)},
      // While one authority follows the other both are trusted, and the old one may have ended.
      {"the old one ended", "webhook-certificate", FindingState::kOk,
       [](F& f) {
         f.webhook->authorities = certificate(kNow - 90 * kDay, kNow - 1) + f.webhook->authorities;
       }},
      {"a policy is gone", "admission-policies", FindingState::kWarning,
       [](F& f) { f.policies.erase(f.policies.begin()); }},
      {"a policy only warns", "admission-policies", FindingState::kWarning,
       [](F& f) { f.policies[3].denies = false; }},
      {"a policy is not bound", "admission-policies", FindingState::kWarning,
       [](F& f) { f.policies[2].bound = false; }},
      {"no queues", "queue-kind", FindingState::kWarning, [](F& f) { f.queues = false; }},
      {"nobody holds the lease", "scheduler-lease", FindingState::kFault,
       [](F& f) { f.lease->holder.clear(); }},
      {"the lease is stale", "scheduler-lease", FindingState::kFault,
       [](F& f) {
         f.lease->moved = false;
         f.lease->renewed_ms -= 60'000;
       }},
      {"not yet renewed again, but fresh", "scheduler-lease", FindingState::kOk,
       [](F& f) { f.lease->moved = false; }},
      {"fresh by a clock that is off", "clock-skew", FindingState::kWarning,
       [](F& f) { f.lease->renewed_ms -= 3'600'000; }},
      {"ahead", "clock-skew", FindingState::kWarning,
       [](F& f) { f.lease->renewed_ms += 3'600'000; }},
      {"no scheduler is ready", "scheduler-replicas", FindingState::kFault,
       [](F& f) { f.scheduler->ready = 0; }},
      {"one scheduler is", "scheduler-replicas", FindingState::kWarning,
       [](F& f) { f.scheduler->ready = 1; }},
      {"an agent is not ready", "agent-replicas", FindingState::kWarning,
       [](F& f) { f.agent->ready = 2; }},
      {"a restricted namespace", "pod-security", FindingState::kFault,
       [](F& f) { f.security = "restricted"; }},
      {"a class that is not there", "runtime-class", FindingState::kFault,
       [](F& f) { f.classes.clear(); }},
  });
}

TEST(ClusterChecks, NodeAndForeignFaults_FoundByTheirCheck) {
  using F = ClusterFacts;
  tryAll({
      {"not registered", "node-registrations", FindingState::kWarning,
       [](F& f) { f.nodes[0].registered = 0; }},
      {"not readable", "node-registrations", FindingState::kFault,
       [](F& f) { f.nodes[0].unreadable = "annotation hami.io/node-nvidia-register: not JSON"; }},
      {"beyond its inventory", "node-inventories", FindingState::kWarning,
       [](F& f) {
         f.nodes[0].surplus = {"registers 62 devices H100 beyond the 2 of its inventory"};
       }},
      {"served by NVIDIA's plugin", "node-registrations", FindingState::kOk,
       [](F& f) {
         f.nodes[0].registered = 0;
         f.nodes[0].by_plugin = true;
       }},
      {"NVIDIA's DaemonSet", "node-plugins", FindingState::kWarning,
       [](F& f) {
         f.foreign_installations = {{ForeignInstallation::Kind::kPlugin,
                                     "DaemonSet gpu-operator/nvidia-device-plugin", false}};
       }},
      {"a class stands for a count, and the node lacks memory", "device-classes",
       FindingState::kWarning,
       [](F& f) {
         f.mapped = {{"gpu.nvidia.com", "nvidia.com/gpu"}};
         f.nodes[0].unannounced = {"nvidia.com/gpumem"};
       }},
      {"a class stands for a count, and all is announced", "device-classes", FindingState::kOk,
       [](F& f) {
         f.mapped = {{"gpu.nvidia.com", "nvidia.com/gpu"}};
       }},
      {"a class stands for another's", "device-classes", FindingState::kOk,
       [](F& f) {
         f.mapped = {{"nic.example.com", "example.com/nic"}};
         f.nodes[0].unannounced = {"nvidia.com/gpumem"};
       }},
      {"being upgraded", "node-upgrades", FindingState::kWarning,
       [](F& f) { f.nodes[0].upgrading = "drain-required"; }},
      {"another's scheduler", "waiting-pods", FindingState::kWarning,
       [](F& f) {
         f.waiting.push_back({"team-b", "lost", "default-scheduler", false});
       }},
      {"held by a gate", "waiting-pods", FindingState::kOk,
       [](F& f) {
         f.waiting.push_back({"team-b", "gated", "", true});
       }},
      {"cards by the environment", "pods-past-shares", FindingState::kWarning,
       [](F& f) {
         f.past_shares = {{"team-b", "notebook", "c", "all"}};
       }},
      {"an assignment that is none", "pod-assignments", FindingState::kFault,
       [](F& f) { f.pods_unreadable = {"pod a/b: annotation: not understood"}; }},
      {"HAMi is there", "hami-installed", FindingState::kWarning,
       [](F& f) {
         f.foreign_installations = {
             {ForeignInstallation::Kind::kHami, "webhook hami-webhook", true}};
       }},
      {"agents without a class see no cards", "runtime-class", FindingState::kWarning,
       [](F& f) {
         f.agent->runtime_class.clear();
         f.nodes[0].registered = 0;
       }},
  });
}

TEST(ClusterChecks, ServerUnreachable_OneFaultRestSkipped) {
  ClusterFacts facts;
  facts.server = "10.0.0.1:6443";
  facts.fault = Error(ErrorCode::kUnavailable, "connection refused");
  const Findings findings = diagnose(facts);
  EXPECT_EQ(countOf(findings, FindingState::kFault), 1u);
  EXPECT_EQ(findings.front().id, "api-server");
  EXPECT_EQ(countOf(findings, FindingState::kOk), 0u);
  for (const Check& one : checks())
    if (one.scope == FindingScope::kCluster) {
      EXPECT_FALSE(saidOf(findings, one.id).empty()) << one.id;
    }
}

// A user without rights is told so, not that the cluster is broken; nor that it is well.
TEST(ClusterChecks, ListsForbidden_SkippedWithReason) {
  ClusterFacts facts = healthy();
  const Error no(ErrorCode::kIo, "403 Forbidden: leases is forbidden");
  for (ListError* one :
       {&facts.webhooks_listed, &facts.policies_listed, &facts.queues_listed, &facts.lease_read,
        &facts.workloads_listed, &facts.namespaces_listed, &facts.nodes_listed, &facts.pods_listed,
        &facts.rivals_listed, &facts.rules_listed})
    *one = no;
  const Findings findings = diagnose(facts);
  for (const Finding& one : findings) {
    if (one.id == "api-server") continue;
    EXPECT_EQ(one.state, FindingState::kSkipped) << one.id << ": " << one.seen;
    EXPECT_NE(one.seen.find("403"), std::string::npos) << one.id;
  }
}

TEST(ClusterChecks, ClusterWithoutDivvy_OkOrSkipped) {
  ClusterFacts facts;
  facts.server = "10.0.0.1:6443";
  facts.version = versionOf("1", "33", "v1.33.0");
  for (const Finding& one : diagnose(facts))
    EXPECT_TRUE(one.state == FindingState::kOk || one.state == FindingState::kSkipped)
        << one.id << one.seen;
}

TEST(Certificates, Bundles_OnlyCompleteOnesRead) {
  const std::string one = certificate(kNow, kNow + kDay);
  const auto two = validitiesOf(one + one);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->size(), 2u);
  EXPECT_EQ(two->front().until - two->front().from, kDay);
  EXPECT_FALSE(validitiesOf(""));
  EXPECT_FALSE(validitiesOf("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  EXPECT_FALSE(validitiesOf(one + one.substr(0, one.size() / 2)));
}

TEST(ClusterChecks, ServerVersions_Parsed) {
  EXPECT_EQ(versionOf("1", "27+", "v1.27.3-gke")->minor, 27u);
  EXPECT_FALSE(versionOf("", "27", "x"));
  EXPECT_FALSE(versionOf("1", "2x", "x"));
  EXPECT_FALSE(versionOf("1", "99999999999999999999", "x"));
}

}  // namespace
}  // namespace divvy::doctor
