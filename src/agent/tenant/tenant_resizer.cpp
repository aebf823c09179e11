#include "tenant/tenant_resizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "log/log.h"
#include "tenant/resize_check.h"
#include "tenant/tenant_events.h"

namespace divvy::agent {
namespace {

// The planned share on one device.
struct NewShare {
  unsigned device = 0;  // in the tenant's own order
  ShareRecord share;
};

constexpr const char* kAllGuaranteed = "all of its memory is guaranteed and never swapped";

Error noRoom(const Card& card, const std::string& what) {
  return {ErrorCode::kNoRoom,
          "device " + std::to_string(card.index) + " (" + card.model + "): " + what};
}

// On a card with memory that is promised once, all of a share is guaranteed.
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

// Why a share there cannot grow, however much is free; null: it can.
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
                          formatBytes(old.reserve + card.free()) + " are available");
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
    return Error{ErrorCode::kUsage, "--cores-policy cap requires --cores, which this tenant lacks"};
  return {};
}

// `cards`: all of them, with the tenant's present shares.
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

Result<void> checkPages(const Tenant& tenant) {
  if (tenant.pages) return {};
  return Error{ErrorCode::kCorrupt, "this tenant's ledger is broken: " + tenant.broken};
}

// Capacity for a check.
struct CardsNow {
  const PlacementCapacity& capacity;
  const std::vector<Card>& all;  // with the tenant's present shares
};

// Whether there is room for the plan.
Result<void> checkMemory(const Tenant& tenant, const SetRequest& request,
                         const std::vector<NewShare>& plans, const CardsNow& cards) {
  if (!request.has_memory && !request.guaranteed) return {};
  std::vector<Card> others;
  for (const NewShare& plan : plans) {
    const ShareRecord& old = tenant.record.shares[plan.device];
    const auto onCard = [&](const Card& card) { return card.uuid == old.uuid; };
    const Card& card = *std::find_if(cards.all.begin(), cards.all.end(), onCard);
    Result<void> room = checkContext(card, old, plan.share, tenant.record.context_inside);
    if (!room) return room;
    if (card.overcommitted()) {
      if (others.empty()) others = cards.capacity.cards(&tenant, tenant.record.priority);
      room =
          checkPromise(others, *std::find_if(others.begin(), others.end(), onCard), old, plan.share,
                       tenant.record.context_inside, cards.capacity.policy().host_reserve);
    } else if (request.has_memory) {
      room = checkOnce(card, old, plan.share);
    }
    if (!room) return room;
  }
  return {};
}

// The new share of each of the tenant's devices.
Result<std::vector<NewShare>> planShares(const SetRequest& request, const Tenant& tenant,
                                         const std::vector<Card>& all) {
  std::vector<NewShare> plans;
  for (unsigned device = 0; device < tenant.record.shares.size(); ++device) {
    const auto card = std::find_if(all.begin(), all.end(), [&](const Card& c) {
      return c.uuid == tenant.record.shares[device].uuid;
    });
    if (card == all.end())
      return Error{ErrorCode::kUnavailable, tenant.record.shares[device].uuid + " has ended"};
    Result<NewShare> plan = planShare(request, tenant, device, *card);
    if (!plan) return plan.error();
    plans.push_back(*plan);
  }
  return plans;
}

// Writes the plan into the tenant's pages and record. On an error the devices before are changed.
Result<void> writePlans(const SetRequest& request, const std::vector<NewShare>& plans,
                        Tenant& tenant) {
  const CoresPolicy policy = request.cores_policy.value_or(tenant.record.cores_policy);
  std::vector<ShareRecord> shares;
  for (const NewShare& plan : plans) shares.push_back(plan.share);
  noteShrunk(tenant.record, shares);
  for (const NewShare& plan : plans) {
    if (request.has_memory || request.guaranteed) {
      Result<void> set =
          tenant.pages->setMemory(plan.device, plan.share.guarantee, plan.share.limit);
      if (!set) return set;
    }
    if (request.cores != 0 || request.cores_policy) {
      const unsigned ceiling = coresCeiling(policy, plan.share.cores);
      Result<void> set = tenant.pages->setCores(plan.device, plan.share.cores, ceiling);
      if (!set) return set;
    }
    tenant.record.shares[plan.device] = plan.share;
  }
  return {};
}

// Copies the values that the request names, beside the shares.
void applyOptions(const SetRequest& request, TenantRecord& record) {
  record.cores_policy = request.cores_policy.value_or(record.cores_policy);
  record.priority = request.priority.value_or(record.priority);
  if (!request.name.empty()) record.name = request.name;
  record.on_pressure = request.on_pressure.value_or(record.on_pressure);
  record.pressure_wait_ms = request.pressure_wait_ms.value_or(record.pressure_wait_ms);
  if (request.idle.reclaim_ms) record.idle.reclaim_ms = request.idle.reclaim_ms;
  if (request.idle.stop_ms) record.idle.stop_ms = request.idle.stop_ms;
}

// Writes all of the shares into the tenant's pages and record, or none.
Result<void> writeShares(Tenant& tenant, const std::vector<ShareRecord>& shares) {
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
        log::warn("cannot restore the limits of a tenant",
                  {{"tenant", tenant.record.id}, {"error", again.error().message()}});
    return written;
  }
  noteShrunk(tenant.record, shares);
  tenant.record.shares = shares;
  return {};
}

}  // namespace

void TenantResizer::publish(Tenant& tenant, const TenantRecord& before, const std::string& by,
                            const std::function<void(const Error&)>& unswapped) {
  if (const Result<void> swap = context_.overcommit.writeConfig(tenant); !swap)
    unswapped(swap.error());
  context_.compute.openActivity(tenant);
  context_.compute.update(tenant);
  context_.overcommit.updateEntitlement(tenant);
  context_.overcommit.updateBudgets(false);
  // The control page holds the limits; the record only spares the next agent a guess.
  writeRecord(tenant);
  if (std::optional<EventView> event = changedEvent(before, tenant.record, by))
    context_.notifier.emitFor(tenant.record, std::move(*event));
  context_.notifier.changed();
}

Result<std::vector<std::string>> TenantResizer::change(const TenantPtr& tenant,
                                                       const SetRequest& request,
                                                       const std::string& by) {
  if (const Result<void> pages = checkPages(*tenant); !pages) return pages.error();
  if (!request.name.empty()) {
    const TenantPtr other = context_.table.find(request.name);
    if (other != nullptr && other != tenant) {
      return Error{ErrorCode::kUsage,
                   "name \"" + request.name + "\" belongs to tenant " + other->record.id};
    }
  }
  Result<void> compute = checkCompute(request, tenant->record);
  if (compute && (request.cores != 0 || request.cores_policy || request.priority))
    compute = canChangeCompute(tenant->record.backend);
  if (!compute) return compute.error();
  const std::vector<Card> all = context_.capacity.cards();
  const Result<std::vector<NewShare>> plans = planShares(request, *tenant, all);
  if (!plans) return plans.error();
  const Result<void> room = checkMemory(*tenant, request, *plans, {context_.capacity, all});
  if (!room) return room.error();
  std::vector<std::string> notes = notesOn(request, *plans, *tenant, all);
  const TenantRecord before = tenant->record;
  if (const Result<void> set = writePlans(request, *plans, *tenant); !set) return set.error();
  applyOptions(request, tenant->record);
  publish(*tenant, before, by, [&](const Error& error) {
    notes.push_back("its memory is not swapped: " + error.message());
  });
  if (request.guaranteed && !swaps(tenant->record)) notes.push_back(kAllGuaranteed);
  return notes;
}

Result<void> TenantResizer::reshape(const TenantPtr& tenant, const Reshape& wanted,
                                    const std::string& by) {
  if (const Result<void> pages = checkPages(*tenant); !pages) return pages;
  std::vector<NewShare> plans;
  for (unsigned device = 0; device < wanted.shares.size(); ++device)
    plans.push_back({device, wanted.shares[device]});
  SetRequest request;
  request.has_memory = true;
  if (wanted.checked) {
    const std::vector<Card> all = context_.capacity.cards();
    const Result<void> room = checkMemory(*tenant, request, plans, {context_.capacity, all});
    if (!room) return room;
  }
  const TenantRecord before = tenant->record;
  if (const Result<void> written = writeShares(*tenant, wanted.shares); !written) return written;
  tenant->record.priority = wanted.priority;
  publish(*tenant, before, by, [&](const Error& error) {
    log::warn("the memory of a tenant is not swapped",
              {{"tenant", tenant->record.id}, {"error", error.message()}});
  });
  return {};
}

}  // namespace divvy::agent
