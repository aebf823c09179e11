#include "codec/hami_agent_nodes.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kComponent = "app.kubernetes.io/component";
constexpr const char* kPlugin = "hami-device-plugin";

}  // namespace

bool HamiAgentNodes::set(const kube::Pod& pod) {
  const auto label = pod.meta.labels.find(kComponent);
  const bool agent = label != pod.meta.labels.end() && label->second == kPlugin;
  if (!agent || pod.node.empty() || pod.ended()) {
    remove(pod.meta.uid);
    return false;
  }
  where_.insert_or_assign(pod.meta.uid, pod.node);
  std::set<std::string>& there = nodes_[pod.node];
  const bool first = there.empty();
  there.insert(pod.meta.uid);
  return first;
}

void HamiAgentNodes::remove(const std::string& uid) {
  const auto found = where_.find(uid);
  if (found == where_.end()) return;
  const auto there = nodes_.find(found->second);
  there->second.erase(uid);
  if (there->second.empty()) nodes_.erase(there);
  where_.erase(found);
}

}  // namespace divvy::scheduler
