#include "doctor/checks.h"

#include <algorithm>
#include <map>

#include "checks/check_lists.h"

namespace divvy::doctor {
namespace {

template <typename Entries>
void append(Entries more, Entries* all) {
  all->insert(all->end(), more.begin(), more.end());
}

const NodeEntries& nodeEntries() {
  static const NodeEntries all = [] {
    NodeEntries made;
    for (NodeEntries (*part)() : {driverChecks, agentChecks, settingsChecks, installChecks,
                                  runtimeChecks, kubeletChecks, machineChecks})
      append(part(), &made);
    return made;
  }();
  return all;
}

const ClusterEntries& clusterEntries() {
  static const ClusterEntries all = [] {
    ClusterEntries made = controlChecks();
    append(nodesChecks(), &made);
    return made;
  }();
  return all;
}

bool isSelected(const std::string& id, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), id) != only.end();
}

// A cluster may have a thousand findings of one kind; users can list all of them.
void shorten(Findings* findings) {
  std::map<FindingState, std::size_t> counts;
  Findings kept;
  for (Finding& one : *findings)
    if (++counts[one.state] <= kMaxOfOne) kept.push_back(std::move(one));
  for (const auto& [state, count] : counts) {
    if (count <= kMaxOfOne) continue;
    Finding more = *std::find_if(kept.begin(), kept.end(), [state = state](const Finding& one) {
      return one.state == state;
    });
    more.subject.clear();
    more.seen = std::to_string(count - kMaxOfOne) + " more of the same kind";
    kept.push_back(std::move(more));
  }
  *findings = std::move(kept);
}

template <typename Facts>
Findings diagnoseWith(const std::vector<CheckEntry<Facts>>& entries, FindingScope scope,
                      const Facts& facts, const std::vector<std::string>& only) {
  Findings all;
  for (const CheckEntry<Facts>& entry : entries) {
    if (!isSelected(entry.id, only)) continue;
    Findings found;
    FindingBuilder sink(entry.id, scope, &found);
    entry.run(facts, sink);
    // A check without a finding would be mistaken for health.
    if (!sink.hasFindings()) sink.skip("nothing to check was found");
    shorten(&found);
    for (Finding& one : found) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> made;
    for (const auto& one : nodeEntries())
      made.push_back({one.id, FindingScope::kNode, one.question});
    for (const auto& one : clusterEntries())
      made.push_back({one.id, FindingScope::kCluster, one.question});
    return made;
  }();
  return all;
}

const Check* checkNamed(std::string_view id) {
  for (const Check& one : checks())
    if (one.id == id) return &one;
  return nullptr;
}

Findings diagnose(const NodeFacts& facts, const std::vector<std::string>& only) {
  return diagnoseWith(nodeEntries(), FindingScope::kNode, facts, only);
}

Findings diagnose(const ClusterFacts& facts, const std::vector<std::string>& only) {
  if (facts.fault) {
    Findings all = skipAll(FindingScope::kCluster, "cannot reach the API server", only);
    std::erase_if(all, [](const Finding& one) { return one.id == clusterEntries().front().id; });
    if (!isSelected(clusterEntries().front().id, only)) return all;
    Findings first;
    FindingBuilder sink(clusterEntries().front().id, FindingScope::kCluster, &first);
    clusterEntries().front().run(facts, sink);
    all.insert(all.begin(), first.begin(), first.end());
    return all;
  }
  return diagnoseWith(clusterEntries(), FindingScope::kCluster, facts, only);
}

Findings skipAll(FindingScope scope, const std::string& why, const std::vector<std::string>& only) {
  Findings all;
  for (const Check& one : checks())
    if (one.scope == scope && isSelected(one.id, only))
      all.push_back({one.id, scope, FindingState::kSkipped, "", why, "", ""});
  return all;
}

}  // namespace divvy::doctor
