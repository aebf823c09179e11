// `divvy set`: new limits for a living share.
#include <algorithm>

#include "os/log.h"
#include "tenant/resize_check.h"
#include "tenant/tenant_events.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

// In the making.
struct NewShare {
  unsigned device = 0;  // in the tenant's own order
  ShareRecord share;
};

namespace {

constexpr const char* kAllGuaranteed = "all of its memory is guaranteed: nothing of it is swapped";

Error noRoom(const Card& card, const std::string& what) {
  return {ErrorCode::kNoRoom,
          "device " + std::to_string(card.index) + " (" + card.model + "): " + what};
}

// On a card whose memory is promised once, all of a share is guaranteed.
Result<Bytes> newGuarantee(const SetRequest& request, const ShareRecord& old, Bytes limit,
                           const Card& card) {
  if (!card.overcommitted() && !swaps(old)) return limit;
  if (!request.guaranteed) return swaps(old) ? std::min(old.guarantee, limit) : limit;
  const Bytes guarantee = limitOn(*request.guaranteed, card);
  if (guarantee <= limit) return guarantee;
  return Error{ErrorCode::kUsage, "device " + std::to_string(card.index) + " (" + card.model +
                                      "): --guaranteed " + request.guaranteed->text() +
                                      " is more than the share; accepted: at most " +
                                      formatBytes(limit)};
}

// Why a share there cannot grow, whatever room there is; null: it can.
const char* shut(const Card& card) {
  if (card.excluded) return "is excluded on this node, its share cannot grow";
  return card.healthy ? nullptr : "is out of service, its share cannot grow";
}

// Where memory is promised once.
Result<void> checkOnce(const Card& card, const ShareRecord& old, const ShareRecord& wanted) {
  if (wanted.reserve > card.physical) {
    return Error{ErrorCode::kUsage, "device " + std::to_string(card.index) + " (" + card.model +
                                        ") has " + formatBytes(card.physical) + ", " +
                                        formatBytes(wanted.reserve) + " asked"};
  }
  if (canGrow(card, old.reserve, wanted.reserve)) return {};
  if (const char* why = shut(card)) return noRoom(card, why);
  return noRoom(card, formatBytes(wanted.reserve) + " asked, " +
                          formatBytes(old.reserve + card.free()) + " can be had");
}

// Where it is promised more than once; `others`: all cards without this tenant, and it is put
// there.
Result<void> checkPromise(std::vector<Card>& others, Card& card, const ShareRecord& old,
                          const ShareRecord& wanted, bool inside, Bytes host_reserve) {
  const auto partOf = [&](const ShareRecord& share) {
    return engine::Part{share.limit, floorOf(card, share.guarantee, share.limit, inside),
                        inside ? Bytes{} : card.context};
  };
  const engine::Part before = partOf(old);
  const engine::Part part = partOf(wanted);
  if (part.limit > before.limit || part.floor > before.floor) {
    if (const char* why = shut(card)) return noRoom(card, why);
    const bool maps = card.host_map && part.floor < part.limit;
    if (!maps && wanted.reserve > card.most())
      return Error{ErrorCode::kUsage,
                   noRoom(card, "tenants may have " + formatBytes(card.most()) + " at once, " +
                                    formatBytes(wanted.reserve) + " asked")
                       .message()};
    const auto refused =
        engine::refuseNow(card.placementInput(), part, hostLeft(others, host_reserve));
    if (refused) return noRoom(card, refusalOf(card, *refused).text());
  }
  card.reserved = card.reserved + part.limit + part.outside;
  card.outside = card.outside + part.outside;
  card.guaranteed = card.guaranteed + part.floor;
  card.largest = std::max(card.largest, part.limit - part.floor);
  return {};
}

Result<NewShare> planShare(const SetRequest& request, const Tenant& tenant, unsigned device,
                           const Card& card) {
  const ShareRecord& old = tenant.record.shares[device];
  NewShare plan{device, old};
  if (request.has_memory) {
    const bool inside = tenant.record.context_inside;
    plan.share.limit = limitOn(request.memory, card);
    plan.share.reserve = inside ? plan.share.limit : plan.share.limit + card.context;
  }
  if (request.has_memory || request.guaranteed) {
    Result<Bytes> guarantee = newGuarantee(request, old, plan.share.limit, card);
    if (!guarantee) return guarantee.error();
    plan.share.guarantee = *guarantee;
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
std::vector<std::string> notesOn(const SetRequest& request, const std::vector<NewShare>& plans,
                                 const Tenant& tenant, std::vector<Card> cards) {
  std::vector<PlacedShare> shares;
  std::vector<std::string> notes;
  const std::map<std::string, TenantUse> uses = useOf(tenant);
  for (const NewShare& plan : plans) {
    for (Card& card : cards) {
      if (card.uuid != plan.share.uuid) continue;
      const auto use = uses.find(card.uuid);
      std::string over;
      if (request.has_memory && use != uses.end())
        over = overuseNote(card, plan.share, use->second.inside);
      if (!over.empty()) notes.push_back(std::move(over));
      card.cores_reserved -= std::min(card.cores_reserved, tenant.record.shares[plan.device].cores);
      shares.push_back({card.index, plan.share.limit, plan.share.reserve, plan.share.cores,
                        plan.share.guarantee});
    }
  }
  if (request.cores == 0) return notes;
  for (std::string& note : coresNotes(shares, cards)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace

// Whether there is room for what is planned.
Result<void> TenantManager::checkMemory(const Tenant& tenant, const SetRequest& request,
                                        const std::vector<NewShare>& plans,
                                        const std::vector<Card>& all) const {
  if (!request.has_memory && !request.guaranteed) return {};
  std::vector<Card> others;
  for (const NewShare& plan : plans) {
    const ShareRecord& old = tenant.record.shares[plan.device];
    const auto onCard = [&](const Card& card) { return card.uuid == old.uuid; };
    const Card& card = *std::find_if(all.begin(), all.end(), onCard);
    Result<void> room = checkContext(card, old, plan.share, tenant.record.context_inside);
    if (!room) return room;
    if (card.overcommitted()) {
      if (others.empty()) others = cards(&tenant, tenant.record.priority);
      room = checkPromise(others, *std::find_if(others.begin(), others.end(), onCard), old,
                          plan.share, tenant.record.context_inside, memory_.host_reserve);
    } else if (request.has_memory) {
      room = checkOnce(card, old, plan.share);
    }
    if (!room) return room;
  }
  return {};
}

Result<std::vector<std::string>> TenantManager::change(const TenantPtr& tenant,
                                                       const SetRequest& request,
                                                       const std::string& by) {
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
  Result<void> room = checkMemory(*tenant, request, plans, all);
  if (!room) return room.error();
  std::vector<std::string> notes = notesOn(request, plans, *tenant, all);
  const CoresPolicy policy = request.cores_policy.value_or(tenant->record.cores_policy);
  const TenantRecord before = tenant->record;
  std::vector<ShareRecord> shares;
  for (const NewShare& plan : plans) shares.push_back(plan.share);
  noteShrunk(tenant->record, shares);
  for (const NewShare& plan : plans) {
    if (request.has_memory || request.guaranteed) {
      Result<void> set =
          tenant->pages->setMemory(plan.device, plan.share.guarantee, plan.share.limit);
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
  tenant->record.on_pressure = request.on_pressure.value_or(tenant->record.on_pressure);
  tenant->record.pressure_wait_ms =
      request.pressure_wait_ms.value_or(tenant->record.pressure_wait_ms);
  if (request.idle.reclaim_ms) tenant->record.idle.reclaim_ms = request.idle.reclaim_ms;
  if (request.idle.stop_ms) tenant->record.idle.stop_ms = request.idle.stop_ms;
  Result<void> swap = writeSwapConfig(*tenant);
  if (!swap) notes.push_back("its memory is not swapped: " + swap.error().message());
  if (request.guaranteed && !swaps(tenant->record)) notes.push_back(kAllGuaranteed);
  openActivity(*tenant);
  arbiters_.change(tenant->record.id, policyOf(*tenant));
  updateEntitlement(*tenant);
  updateBudgets(false);
  writeRecord(*tenant);
  if (std::optional<EventView> event = changedEvent(before, tenant->record, by))
    emitFor(tenant->record, std::move(*event));
  changed_();
  return notes;
}

// The control page holds the limits; this note only spares a successor a guess.
void TenantManager::writeRecord(const Tenant& tenant) {
  const Result<void> saved = saveRecord(tenant.dir, tenant.record);
  if (!saved) warn("tenant " + tenant.record.id + ": " + saved.error().message());
}

// All of them, or none.
Result<void> TenantManager::writeShares(Tenant& tenant, const std::vector<ShareRecord>& shares) {
  const auto write = [&](unsigned device, const ShareRecord& share) -> Result<void> {
    const Result<void> memory = tenant.pages->setMemory(device, share.guarantee, share.limit);
    if (!memory) return memory;
    return tenant.pages->setCores(device, share.cores,
                                  coresCeiling(tenant.record.cores_policy, share.cores));
  };
  for (unsigned device = 0; device < shares.size(); ++device) {
    Result<void> written = write(device, shares[device]);
    if (written) continue;
    for (unsigned back = 0; back <= device; ++back)
      if (const Result<void> again = write(back, tenant.record.shares[back]); !again)
        warn("tenant " + tenant.record.id + ": " + again.error().message());
    return written;
  }
  noteShrunk(tenant.record, shares);
  tenant.record.shares = shares;
  return {};
}

Result<void> TenantManager::reshape(const TenantPtr& tenant, const std::vector<ShareRecord>& shares,
                                    Priority priority, bool checked, const std::string& by) {
  if (!tenant->pages)
    return Error{ErrorCode::kCorrupt, "this tenant's ledger is broken: " + tenant->broken};
  std::vector<NewShare> plans;
  for (unsigned device = 0; device < shares.size(); ++device)
    plans.push_back({device, shares[device]});
  SetRequest request;
  request.has_memory = true;
  if (checked)
    if (const Result<void> room = checkMemory(*tenant, request, plans, cards()); !room) return room;
  const TenantRecord before = tenant->record;
  if (const Result<void> written = writeShares(*tenant, shares); !written) return written;
  tenant->record.priority = priority;
  const Result<void> swap = writeSwapConfig(*tenant);
  if (!swap)
    warn("tenant " + tenant->record.id + ": its memory is not swapped: " + swap.error().message());
  openActivity(*tenant);
  arbiters_.change(tenant->record.id, policyOf(*tenant));
  updateEntitlement(*tenant);
  updateBudgets(false);
  writeRecord(*tenant);
  if (std::optional<EventView> event = changedEvent(before, tenant->record, by))
    emitFor(tenant->record, std::move(*event));
  changed_();
  return {};
}

}  // namespace divvy::agent
