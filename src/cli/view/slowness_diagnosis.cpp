#include "view/slowness_diagnosis.h"

#include <algorithm>
#include <string_view>

#include "view/memory_notes.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

// Permille of the last second; less is not noticeable.
constexpr unsigned kNoticed = 50;
constexpr int kBusy = 10;
// A kernel longer than several turns is mentioned.
constexpr std::uint64_t kLongUs = 40000;

std::string labelOf(const agent::TenantView& tenant) {
  return tenant.name.empty() ? tenant.id : tenant.name;
}

int rankOf(const std::string& priority) {
  return priority == "high" ? 2 : priority == "low" ? 0 : 1;
}

bool isRunnable(const agent::TenantView& tenant) {
  const auto busy = [](const agent::ShareView& share) { return share.got_permille >= kBusy; };
  return tenant.throttled_permille >= kBusy ||
         std::any_of(tenant.shares.begin(), tenant.shares.end(), busy);
}

bool onSameCard(const agent::TenantView& one, const agent::TenantView& two) {
  for (const agent::ShareView& a : one.shares) {
    for (const agent::ShareView& b : two.shares) {
      if (a.uuid == b.uuid) return true;
    }
  }
  return false;
}

std::vector<const agent::TenantView*> rivalsOf(const agent::TenantView& tenant,
                                               const agent::Snapshot& node) {
  std::vector<const agent::TenantView*> rivals;
  for (const agent::TenantView& other : node.tenants) {
    if (other.id != tenant.id && isRunnable(other) && onSameCard(tenant, other))
      rivals.push_back(&other);
  }
  return rivals;
}

// "1 other is", "2 others are".
std::string others(std::size_t count, const std::string& kind = "") {
  const std::string words = std::to_string(count) + (count == 1 ? " other" : " others") + kind;
  return words + (count == 1 ? " is" : " are");
}

bool atItsCap(const agent::TenantView& tenant) {
  if (tenant.cores_policy != "cap" || tenant.shares.empty()) return false;
  if (tenant.mode == "cap") return true;
  constexpr int kNear = 20;  // permille; a tenant held by its cap is this close to it
  return std::all_of(tenant.shares.begin(), tenant.shares.end(), [](const agent::ShareView& share) {
    return share.got_permille >= static_cast<int>(share.cores) * 10 - kNear;
  });
}

std::string causeOf(const agent::TenantView& tenant,
                    const std::vector<const agent::TenantView*>& rivals) {
  if (atItsCap(tenant))
    return "held at its cap of " + std::to_string(tenant.shares.front().cores) + "%";
  const auto above = static_cast<std::size_t>(
      std::count_if(rivals.begin(), rivals.end(), [&](const agent::TenantView* rival) {
        return rankOf(rival->priority) > rankOf(tenant.priority);
      }));
  if (above != 0)
    return "its priority is " + tenant.priority + " and " + others(above, " of higher priority") +
           " busy";
  const bool first = std::all_of(rivals.begin(), rivals.end(), [&](const agent::TenantView* rival) {
    return rankOf(rival->priority) < rankOf(tenant.priority);
  });
  if (first && !rivals.empty()) return "other tenants finish running work before its turn";
  const std::string share = "its share is " + std::to_string(tenant.weight) + "%";
  return rivals.empty() ? share : share + " and " + others(rivals.size()) + " busy";
}

}  // namespace

std::vector<std::string> whySlow(const agent::TenantView& tenant, const agent::Snapshot& node) {
  if (tenant.state == "broken") return {"broken: " + tenant.note};
  const std::vector<const agent::TenantView*> rivals = rivalsOf(tenant, node);
  std::vector<std::string> reasons = whyWithoutMemory(tenant, node);
  // A tenant without its memory has no turn of compute either.
  const bool waits = tenant.memory == "waiting" || tenant.memory == "coming";
  const bool held = tenant.throttled_permille >= kNoticed && !waits;
  if (tenant.mode == "ungated")
    reasons.push_back("ungated: no contact with the agent, its compute is not limited now");
  if (held)
    reasons.push_back("waits " + std::to_string(tenant.throttled_permille / 10) +
                      "% of the time: " + causeOf(tenant, rivals));
  for (const agent::TenantView* rival : rivals) {
    if (held && rival->longest_us >= kLongUs)
      reasons.push_back("waits for kernels of " + labelOf(*rival) + ", which take up to " +
                        timeWord(rival->longest_us) + " each");
  }
  const bool blocks = std::any_of(rivals.begin(), rivals.end(), [](const agent::TenantView* rival) {
    return rival->throttled_permille >= kNoticed;
  });
  if (tenant.longest_us >= kLongUs && blocks)
    reasons.push_back("its longest kernel is " + timeWord(tenant.longest_us) +
                      ": its time slices end late and are less frequent");
  if (tenant.unpreemptible)
    reasons.emplace_back(
        "unpreemptible: its work outlasts its time slices, others start beside it");
  if (!tenant.bypass.empty()) reasons.push_back("bypasses its limits: " + tenant.bypass);
  if (tenant.distrusted)
    reasons.emplace_back(
        "distrusted: reports less use than the driver, is charged full time slices");
  return reasons;
}

}  // namespace divvy::cli
