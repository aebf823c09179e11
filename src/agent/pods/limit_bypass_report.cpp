#include "pods/limit_bypass_report.h"

#include <algorithm>

namespace divvy::agent {

kube::Complaints bypassPods(const std::vector<PodBypass>& found, bool evicts, std::uint64_t now_ms,
                            const kube::Complaints& before, const Deadlines& deadlines) {
  kube::Complaints pods;
  for (const PodBypass& one : found) {
    if (pods.size() == kube::kMaxComplaints && !pods.contains(one.uid)) continue;
    kube::EvictionRequest said{one.namespace_name, one.pod, std::max<std::int64_t>(one.since, 1), 0,
                               one.what};
    const auto [at, fresh] = pods.try_emplace(one.uid, said);
    if (!fresh && one.since < at->second.since) at->second = said;
  }
  for (auto& [uid, said] : pods) {
    said.what.resize(std::min(said.what.size(), kube::kMaxWords));
    const auto known = before.find(uid);
    if (known != before.end()) {
      said.since = known->second.since;
      said.what = known->second.what;
    }
    said.evicts = evicts && said.namespace_name != kSystemNamespace;
    const auto deadline = deadlines.find(uid);
    const bool past =
        said.evicts && deadline != deadlines.end() && now_ms >= deadline->second.due_ms;
    if (past) said.confirmed = deadline->second.at;
  }
  return pods;
}

}  // namespace divvy::agent
