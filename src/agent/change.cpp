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
  if (request.cores != 0) {
    plan.share.cores = request.cores;
    const unsigned others = card.cores_reserved - std::min(card.cores_reserved, old.cores);
    if (others + request.cores > 100) {
      return noRoom(card, std::to_string(request.cores) + "% of the compute asked, " +
                              std::to_string(100 - std::min(others, 100u)) + "% can be had");
    }
  }
  return plan;
}

}  // namespace

Result<void> Tenants::change(const TenantPtr& tenant, const SetRequest& request) {
  if (!tenant->pages)
    return Error{ErrorCode::kCorrupt, "this tenant's ledger is broken: " + tenant->broken};
  if (!request.name.empty()) {
    const TenantPtr other = find(request.name);
    if (other != nullptr && other != tenant) {
      return Error{ErrorCode::kUsage,
                   "name \"" + request.name + "\" belongs to tenant " + other->record.id};
    }
  }
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
  for (const NewShare& plan : plans) {
    if (request.has_memory) {
      Result<void> set = tenant->pages->setMemory(plan.device, plan.share.limit, plan.share.limit);
      if (!set) return set;
    }
    if (request.cores != 0) {
      Result<void> set = tenant->pages->setCores(plan.device, plan.share.cores, plan.share.cores);
      if (!set) return set;
    }
    tenant->record.shares[plan.device] = plan.share;
  }
  if (!request.name.empty()) tenant->record.name = request.name;
  // The control page holds the limits; this note only spares a successor a guess.
  Result<void> saved = saveRecord(tenant->dir, tenant->record);
  if (!saved) warn("tenant " + tenant->record.id + ": " + saved.error().message());
  info("tenant " + tenant->record.id + " changed");
  changed_();
  return {};
}

}  // namespace divvy::agent
