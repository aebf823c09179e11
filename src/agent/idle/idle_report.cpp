#include "idle/idle_report.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace divvy::agent {
namespace {

// Two agents may compute instants of one idle period that differ by this much.
constexpr std::int64_t kSame = 5;

struct PodRest {
  const PodContainer* pod = nullptr;
  bool all = true;  // all containers seen so far are idle
  std::uint64_t idle_ms = UINT64_MAX;
};

}  // namespace

void noteDeadline(Deadlines* deadlines, const std::string& uid, std::int64_t at, std::int64_t wall,
                  std::uint64_t now_ms) {
  if (at == 0) {
    deadlines->erase(uid);
    return;
  }
  Deadline& known = (*deadlines)[uid];
  if (known.at == at) return;
  const auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(at - wall, 0));
  known = {at, now_ms + left * 1000};
}

kube::Complaints idlePods(const std::vector<IdleContainer>& containers, const Instant& now,
                          const kube::Complaints& before, const Deadlines& deadlines) {
  std::map<std::string, PodRest> pods;
  for (const IdleContainer& one : containers) {
    PodRest& rest = pods[one.lodger.uid];
    rest.pod = &one.lodger;
    rest.all = rest.all && one.known && one.after_ms != 0 && one.idle_ms >= one.after_ms;
    rest.idle_ms = std::min(rest.idle_ms, one.idle_ms);
  }
  kube::Complaints idle;
  for (const auto& [uid, rest] : pods) {
    if (!rest.all) continue;
    std::int64_t since = now.wall - static_cast<std::int64_t>(rest.idle_ms / 1000);
    const auto known = before.find(uid);
    if (known != before.end() && std::abs(known->second.since - since) <= kSame)
      since = known->second.since;
    const auto deadline = deadlines.find(uid);
    const bool past = deadline != deadlines.end() && now.steady_ms >= deadline->second.due_ms;
    idle[uid] = {rest.pod->namespace_name, rest.pod->pod, std::max<std::int64_t>(since, 1),
                 past ? deadline->second.at : 0};
    if (idle.size() == kube::kMaxComplaints) break;
  }
  return idle;
}

}  // namespace divvy::agent
