// What SchedulerCache tells those who only ask.
#include <algorithm>
#include <utility>

#include "cache/cache_impl.h"
#include "codec/vendor_plugin.h"

namespace divvy::scheduler {

std::vector<UnschedulablePod> SchedulerCache::refused() const {
  return impl_->waiting.all();
}

const engine::Request* SchedulerCache::unschedulableRequest(const std::string& uid) const {
  return impl_->waiting.unschedulableRequest(uid);
}

const engine::Engine& SchedulerCache::engine() const {
  return impl_->engine;
}

Result<std::optional<engine::Request>> SchedulerCache::requestFor(const kube::Pod& pod) const {
  Result<std::optional<engine::Request>> request =
      scheduler::requestOf(pod, impl_->catalog, impl_->config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  return request;
}

const engine::Node* SchedulerCache::nodeNamed(const std::string& name) const {
  const auto known = impl_->nodes.find(name);
  return known == impl_->nodes.end() ? nullptr : &known->second.node;
}

bool SchedulerCache::excludesItself(const std::string& model) const {
  if (model == kVendorPlugin || isNotServedBy(model)) return true;
  for (const vendors::Kind* kind : impl_->catalog.kinds())
    if (std::find(kind->count.alone.begin(), kind->count.alone.end(), model) !=
        kind->count.alone.end())
      return true;
  return false;
}

std::string SchedulerCache::faultOf(const std::string& node) const {
  const auto fault = impl_->unreadable.find(node);
  if (fault != impl_->unreadable.end()) return fault->second;
  return impl_->nodes.contains(node) ? "" : kNothingRegistered;
}

}  // namespace divvy::scheduler
