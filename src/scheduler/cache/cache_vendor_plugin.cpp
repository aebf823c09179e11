// Who has devices that a vendor's own plugin hands out: counted, as nobody is told which.
#include <algorithm>

#include "cache/cache_impl.h"

namespace divvy::scheduler {

void SchedulerCache::Impl::takeOwn(const std::string& uid) {
  const VendorPluginPods::Has* has = own.find(uid);
  if (has == nullptr) return;
  const engine::RequestId id(uid);
  const auto known = nodes.find(has->node);
  const engine::Allocation* old = engine.find(id);
  if (old != nullptr && known != nodes.end() &&
      own.same(uid, old->placement, known->second.devices)) {
    uncertain.erase(uid);
    const Result<void> kept = engine.confirm(id);
    (void)kept;  // it was found
    return;
  }
  release(uid);
  if (known == nodes.end()) return;
  const engine::NodeName node(has->node);
  const Result<std::vector<engine::DeviceUsed>> used = engine.used(node);
  const auto taken = [&](const engine::DeviceUuid& uuid) {
    return used && std::any_of(used->begin(), used->end(), [&](const engine::DeviceUsed& one) {
             return one.uuid == uuid && one.tenants > 0;
           });
  };
  std::optional<engine::Placement> placement =
      own.placementOf(uid, known->second.node, known->second.devices, taken);
  if (!placement) return;
  const Result<engine::PoolName> pool = engine.poolOf(node, placement->charges.front().uuid);
  if (pool) placement->pool = *pool;
  if (!engine.adopt({id, *placement, std::nullopt})) return;
  on[has->node].insert(uid);
  holders.insert_or_assign(uid, PodRef{has->space, has->name});
  quotas.take(uid, has->space, amountsOf(*placement, nullptr));
}

std::optional<Reason> SchedulerCache::Impl::upgradeOn(std::string_view node,
                                                      const engine::CompactRefusal& brief) const {
  if (brief.why != engine::NodeWhy::kDevices || brief.most != engine::DeviceWhy::kCordoned)
    return std::nullopt;
  const auto known = nodes.find(node);
  if (known == nodes.end()) return std::nullopt;
  const vendors::Kind* kind = catalog.kind(brief.kind.text);
  std::string why = kind == nullptr ? std::string() : upgradeOf(known->second.said, *kind);
  if (why.empty()) return std::nullopt;
  return Reason(std::move(why));
}

bool SchedulerCache::countedForPlugin(const std::string& uid) const {
  return impl_->own.find(uid) != nullptr && impl_->engine.find(engine::RequestId(uid)) != nullptr;
}

}  // namespace divvy::scheduler
