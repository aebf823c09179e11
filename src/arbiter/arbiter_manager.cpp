#include "arbiter/arbiter_manager.h"

#include <algorithm>
#include <utility>

#include "group_arbiter.h"

namespace divvy::arbiter {
namespace {

using Members = std::vector<std::shared_ptr<TenantChannel>>;

struct TenantDevices {
  std::string id;
  std::vector<unsigned> devices;
};
using TenantDevicesList = std::vector<TenantDevices>;

bool meet(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
  return std::any_of(a.begin(), a.end(), [&](unsigned device) {
    return std::find(b.begin(), b.end(), device) != b.end();
  });
}

// Divides tenants into parts. Tenants that share devices, directly or through others, are in one
// part.
std::vector<TenantDevicesList> parts(const TenantDevicesList& tenants) {
  std::vector<TenantDevicesList> parts;
  for (const TenantDevices& tenant : tenants) {
    TenantDevicesList joined{tenant};
    const auto touching =
        std::stable_partition(parts.begin(), parts.end(), [&](const TenantDevicesList& part) {
          return std::none_of(part.begin(), part.end(), [&](const TenantDevices& other) {
            return meet(other.devices, tenant.devices);
          });
        });
    for (auto part = touching; part != parts.end(); ++part)
      joined.insert(joined.end(), part->begin(), part->end());
    parts.erase(touching, parts.end());
    parts.push_back(std::move(joined));
  }
  return parts;
}

}  // namespace

ArbiterManager::ArbiterManager(const Settings& settings) : settings_(settings) {}
ArbiterManager::~ArbiterManager() = default;

void ArbiterManager::add(const std::string& id, const std::filesystem::path& dir,
                         const Entitlement& terms, const std::vector<unsigned>& devices) {
  Tenant& tenant = tenants_[id];
  tenant = Tenant{dir, devices, nullptr, {}};
  Result<ledger::GrantPages> pages = ledger::GrantPages::open(dir);
  if (!pages) {
    tenant.ungated = pages.error().message();
    return;
  }
  auto member = std::make_shared<TenantChannel>(id, std::move(*pages), terms, devices, settings_);
  tenant.arbiter = groupOf(devices);
  if (tenant.arbiter != nullptr) return tenant.arbiter->add(std::move(member));
  groups_.push_back(
      std::make_unique<GroupArbiter>(settings_, Members{std::move(member)}, budgets_));
  tenant.arbiter = groups_.back().get();
}

GroupArbiter* ArbiterManager::groupOf(const std::vector<unsigned>& devices) {
  std::vector<GroupArbiter*> touched;
  for (const auto& [id, tenant] : tenants_) {
    const bool known = std::find(touched.begin(), touched.end(), tenant.arbiter) != touched.end();
    if (tenant.arbiter != nullptr && !known && meet(tenant.devices, devices))
      touched.push_back(tenant.arbiter);
  }
  if (touched.size() < 2) return touched.empty() ? nullptr : touched.front();
  Members all;
  for (GroupArbiter* arbiter : touched) {
    for (std::shared_ptr<TenantChannel>& member : dissolve(arbiter))
      all.push_back(std::move(member));
  }
  return found(std::move(all));
}

Members ArbiterManager::dissolve(GroupArbiter* arbiter) {
  Members members = arbiter->stop();
  const std::map<std::string, TenantStats> stats = arbiter->stats();
  for (auto& [id, tenant] : tenants_) {
    if (tenant.arbiter != arbiter) continue;
    tenant.arbiter = nullptr;
    const auto shown = stats.find(id);
    if (shown != stats.end()) tenant.ungated = shown->second.ungated;
  }
  past_cpu_ += arbiter->cpu();
  past_wakeups_ += arbiter->wakeups();
  std::erase_if(groups_, [&](const auto& group) { return group.get() == arbiter; });
  return members;
}

GroupArbiter* ArbiterManager::found(Members members) {
  Members seated = members;
  groups_.push_back(std::make_unique<GroupArbiter>(settings_, std::move(members), budgets_));
  for (const std::shared_ptr<TenantChannel>& member : seated) {
    Tenant& tenant = tenants_[member->id()];
    tenant.arbiter = groups_.back().get();
    tenant.ungated.clear();
  }
  return groups_.back().get();
}

void ArbiterManager::reconcile(GroupArbiter* arbiter) {
  TenantDevicesList tenants;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.arbiter == arbiter) tenants.push_back({id, tenant.devices});
  }
  const std::vector<TenantDevicesList> apart = parts(tenants);
  if (apart.size() == 1) return;
  const Members members = dissolve(arbiter);
  for (const TenantDevicesList& part : apart) {
    Members group;
    for (const std::shared_ptr<TenantChannel>& member : members) {
      const bool here = std::any_of(part.begin(), part.end(), [&](const TenantDevices& tenant) {
        return tenant.id == member->id();
      });
      if (here) group.push_back(member);
    }
    if (!group.empty()) found(std::move(group));
  }
}

void ArbiterManager::post(const std::string& id, std::function<void(TenantChannel&)> change) {
  const auto tenant = tenants_.find(id);
  if (tenant == tenants_.end() || tenant->second.arbiter == nullptr) return;
  tenant->second.arbiter->with(id, std::move(change));
}

void ArbiterManager::change(const std::string& id, const Entitlement& terms) {
  post(id, [terms](TenantChannel& member) {
    const Entitlement before = std::exchange(member.terms, terms);
    member.terms.devices = before.devices;
    // A gate that was closed stays closed, because work is counted from then on.
    member.terms.never_open = terms.never_open || before.never_open;
  });
}

void ArbiterManager::remove(const std::string& id) {
  const auto tenant = tenants_.find(id);
  if (tenant == tenants_.end()) return;
  GroupArbiter* arbiter = tenant->second.arbiter;
  tenants_.erase(tenant);
  if (arbiter == nullptr) return;
  arbiter->remove(id);
  reconcile(arbiter);
}

void ArbiterManager::addProcess(const std::string& id, unsigned slot, std::uint64_t generation) {
  post(id, [slot, generation](TenantChannel& member) { member.addProcess(slot, generation); });
}

void ArbiterManager::removeProcess(const std::string& id, unsigned slot, std::uint64_t generation) {
  post(id, [slot, generation](TenantChannel& member) { member.removeProcess(slot, generation); });
}

void ArbiterManager::haltProcess(const std::string& id, unsigned slot, std::uint64_t generation) {
  post(id, [slot, generation](TenantChannel& member) { member.haltProcess(slot, generation); });
}

void ArbiterManager::distrust(const std::string& id, bool distrusted) {
  post(id, [distrusted](TenantChannel& member) { member.distrusted = distrusted; });
}

void ArbiterManager::setDevice(unsigned device, const ResidencyBudget& terms) {
  budgets_[device] = terms;
  if (terms.budget == 0) budgets_.erase(device);
  for (const auto& group : groups_) group->setDevice(device, terms);
}

void ArbiterManager::setMemory(const std::string& id, const ResidencyEntitlement& terms) {
  const auto tenant = tenants_.find(id);
  if (tenant == tenants_.end()) return;
  std::shared_ptr<ledger::ResidencyPages> pages;
  std::string why;
  if (terms.swappable) {
    Result<ledger::ResidencyPages> opened = ledger::ResidencyPages::open(tenant->second.dir);
    if (opened) {
      pages = std::make_shared<ledger::ResidencyPages>(std::move(*opened));
    } else {
      why = opened.error().message();
    }
  }
  post(id, [terms, pages, why](TenantChannel& member) {
    member.memory.entitlement = terms;
    member.memory.unswapped = member.residency == nullptr ? why : "";
    if (pages != nullptr && member.residency == nullptr) member.enableSwap(std::move(*pages));
  });
}

std::optional<ResidencyBudgetStats> ArbiterManager::device(unsigned device) const {
  for (const auto& group : groups_) {
    if (auto found = group->device(device)) return found;
  }
  return std::nullopt;
}

std::optional<TenantStats> ArbiterManager::stats(const std::string& id) const {
  const auto tenant = tenants_.find(id);
  if (tenant == tenants_.end()) return std::nullopt;
  TenantStats stats;
  stats.ungated = tenant->second.ungated;
  if (tenant->second.arbiter != nullptr) {
    if (auto found = tenant->second.arbiter->stats(id)) stats = std::move(*found);
  }
  stats.got_permille.resize(tenant->second.devices.size(), -1);
  return stats;
}

Nanos ArbiterManager::cpu() const {
  Nanos sum = past_cpu_;
  for (const auto& group : groups_) sum += group->cpu();
  return sum;
}

std::uint64_t ArbiterManager::wakeups() const {
  std::uint64_t sum = past_wakeups_;
  for (const auto& group : groups_) sum += group->wakeups();
  return sum;
}

}  // namespace divvy::arbiter
