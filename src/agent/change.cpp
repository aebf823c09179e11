// `divvy set`: new limits for a living share.
#include <algorithm>

#include "log.h"
#include "tenants.h"

namespace divvy::agent {
namespace {

struct NewShare {
  unsigned device = 0;  // in the tenant's own order
  ShareRecord share;
};

Error noRoom(const Card& card, const std::string& what) {
  return {ErrorCode::kNoRoom,
          "device " + std::to_string(card.index) + " (" + card.model + "): " + what};
}

Result<NewShare> planShare(const SetRequest& request, const Tenant& tenant, unsigned device,
                           const Card& card) {
  const ShareRecord& old = tenant.record.shares[device];
  NewShare plan{device, old};
  if (request.has_memory) {
    const bool inside = tenant.record.context_inside;
    plan.share.limit = request.memory.on(card.physical);
    plan.share.reserve = inside ? plan.share.limit : plan.share.limit + card.context;
    if (plan.share.reserve > card.physical) {
      return Error{ErrorCode::kUsage, "device " + std::to_string(card.index) + " (" + card.model +
                                          ") has " + formatBytes(card.physical) + ", " +
                                          formatBytes(plan.share.reserve) + " asked"};
    }
    if (!canGrow(card, old.reserve, plan.share.reserve)) {
      if (!card.healthy) return noRoom(card, "is out of service, its share cannot grow");
      return noRoom(card, formatBytes(plan.share.reserve) + " asked, " +
                              formatBytes(old.reserve + card.free()) + " can be had");
    }
  }
  if (request.cores != 0)
    plan.share.cores = request.cores / static_cast<unsigned>(tenant.record.shares.size());
  return plan;
}

Result<void> checkCompute(const SetRequest& request, const TenantRecord& record) {
  const std::size_t gpus = record.shares.size();
  const auto usage = [&](const std::string& why) {
    return Error{ErrorCode::kUsage, why + "; accepted for this tenant: " + std::to_string(gpus) +
                                        " to " + std::to_string(100 * gpus)};
  };
  const std::string asked = std::to_string(request.cores);
  if (request.cores > 100 * gpus)
    return usage("--cores " + asked + " is more than 100 for each of its GPUs");
  if (request.cores != 0 && request.cores < gpus)
    return usage("--cores " + asked + " is less than 1 for each of its GPUs");
  const bool has_cores = request.cores != 0 || (gpus != 0 && record.shares[0].cores != 0);
  if (request.cores_policy == CoresPolicy::kCap && !has_cores)
    return Error{ErrorCode::kUsage, "--cores-policy cap caps at --cores, which this tenant lacks"};
  return {};
}

// As seen with the share on each card counted anew.
std::vector<std::string> notesOn(const std::vector<NewShare>& plans, const Tenant& tenant,
                                 std::vector<Card> cards) {
  std::vector<Placed> shares;
  for (const NewShare& plan : plans) {
    for (Card& card : cards) {
      if (card.uuid != plan.share.uuid) continue;
      card.cores_reserved -= std::min(card.cores_reserved, tenant.record.shares[plan.device].cores);
      shares.push_back({card.index, plan.share.limit, plan.share.reserve, plan.share.cores});
    }
  }
  return coresNotes(shares, cards);
}

}  // namespace

Result<std::vector<std::string>> Tenants::change(const TenantPtr& tenant,
                                                 const SetRequest& request) {
  if (!tenant->pages)
    return Error{ErrorCode::kCorrupt, "this tenant's ledger is broken: " + tenant->broken};
  if (!request.name.empty()) {
    const TenantPtr other = find(request.name);
    if (other != nullptr && other != tenant) {
      return Error{ErrorCode::kUsage,
                   "name \"" + request.name + "\" belongs to tenant " + other->record.id};
    }
  }
  Result<void> compute = checkCompute(request, tenant->record);
  if (compute && (request.cores != 0 || request.cores_policy || request.priority))
    compute = canChangeCompute(tenant->record.backend);
  if (!compute) return compute.error();
  const std::vector<Card> all = cards();
  std::vector<NewShare> plans;
  for (unsigned device = 0; device < tenant->record.shares.size(); ++device) {
    const auto card = std::find_if(all.begin(), all.end(), [&](const Card& c) {
      return c.uuid == tenant->record.shares[device].uuid;
    });
    if (card == all.end())
      return Error{ErrorCode::kUnavailable, tenant->record.shares[device].uuid + " is gone"};
    Result<NewShare> plan = planShare(request, *tenant, device, *card);
    if (!plan) return plan.error();
    plans.push_back(*plan);
  }
  std::vector<std::string> notes;
  if (request.cores != 0) notes = notesOn(plans, *tenant, all);
  const CoresPolicy policy = request.cores_policy.value_or(tenant->record.cores_policy);
  for (const NewShare& plan : plans) {
    if (request.has_memory) {
      Result<void> set = tenant->pages->setMemory(plan.device, plan.share.limit, plan.share.limit);
      if (!set) return set.error();
    }
    if (request.cores != 0 || request.cores_policy) {
      const unsigned ceiling = coresCeiling(policy, plan.share.cores);
      Result<void> set = tenant->pages->setCores(plan.device, plan.share.cores, ceiling);
      if (!set) return set.error();
    }
    tenant->record.shares[plan.device] = plan.share;
  }
  tenant->record.cores_policy = policy;
  tenant->record.priority = request.priority.value_or(tenant->record.priority);
  if (!request.name.empty()) tenant->record.name = request.name;
  arbiters_.change(tenant->record.id, termsOf(tenant->record));
  // The control page holds the limits; this note only spares a successor a guess.
  Result<void> saved = saveRecord(tenant->dir, tenant->record);
  if (!saved) warn("tenant " + tenant->record.id + ": " + saved.error().message());
  info("tenant " + tenant->record.id + " changed");
  changed_();
  return notes;
}

}  // namespace divvy::agent
