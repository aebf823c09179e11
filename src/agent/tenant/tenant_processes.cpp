#include "tenant/tenant_processes.h"

namespace divvy::agent {

const WatchedProcess* TenantProcesses::find(int pid) const {
  const auto found = watched_.lower_bound({pid, 0});
  return found == watched_.end() || found->first.pid != pid ? nullptr : &found->second;
}

std::optional<SlotKey> TenantProcesses::claim(const SlotKey& key, const ProcessId& id,
                                              const std::function<WatchedProcess()>& watch) {
  if (slots_.contains(key)) return std::nullopt;
  if (!watched_.contains(id)) watched_.emplace(id, watch());
  ++claims_[id];
  std::optional<SlotKey> before;
  if (const auto old = slots_.lower_bound({key.slot, 0});
      old != slots_.end() && old->first.slot == key.slot) {
    before = old->first;
    const ProcessId had = old->second;
    slots_.erase(old);
    release(had);
  }
  slots_.emplace(key, id);
  return before;
}

// A process without a slot uses nothing that is to be taken back.
void TenantProcesses::release(const ProcessId& id) {
  const auto claims = claims_.find(id);
  if (claims == claims_.end() || --claims->second > 0) return;
  claims_.erase(claims);
  watched_.erase(id);
}

std::vector<SlotKey> TenantProcesses::remove(const ProcessId& id) {
  std::vector<SlotKey> had;
  for (auto at = slots_.begin(); at != slots_.end();) {
    if (at->second == id) {
      had.push_back(at->first);
      at = slots_.erase(at);
    } else {
      ++at;
    }
  }
  claims_.erase(id);
  watched_.erase(id);
  return had;
}

void TenantProcesses::clear() {
  slots_.clear();
  watched_.clear();
  claims_.clear();
}

}  // namespace divvy::agent
