#include "plugin_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <set>

namespace divvy::test {
namespace {

constexpr std::size_t kCards = 4;
// As /run is: what is written there waits for no disk.
constexpr const char* kMemory = "/dev/shm";
constexpr const char* kMachine = "sim-h100x4";

}  // namespace

PluginProcess::PluginProcess(bool begun)
    : api(kNode), kubelet(kResource), sandbox(kMachine, kMemory) {
  const std::string kubeconfig = kubelet.root() + "/kubeconfig";
  std::ofstream(kubeconfig) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                            << "clusters: [{name: c, cluster: {server: \"" << api.url() << "\"}}]\n"
                            << "users: [{name: c, user: {}}]\n"
                            << "contexts: [{name: c, context: {cluster: c, user: c}}]\n";
  words_ = {"agent", "--node", kMachine, "--node-name", kNode, "--kubeconfig", kubeconfig,
            "--kubelet-dir", kubelet.root(), "--resource", kResource, "--model-names", "off",
            "--metrics-listen", "none", "--injection", "mounts", "--cdi-dir", "none",
            // Nobody reads what it says while it says it.
            "--log-file"};
  if (begun) beginAgent();
}

PluginProcess::~PluginProcess() {
  api.removePods();
  if (!agent_) return;
  EXPECT_TRUE(sandbox.tenantCount(0));
  endAgent();
}

void PluginProcess::beginAgent(const Words& more) {
  Words words = words_;
  words.insert(words.end(), more.begin(), more.end());
  agent_.emplace(sandbox.start(words));
}

void PluginProcess::killAgent() {
  agent_->signal(SIGKILL);
  agent_->wait();
  agent_.reset();
}

void PluginProcess::endAgent() {
  agent_->signal(SIGTERM);
  agent_->wait();
  agent_.reset();
}

bool PluginProcess::says(const std::string& words) {
  return eventually([&] { return sandbox.agentLog().find(words) != std::string::npos; });
}

void PluginProcess::replaceAgent() {
  killAgent();
  EXPECT_TRUE(kubelet.lost());
  beginAgent();
  EXPECT_TRUE(kubelet.offered(kCards * kUnits));
}

bool PluginProcess::ready() {
  if (!kubelet.offered(kCards * kUnits)) {
    std::fprintf(stderr, "no units are offered\n%s", sandbox.agentLog().c_str());
    return false;
  }
  cards_ = kubelet.cards();
  return true;
}

}  // namespace divvy::test
