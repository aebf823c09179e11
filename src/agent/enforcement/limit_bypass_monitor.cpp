#include "enforcement/limit_bypass_monitor.h"

#include <csignal>
#include <ctime>
#include <set>
#include <utility>

#include "agent/process.h"
#include "base/plain_file.h"
#include "base/processes.h"
#include "events/event_detector.h"
#include "log/log.h"
#include "os/pod_cgroup.h"

namespace divvy::agent {
namespace {

// The agent's own children, which measure a context's size or make checkpoints.
constexpr const char* kSelf = "self";
constexpr int kMaxAncestors = 64;

bool isOurs(int pid) {
  const int self = processes().self();
  for (int depth = 0; pid > 1 && depth < kMaxAncestors; ++depth, pid = parentOf(pid))
    if (pid == self) return true;
  return false;
}

// As in /proc: at most 15 bytes of the program's choice. Empty: it has ended.
std::string commandOf(int pid) {
  constexpr std::size_t kMax = 64;
  const Result<std::string> name = readPlainFile(procPath(pid, "comm"), kMax);
  return name ? name->substr(0, name->find('\n')) : std::string();
}

bool isPod(const std::string& owner) {
  return owner.starts_with(podOwner(""));
}

}  // namespace

void LimitBypassMonitor::poll() {
  // Done even if the driver does not answer: cases() must only have present tenants.
  forgetThoseBefore();
  cutFiles();
  const std::optional<DriverProcesses> said = inventory_.driver().takeProcesses();
  if (said) judge(*said);
  endThose();
}

void LimitBypassMonitor::forgetThoseBefore() {
  std::erase_if(pod_of_tenant_,
                [&](const auto& one) { return !tenants_.all().contains(one.first); });
  for (const auto& [id, tenant] : tenants_.all()) {
    const TenantRecord& record = tenant->record;
    const std::string life =
        record.lodger.uid + '/' + record.lodger.container + '/' + std::to_string(record.created);
    const auto [known, first] = pod_of_tenant_.try_emplace(id, life);
    if (first && !judge_.going().contains(id)) continue;
    if (!first && known->second == life) continue;
    judge_.forget(id);
    said_.erase(id);
    known->second = life;
  }
}

void LimitBypassMonitor::judge(const DriverProcesses& said) {
  const Allowances allowed = allowances();
  pages_seen_.begin();
  std::map<int, std::string> registered;
  for (const auto& [id, tenant] : tenants_.all())
    for (const auto& [process, watch] : tenant->liveness.processes().watched())
      registered[process.pid] = id;
  std::map<unsigned, UnmanagedUse> strangers;
  std::map<std::pair<unsigned, int>, unsigned> stays;
  std::vector<DeviceProcess> processes;
  std::set<int> there;
  for (const auto& [device, uses] : said) {
    // Pods may use devices that another plugin gave them.
    const bool others = !tenants_.health().heldBy(device).empty();
    UnmanagedUse& of = strangers[device];
    for (const driver::ProcessUse& use : uses) {
      there.insert(use.pid);
      if (use.graphics) of.graphics = of.graphics + use.bytes;
      const auto known = registered.find(use.pid);
      std::string owner = known == registered.end() ? ownerOf(use.pid) : known->second;
      if (known == registered.end()) owner = inItsPod(owner, device, allowed);
      if (owner == kSelf) continue;
      if (owner.empty() || isPod(owner)) {
        ++of.processes;
        of.bytes = of.bytes + use.bytes;
      }
      // A process that only draws uses memory only; a desktop must not make a device unavailable.
      if (owner.empty() && !use.graphics) stays[{device, use.pid}] = stays_[{device, use.pid}] + 1;
      if (owner.empty() || (isPod(owner) && others)) continue;
      // Drawing is not CUDA work, so the library is not involved.
      const TenantPtr tenant = tenantOf(owner);
      const bool own_pages = tenant == nullptr || use.graphics ||
                             pages_seen_.good(*tenant, use.pid, startTimeOf(use.pid));
      processes.push_back({device, use.pid, owner, known != registered.end() || use.graphics,
                           use.bytes, own_pages});
    }
  }
  std::erase_if(owners_, [&](const auto& one) { return !there.contains(one.first); });
  strangers_ = std::move(strangers);
  stays_ = std::move(stays);
  followShrinks(seenBytes(processes));
  std::map<std::string, Bypass> seen = bypassesIn(processes, allowed);
  for (const auto& [id, what] : grown_)
    seen.try_emplace(id, Bypass{BypassKind::kFiles, 0, 0, {}, {}, what});
  grown_.clear();
  const BypassDebouncer::BypassChange news = judge_.observe(seen, std::time(nullptr));
  for (const std::string& owner : news.begun) begin(owner);
  for (const std::string& owner : news.over) finish(owner);
}

std::string LimitBypassMonitor::ownerOf(int pid) {
  Known& known = owners_[pid];
  const std::uint64_t start_time = startTimeOf(pid);
  const bool stale = known.start_time != start_time ||
                     (!known.owner.empty() && known.owner != kSelf && !isPod(known.owner) &&
                      !tenants_.all().contains(known.owner));
  if (stale) known = {start_time, findOwner(pid)};
  return known.owner;
}

std::string LimitBypassMonitor::findOwner(int pid) const {
  if (isOurs(pid)) return kSelf;
  if (const TenantPtr tenant = tenants_.table().ownerOf(pid)) return tenant->record.id;
  const std::string uid = pods_ ? podOf(pid) : std::string();
  return uid.empty() ? "" : podOwner(uid);
}

std::string LimitBypassMonitor::inItsPod(const std::string& owner, unsigned device,
                                         const Allowances& allowed) const {
  const TenantPtr tenant = tenantOf(owner);
  if (tenant == nullptr || !tenant->record.ofPod()) return owner;
  std::vector<std::string> same_pod;
  for (const auto& [id, other] : tenants_.all())
    if (other->record.lodger.uid == tenant->record.lodger.uid) same_pod.push_back(id);
  return ownerOn(device, owner, same_pod, allowed);
}

Allowances LimitBypassMonitor::allowances() const {
  Allowances all;
  for (const auto& [id, tenant] : tenants_.all()) {
    std::map<unsigned, Bytes>& its = all[id];
    for (const ShareRecord& share : tenant->record.shares) {
      const Device* device = inventory_.deviceOf(share.uuid);
      if (device == nullptr) continue;
      its[device->info.index] = mostStood(tenant->record, share);
    }
  }
  return all;
}

void LimitBypassMonitor::cutFiles() {
  for (const auto& [id, tenant] : tenants_.all()) {
    std::optional<GrownFile> file = grownIn(tenant->dir);
    if (!file) continue;
    std::string what = describe(*file);
    if (!std::exchange(tenant->bypass.files_grew_, true))
      log::warn("a file of a tenant grew; it is truncated from now on",
                {{"tenant", id}, {"reason", what}});
    grown_[id] = std::move(what);
    cutter_.cut(std::move(*file));
  }
}

// Until all processes of a tenant are known, less of its use is visible than there is.
void LimitBypassMonitor::followShrinks(const SeenBytes& seen) {
  std::erase_if(shrinking_, [&](const auto& one) {
    const TenantPtr tenant = tenantOf(one.first.first);
    return tenant == nullptr || !tenant->record.stood.contains(one.first.second);
  });
  if (!judge_.settled()) return;
  for (const auto& [id, tenant] : tenants_.all()) {
    bool over = false;
    for (const ShareRecord& share : tenant->record.shares) {
      const auto stood = tenant->record.stood.find(share.uuid);
      const Device* device = inventory_.deviceOf(share.uuid);
      if (stood == tenant->record.stood.end() || device == nullptr) continue;
      Bytes now;
      if (const auto all = seen.find(id); all != seen.end())
        if (const auto one = all->second.find(device->info.index); one != all->second.end())
          now = one->second;
      stood->second = shrinking_[{id, share.uuid}].observe(stood->second, now);
      if (stood->second > share.reserve) continue;
      tenant->record.stood.erase(stood);
      over = true;
    }
    if (over) writeRecord(*tenant);
  }
}

TenantPtr LimitBypassMonitor::tenantOf(const std::string& owner) const {
  const auto found = tenants_.all().find(owner);
  return found == tenants_.all().end() ? nullptr : found->second;
}

void LimitBypassMonitor::begin(const std::string& owner) {
  const Bypass bypass = judge_.going().at(owner).first;
  const std::string what = describe(bypass, commandOf(bypass.pid));
  said_[owner] = what;
  emit(owner, "bypass", what);
  const TenantPtr tenant = tenantOf(owner);
  if (tenant == nullptr) return;
  tenant->bypass.how_ = what;
  tenants_.compute().throttle(*tenant, policy_.on != OnBypass::kReport);
}

void LimitBypassMonitor::finish(const std::string& owner) {
  said_.erase(owner);
  const TenantPtr tenant = tenantOf(owner);
  // The end of a tenant needs no report.
  if (tenant == nullptr && !isPod(owner)) return;
  emit(owner, "bypass-over", "limits are respected again");
  if (tenant == nullptr) return;
  tenant->bypass.how_.clear();
  tenants_.compute().throttle(*tenant, false);
}

void LimitBypassMonitor::endThose() {
  if (policy_.on != OnBypass::kEvict) return;
  std::erase_if(endings_, [&](const auto& one) { return !tenants_.all().contains(one.first); });
  const std::map<std::string, TenantPtr> living = tenants_.all();
  for (const auto& [id, tenant] : living) {
    // Pods are evicted, not signalled: their controller would only restart the containers.
    if (tenant->record.ofPod()) continue;
    Ending& ending = endings_[id];
    if (tenant->bypass.how().empty()) ending.clean.note(true, 0, nowMs());
    // The process that used a kept share has ended; the next one is judged separately.
    if (tenant->bypass.how().empty() && ending.stop.phase == ShutdownPhase::kEnding)
      ending.stop = {};
    const ShutdownOptions terms{1, policy_.notice_ms, policy_.grace_ms};
    const ShutdownAction step =
        nextStep(ending.stop, terms, ending.clean, HookState::kNone, nowMs());
    ending.stop = after(step, ending.stop, terms, nowMs());
    take(step, tenant);
  }
}

void LimitBypassMonitor::take(ShutdownAction step, const TenantPtr& tenant) {
  const std::string& id = tenant->record.id;
  switch (step) {
    case ShutdownAction::kNothing:
    case ShutdownAction::kGiveUp:
      return;
    case ShutdownAction::kNotice:
      return emit(id, "notice",
                  tenant->bypass.how() + ": SIGTERM in " + spanWord(policy_.notice_ms) +
                      " unless the bypass ends");
    case ShutdownAction::kCallOff:
      return emit(id, "called-off", "limits are respected again");
    case ShutdownAction::kEnd:
      emit(id, "stopped",
           tenant->bypass.how() + ": SIGTERM, SIGKILL in " + spanWord(policy_.grace_ms));
      return tenants_.liveness().signal(tenant, SIGTERM);
    case ShutdownAction::kKill:
      if (tenant->shutdown.noteKilled())
        emit(id, "killed", "still running " + spanWord(policy_.grace_ms) + " after SIGTERM");
      return tenants_.liveness().signal(tenant, SIGKILL);
  }
}

std::optional<std::vector<LimitBypassMonitor::Case>> LimitBypassMonitor::cases() const {
  if (!judge_.settled()) return std::nullopt;
  std::vector<Case> cases;
  for (const auto& [owner, verdict] : judge_.going()) {
    const auto what = said_.find(owner);
    Case one{{}, what == said_.end() ? std::string() : what->second, verdict.since};
    const TenantPtr tenant = tenantOf(owner);
    if (tenant != nullptr) one.pod = tenant->record.lodger;
    if (isPod(owner)) one.pod.uid = owner.substr(podOwner("").size());
    if (!one.pod.uid.empty()) cases.push_back(std::move(one));
  }
  return cases;
}

std::map<unsigned, std::string> LimitBypassMonitor::occupants() const {
  std::map<unsigned, std::string> all;
  for (const auto& [where, looks] : stays_) {
    const auto& [device, pid] = where;
    if (looks >= BypassDebouncer::kLooks)
      all.try_emplace(device, processWords(pid, commandOf(pid)));
  }
  return all;
}

void LimitBypassMonitor::emit(const std::string& owner, const char* kind, std::string reason) {
  EventView event;
  const TenantPtr tenant = tenantOf(owner);
  event.tenant = owner;
  if (tenant != nullptr) event.name = tenant->record.name;
  const auto going = judge_.going().find(owner);
  if (going != judge_.going().end() && going->second.first.kind != BypassKind::kFiles)
    event.device = static_cast<int>(going->second.first.device);
  event.kind = kind;
  event.reason = std::move(reason);
  events_.add(std::move(event));
}

}  // namespace divvy::agent
