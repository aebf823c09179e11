#include "cluster_console/agent_scraper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster_console/agent_snapshot.h"

namespace divvy::cli {
namespace {

constexpr std::chrono::seconds kBound{3};
constexpr std::chrono::seconds kRound{10};
constexpr std::chrono::milliseconds kBetween{100};
// An agent that did not answer is not asked again before.
constexpr std::chrono::seconds kSilent{60};
// Older figures are not shown.
constexpr std::chrono::seconds kFresh{60};

std::string pathOf(const AgentPod& agent, const std::string& path) {
  return "/api/v1/namespaces/" + agent.namespace_name + "/pods/" + agent.name + ':' +
         std::to_string(agent.port) + "/proxy" + path;
}

// An agent of an earlier release has metrics only.
Result<AgentUsage> usageOf(KubeApi& api, const AgentPod& agent) {
  Result<std::string> text = api.text(pathOf(agent, agent::kSnapshotPath));
  if (text) return agentUsageOfSnapshot(*text);
  if (text.error().code() != ErrorCode::kNotFound) return text.error();
  text = api.text(pathOf(agent, "/metrics"));
  if (!text) return text.error();
  return agentUsageOf(*text);
}

}  // namespace

AgentScraper::AgentScraper(ConnectionOptions connection, ListAgents list)
    : connection_(std::move(connection)), list_(std::move(list)) {
  thread_ = std::thread([this] { serve(); });
}

AgentScraper::~AgentScraper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

bool AgentScraper::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return ending_; });
}

void AgentScraper::serve() {
  do {
    Result<kube::Access> access = accessFor(connection_);
    if (!access) continue;
    kube::ClientOptions terms;
    terms.bound = kBound;
    terms.tries = 1;
    const Result<std::unique_ptr<KubeApi>> api = KubeApi::open(std::move(*access), terms);
    if (api) readAll(**api);
  } while (!pause(kRound));
}

void AgentScraper::readAll(KubeApi& api) {
  const std::vector<AgentPod> agents = list_();
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(nodes_, [&](const auto& node) {
      return std::none_of(agents.begin(), agents.end(),
                          [&](const AgentPod& agent) { return agent.node == node.first; });
    });
    // So that it is known which ones have not been asked.
    for (const AgentPod& agent : agents) nodes_[agent.node];
  }
  for (const AgentPod& agent : agents) {
    {
      const std::lock_guard lock(mutex_);
      const Known& known = nodes_[agent.node];
      if (!known.failure.empty() && Clock::now() - known.tried < kSilent) continue;
    }
    keep(agent, usageOf(api, agent));
    if (pause(kBetween)) return;
  }
}

void AgentScraper::keep(const AgentPod& agent, Result<AgentUsage> use) {
  const std::lock_guard lock(mutex_);
  Known& known = nodes_[agent.node];
  known.tried = Clock::now();
  known.failure = use ? "" : agent.node + ": " + use.error().message();
  if (!use) return;
  known.use = std::move(*use);
  known.read = known.tried;
}

void AgentScraper::addTo(console::ClusterReading* reading) {
  const std::lock_guard lock(mutex_);
  for (const auto& [node, known] : nodes_) {
    if (known.tried == Clock::time_point{}) {
      ++reading->agents.unasked;
      continue;
    }
    ++reading->agents.known;
    if (known.failure.empty()) ++reading->agents.answering;
    if (!known.failure.empty() && reading->agents.failure.empty())
      reading->agents.failure = known.failure;
    if (known.read == Clock::time_point{} || Clock::now() - known.read > kFresh) continue;
    for (const auto& [uuid, use] : known.use.devices) reading->device_use[node + '/' + uuid] = use;
    for (const auto& [key, use] : known.use.shares) reading->share_use[key] = use;
  }
}

}  // namespace divvy::cli
