#include "cache/pod_table.h"

#include <utility>

namespace divvy::scheduler {
namespace {

void leave(const std::string& node, const std::string& uid,
           std::unordered_map<std::string, std::set<std::string>>* index) {
  const auto there = index->find(node);
  if (there == index->end()) return;
  there->second.erase(uid);
  if (there->second.empty()) index->erase(there);
}

}  // namespace

PodTable::PodTable(engine::Engine& engine, ResourceQuotaTracker& quotas)
    : engine_(engine), quotas_(quotas) {}

Result<void> PodTable::transit(const std::string& uid, PodChange change) {
  PodEntry& entry = entries_[uid];
  const PodState from = entry.state;
  if (!mayBecome(from, change.to)) {
    ++refused_;
    eraseIfEmpty(uid);
    return Error{ErrorCode::kInternal, "pod " + uid + " is " + std::string(nameOf(from)) +
                                           ": it cannot become " + std::string(nameOf(change.to))};
  }
  if (const Result<void> moved = moveAllocation(uid, from, change); !moved) {
    eraseIfEmpty(uid);
    return moved;
  }
  reindex(uid, change, &entry);
  entry.state = change.to;
  if (change.to == PodState::kPending) {
    masks_.give(uid);
  } else if (holdsCores(change.to) && change.allocation != nullptr) {
    masks_.take(uid, change.allocation->placement);
  }
  if (!isCharged(change.to)) {
    quotas_.give(uid);
  } else if (change.charge) {
    quotas_.take(uid, change.charge->namespace_name, std::move(change.charge->amounts));
  }
  // Last: `change` may point into it.
  if (!isOnUnknownNode(change.to)) {
    entry.unknown.reset();
  } else if (change.allocation != nullptr) {
    entry.unknown = std::make_unique<UnknownNodePod>(UnknownNodePod{
        *change.allocation,
        change.said == nullptr ? std::nullopt : std::optional<kube::Pod>(*change.said)});
  }
  return {};
}

Result<void> PodTable::moveAllocation(const std::string& uid, PodState from,
                                      const PodChange& change) {
  const bool had = isPlaced(from), has = isPlaced(change.to);
  const engine::RequestId id(uid);
  if (had && has) return engine_.confirm(id);
  if (had && engine_.find(id) != nullptr) engine_.release(id);
  if (!has) return {};
  if (change.request == nullptr) return engine_.adopt(*change.allocation);
  const Result<engine::Allocation> reserved =
      engine_.reserve(*change.request, change.allocation->placement, *change.allocation->expires);
  return reserved ? Result<void>() : Result<void>(reserved.error());
}

void PodTable::reindex(const std::string& uid, const PodChange& change, PodEntry* entry) {
  const PodState from = entry->state, to = change.to;
  if (isPlaced(from) == isPlaced(to) && isOnUnknownNode(from) == isOnUnknownNode(to)) return;
  if (isPlaced(from)) leave(entry->node, uid, &placed_);
  if (isOnUnknownNode(from)) leave(entry->node, uid, &unknown_);
  if (to == PodState::kPending) {
    entry->node.clear();
    return;
  }
  entry->node = change.allocation->placement.node.text;
  (isPlaced(to) ? placed_ : unknown_)[entry->node].insert(uid);
}

bool PodTable::release(const std::string& uid) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return false;
  PodEntry& entry = found->second;
  const bool placed = isPlaced(entry.state);
  if (entry.state != PodState::kPending) {
    const Result<void> released = transit(uid, {.to = PodState::kPending});
    (void)released;  // the table has it for each state
  }
  const bool resizing = entry.details.resizing;
  entry.details = {};
  entry.details.resizing = resizing;
  eraseIfEmpty(uid);
  return placed;
}

void PodTable::eraseIfEmpty(const std::string& uid) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;
  const PodEntry& entry = found->second;
  const PodDetails& details = entry.details;
  const bool empty = entry.state == PodState::kPending && entry.nomination == nullptr &&
                     !details.resizing && !details.pod && details.containers == nullptr &&
                     details.request == nullptr;
  if (empty) entries_.erase(found);
}

Result<void> PodTable::resize(const std::string& uid, const engine::Placement& placement,
                              QuotaCharge charge) {
  if (const auto resized = engine_.resize(engine::RequestId(uid), placement); !resized)
    return resized;
  details(uid).resizing = true;
  masks_.take(uid, placement);
  quotas_.take(uid, charge.namespace_name, std::move(charge.amounts));
  return {};
}

Result<void> PodTable::assignCores(const std::string& uid, const std::vector<bool>& ends,
                                   const DeviceMetadataMap& devices, engine::Placement* placement) {
  return masks_.assignCores(uid, ends, devices, placement);
}

void PodTable::setNomination(const std::string& uid, Nomination nomination) {
  nominations_.insert(uid);
  entries_[uid].nomination = std::make_unique<Nomination>(std::move(nomination));
}

bool PodTable::clearNomination(const std::string& uid) {
  if (nominations_.empty() || nominations_.erase(uid) == 0) return false;
  entries_.at(uid).nomination.reset();
  eraseIfEmpty(uid);
  return true;
}

void PodTable::expireNominations(engine::Instant now) {
  for (auto at = nominations_.begin(); at != nominations_.end();) {
    const std::string uid = *at;
    PodEntry& entry = entries_.at(uid);
    if (*entry.nomination->held.expires > now) {
      ++at;
      continue;
    }
    entry.nomination.reset();
    at = nominations_.erase(at);
    eraseIfEmpty(uid);
  }
}

void PodTable::restoreNomination(const std::string& uid) {
  if (!nominations_.contains(uid)) return;
  const PodEntry& entry = entries_.at(uid);
  if (entry.state != PodState::kPending) return;
  const Result<void> restored =
      transit(uid, {.to = PodState::kNominated, .allocation = &entry.nomination->held});
  (void)restored;  // its node may have gone
}

const PodEntry* PodTable::find(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

PodState PodTable::stateOf(const std::string& uid) const {
  const PodEntry* entry = find(uid);
  return entry == nullptr ? PodState::kPending : entry->state;
}

PodDetails& PodTable::details(const std::string& uid) {
  return entries_[uid].details;
}

const engine::Allocation* PodTable::allocationOf(const std::string& uid) const {
  return isPlaced(stateOf(uid)) ? engine_.find(engine::RequestId(uid)) : nullptr;
}

std::vector<engine::Allocation> PodTable::heldOn(const std::string& node) const {
  std::vector<engine::Allocation> held;
  if (const auto there = placed_.find(node); there != placed_.end())
    for (const std::string& uid : there->second)
      held.push_back(*engine_.find(engine::RequestId(uid)));
  for (const std::string& uid : unknownOn(node)) held.push_back(entries_.at(uid).unknown->held);
  return held;
}

std::vector<std::string> PodTable::unknownOn(const std::string& node) const {
  const auto there = unknown_.find(node);
  if (there == unknown_.end()) return {};
  return {there->second.begin(), there->second.end()};
}

}  // namespace divvy::scheduler
