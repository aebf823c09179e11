#include "enforcement/page_visibility.h"

#include <algorithm>
#include <optional>
#include <string>

#include "container/tenant_edits.h"
#include "tenant/tenant.h"

namespace divvy::agent {

PageVisibility pageVisibility(std::string_view mountinfo, const MountedFile& control) {
  const std::string dir = control.path.substr(0, control.path.rfind('/'));
  for (const char* page : {"/control", "/report", "/work"}) {
    const std::optional<MountedFile> found = fileAt(mountinfo, kTenantInside + std::string(page));
    if (!found) return PageVisibility::kUntold;
    if (*found != MountedFile{control.device, dir + page}) return PageVisibility::kOthers;
  }
  return PageVisibility::kOurs;
}

PageVisibility pageVisibilityOf(const Tenant& tenant, int pid) {
  if (!tenant.record.inContainer()) return PageVisibility::kOurs;
  const Result<std::string> mounts = mountsOf(pid);
  if (!mounts || !tenant.control) return PageVisibility::kUntold;
  return pageVisibility(*mounts, *tenant.control);
}

void PageVisibilityMonitor::begin() {
  std::erase_if(known_, [&](const auto& one) { return one.second.wanted < look_; });
  ++look_;
  left_ = kPerLook;
}

bool PageVisibilityMonitor::good(const Tenant& tenant, int pid, std::uint64_t start_time) {
  Known& known = known_[pid];
  if (known.start_time != start_time) known = {start_time};
  known.wanted = look_;
  // With more processes than checks in one look, they are checked in rotation.
  const std::uint64_t turns = 1 + known_.size() / kPerLook;
  const bool due = known.asked == 0 || known.asked + turns <= look_;
  if (!due || left_ == 0) return known.good;
  --left_;
  known.asked = look_;
  const PageVisibility seen = ask_(tenant, pid);
  known.saw_ours = known.saw_ours || seen == PageVisibility::kOurs;
  known.good = seen == PageVisibility::kOurs || (seen == PageVisibility::kUntold && known.saw_ours);
  return known.good;
}

}  // namespace divvy::agent
