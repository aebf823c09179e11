#include "fake_cluster.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/base64.h"
#include "kube/registration.h"
#include "one_card.h"

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

std::string authority() {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> it(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(it.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(it.get()), 80L * 24 * 3600);
  X509_set_pubkey(it.get(), key.get());
  X509_sign(it.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), it.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return toBase64({text, static_cast<std::size_t>(size)});
}

std::string now() {
  const std::time_t at = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&at, &utc);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000000Z", &utc);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "\"";
}

std::string nodeText() {
  return R"({"metadata":{"name":"gpu-node-7","uid":"n1",)"
         R"("labels":{"nvidia.com/gpu.present":"true"},)"
         R"("annotations":{"hami.io/node-nvidia-register":)" +
         quoted(kube::encode({oneCard()})) +
         R"(,"corp.example/key":"CANARY-annotation"}},)"
         R"("status":{"allocatable":{"nvidia.com/gpu":"10"},)"
         R"("addresses":[{"address":"CANARY-address"}]}})";
}

std::string podText() {
  return R"({"metadata":{"name":"trainer","namespace":"team-secret","uid":"p1"},)"
         R"("spec":{"schedulerName":"divvy-scheduler",)"
         R"("volumes":[{"secret":{"secretName":"CANARY-s"}}],)"
         R"("containers":[{"name":"main","image":"CANARY-image","command":["CANARY-command"],)"
         R"("env":[{"name":"TOKEN","value":"CANARY-env"}],)"
         R"("resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})";
}

std::string policiesText(bool bindings) {
  std::string all;
  for (const char* name :
       {"divvy-pod-annotations", "divvy-bindings", "divvy-node-annotations", "divvy-devices",
        "divvy-ephemeral-containers", "divvy-gates", "divvy-priority", "divvy-scheduler-fencing",
        "divvy-visible-devices", "divvy-volcano-annotations", "divvy-agents"}) {
    all += (all.empty() ? "" : ",") + ("{\"metadata\":{\"name\":\"" + std::string(name) + "\"}");
    if (bindings)
      all += ",\"spec\":{\"policyName\":\"" + std::string(name) +
             "\",\"validationActions\":[\"Deny\"]}";
    all += "}";
  }
  return all;
}

}  // namespace

FakeCluster::FakeCluster(std::map<std::string, Said> objects) {
  std::vector<http::Route> routes;
  for (const auto& [path, said] : objects)
    routes.push_back({"GET", path, 0, [said = said](http::Query) -> asio::awaitable<http::Answer> {
                        co_return http::Answer{said.status, said.body};
                      }});
  Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop_.get_executor(), {}, std::move(routes));
  if (!server) return;
  server_ = std::move(*server);
  std::string pattern = fs::temp_directory_path().string() + "/divvy-cluster-XXXXXX";
  folder_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  kubeconfig_ = folder_ + "/kubeconfig";
  std::ofstream(kubeconfig_) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                                "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:"
                             << server_->port()
                             << "'}}]\nusers: [{name: u, user: {token: CANARY-token}}]\n";
  serving_ = std::thread([this] { loop_.run(); });
}

FakeCluster::~FakeCluster() {
  loop_.stop();
  if (serving_.joinable()) serving_.join();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

std::map<std::string, FakeCluster::Said> healthyCluster() {
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/";
  const std::string ours = "/api/v1/namespaces/divvy-system";
  const auto list = FakeCluster::list;
  return {
      {"/version", {200, R"({"major":"1","minor":"34","gitVersion":"v1.34.4"})"}},
      {admission + "mutatingwebhookconfigurations",
       list(R"({"metadata":{"name":"divvy-scheduler"},"webhooks":[{"name":"pods.divvy.dev",)"
            R"("failurePolicy":"Fail","clientConfig":{"caBundle":")" +
            authority() +
            R"(","service":{"namespace":"divvy-system","name":"divvy-scheduler"}}}]})")},
      {admission + "validatingadmissionpolicies", list(policiesText(false))},
      {admission + "validatingadmissionpolicybindings", list(policiesText(true))},
      {"/apis/divvy.dev", {200, R"({"kind":"APIGroup"})"}},
      {"/apis/apps/v1/deployments",
       list(R"({"metadata":{"name":"divvy-scheduler","namespace":"divvy-system"},)"
            R"("spec":{"replicas":2},"status":{"readyReplicas":2}})")},
      {"/apis/apps/v1/daemonsets",
       list(R"({"metadata":{"name":"divvy-agent","namespace":"divvy-system"},)"
            R"("status":{"desiredNumberScheduled":1,"numberReady":1}})")},
      {"/apis/discovery.k8s.io/v1/namespaces/divvy-system/endpointslices",
       list(R"({"endpoints":[{"addresses":["10.1.0.5"],"conditions":{"ready":true}}]})")},
      {ours, {200, R"({"metadata":{"name":"divvy-system","labels":{}}})"}},
      {"/apis/node.k8s.io/v1/runtimeclasses", list("")},
      {"/apis/coordination.k8s.io/v1/namespaces/divvy-system/leases/divvy-scheduler",
       {200, R"({"metadata":{"name":"divvy-scheduler"},"spec":{"holderIdentity":"trainer_1",)"
             R"("leaseDurationSeconds":60,"renewTime":")" +
                 now() + "\"}}"}},
      {"/api/v1/nodes", list(nodeText())},
      {"/api/v1/pods", list(podText())},
      {ours + "/configmaps",
       list(R"({"metadata":{"name":"divvy-scheduler","labels":{"app.kubernetes.io/name":"divvy"}},)"
            R"("data":{"config.yaml":"password: CANARY-in-data"}},)"
            R"({"metadata":{"name":"other"},"data":{"x":"CANARY-map"}})")},
      {"/api/v1/events",
       list(R"({"reason":"FailedScheduling","message":"0/1 nodes: trainer waits",)"
            R"("reportingComponent":)"
            R"("divvy-scheduler","involvedObject":{"namespace":"team-secret","name":"trainer"}},)"
            R"({"reason":"Failed","message":"exec: CANARY-exec",)"
            R"("source":{"component":"kubelet"}})")},
  };
}

}  // namespace divvy::test
