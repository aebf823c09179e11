#include "tenant/tenant_manager.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/folder_mode.h"
#include "base/processes.h"
#include "container/cdi_spec.h"
#include "container/injection.h"
#include "ledger/grants.h"
#include "os/log.h"
#include "os/managed_files.h"
#include "tenant/tenant_events.h"

namespace divvy::agent {
namespace {

// Between two looks for survivors: an execve hides a process from a look for far less.
constexpr std::chrono::milliseconds kRecheck{100};
// Looks that must find nobody before a tenant is given up whose holder did not say good-bye.
constexpr unsigned kEmptyScans = 2;
// Slots of a new tenant: what is ready is looked at, and mapped, as long as the tenant lives, and
// most have a few processes.
constexpr unsigned kFirstSlots = 64;
constexpr unsigned kThrottledCeiling = 1;  // percent of a device's time
constexpr std::size_t kIdLength = 6;

// A simulated card's minutes are as long as its clock has them.
std::uint64_t quietOn(const arbiter::Settings& cards) {
  return kQuietMs * 1000 / std::max<std::uint64_t>(1, cards.card_permille);
}

}  // namespace

arbiter::Entitlement termsOf(const TenantRecord& record) {
  arbiter::Entitlement terms;
  terms.cls = record.priority == Priority::kHigh  ? arbiter::Class::kLatency
              : record.priority == Priority::kLow ? arbiter::Class::kBestEffort
                                                  : arbiter::Class::kNormal;
  if (!record.shares.empty()) terms.guarantee = std::min(record.shares[0].cores, 100u);
  terms.ceiling = coresCeiling(record.cores_policy, terms.guarantee);
  return terms;
}

unsigned coresCeiling(CoresPolicy policy, unsigned cores) {
  return policy == CoresPolicy::kCap && cores != 0 ? cores : 100;
}

std::map<std::string, TenantUse> useOf(const Tenant& tenant) {
  if (!tenant.pages) return {};
  const ReportPtr report = reportOf(tenant);
  return report ? useOf(tenant, *report) : std::map<std::string, TenantUse>();
}

std::map<std::string, TenantUse> useOf(const Tenant& tenant, const ledger::ReportSnapshot& report) {
  std::map<std::string, TenantUse> uses;
  const ledger::TenantSpec& spec = tenant.pages->spec();
  for (std::size_t i = 0; i < spec.devices.size() && i < report.devices.size(); ++i) {
    TenantUse& use = uses[spec.devices[i].uuid];
    use.inside = report.devices[i].total;
  }
  if (!spec.context_overhead_outside || uses.empty()) return uses;
  if (spec.charges_contexts) {
    for (const ledger::DeviceSpec& device : spec.devices) {
      TenantUse& use = uses[device.uuid];
      use.outside = std::min(use.inside, device.context);
      use.inside = use.inside - use.outside;
    }
    return uses;
  }
  // A process' contexts are told as one sum; with one device it is that device's.
  Bytes contexts;
  for (const ledger::SlotSnapshot& slot : report.slots) contexts = contexts + slot.context;
  for (auto& [uuid, use] : uses) use.outside = {contexts.count / uses.size()};
  return uses;
}

TenantManager::TenantManager(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                             const arbiter::Settings& compute, MemoryPolicy memory,
                             std::function<void()> changed)
    : loop_(loop),
      paths_(std::move(paths)),
      inventory_(inventory),
      changed_(std::move(changed)),
      memory_(std::move(memory)),
      health_(quietOn(compute)),
      compute_(compute),
      arbiters_(compute),
      most_watched_(mostWatched()) {}

std::string TenantManager::newId() const {
  // Without letters that look alike; nothing here needs to be unguessable.
  constexpr std::string_view kLetters = "23456789abcdefghjkmnpqrstuvwxyz";
  std::string id;
  do {
    std::array<unsigned char, kIdLength> random{};
    if (getentropy(random.data(), random.size()) != 0)
      random.fill(static_cast<unsigned char>(tenants_.size()));
    id.clear();
    for (const unsigned char byte : random) id += kLetters[byte % kLetters.size()];
  } while (tenants_.contains(id) || access((paths_.tenants() + "/" + id).c_str(), F_OK) == 0);
  return id;
}

namespace {

TenantRecord recordOf(const RunRequest& request, const Decision& decision) {
  TenantRecord record;
  record.name = request.name;
  record.priority = request.priority;
  record.cores_policy = request.ask.cores_policy;
  record.created_ms = wallMs();
  record.created = record.created_ms / 1000;
  record.context_inside = request.ask.context_inside;
  record.on_pressure = request.on_pressure;
  record.pressure_wait_ms = request.pressure_wait_ms;
  record.idle = request.idle;
  record.pool = decision.pool;
  record.alone = decision.alone;
  record.user = request.ask.user;
  record.devices = request.ask.devices;
  record.expected_use = request.ask.expected_use;
  record.contained = request.contained;
  record.kept = request.kept;
  record.command = request.command;
  record.models = request.ask.models;
  record.uuids = request.ask.uuids;
  return record;
}

}  // namespace

ledger::TenantSpec TenantManager::specOf(const TenantRecord& record,
                                         const Decision& decision) const {
  ledger::TenantSpec spec;
  spec.slots = kFirstSlots;
  spec.id = record.id;
  spec.name = record.name;
  spec.context_overhead_outside = !record.context_inside;
  spec.node_devices = static_cast<unsigned>(inventory_.devices().size());
  // A container has its own driver, where its loader finds it.
  const bool contained = record.inContainer();
  spec.driver_path = contained ? "" : inventory_.cudaPath();
  spec.nvml_path = contained ? "" : inventory_.driver().path();
  spec.agent_socket = contained ? kRegistrarInside : paths_.registrar();
  for (const PlacedShare& placed : decision.shares) {
    const auto device = std::find_if(inventory_.devices().begin(), inventory_.devices().end(),
                                     [&](const Device& d) { return d.info.index == placed.index; });
    ledger::DeviceSpec share;
    share.uuid = device->info.uuid;
    share.pci_bus_id = device->info.pci;
    share.guarantee = placed.guarantee;
    share.ceiling = placed.limit;
    share.physical = device->info.physical;
    share.context = device->context;
    share.cores_guarantee = placed.cores;
    share.cores_ceiling = coresCeiling(record.cores_policy, placed.cores);
    spec.devices.push_back(share);
  }
  return spec;
}

Result<void> TenantManager::makeMountable(Tenant& tenant) const {
  if (!tenant.record.ofPod()) return {};
  const Result<ledger::SipKey> key = ipcKeyOf(tenant.record);
  if (!key) return key.error();
  return tenant.pages->makeSwapFiles(*key);
}

// A pod's container is called after its units: whatever is left there would keep each one out that
// gets them.
Result<void> TenantManager::clear(const std::string& dir) const {
  if (access(dir.c_str(), F_OK) != 0) return {};
  const std::vector<std::string> left = removeManaged(dir, tenantFiles());
  if (left.empty()) {
    info(dir + " was left by an earlier agent, and is gone now");
    return {};
  }
  const std::string aside = dir + ".left";
  if (rename(dir.c_str(), aside.c_str()) == 0) {
    warn(dir + " held " + left.front() + ", which is not Divvy's: it is " + aside + " now");
    return {};
  }
  return Error{ErrorCode::kIo, dir + " holds " + left.front() +
                                   ", which is not Divvy's, and cannot be " + "moved to " + aside +
                                   ": " + std::strerror(errno) +
                                   "; take it away if it is nobody's"};
}

Result<void> TenantManager::make(const TenantPtr& tenant, const Decision& decision) {
  TenantRecord& record = tenant->record;
  const ledger::TenantSpec spec = specOf(record, decision);
  for (std::size_t at = 0; at < spec.devices.size(); ++at) {
    const PlacedShare& placed = decision.shares[at];
    record.shares.push_back(
        {spec.devices[at].uuid, placed.limit, placed.reserve, placed.cores, placed.guarantee});
  }
  tenant->dir = paths_.tenants() + "/" + record.id;
  if (mkdir(paths_.tenants().c_str(), modeIn(paths_.dir(), 0700)) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, "creating " + paths_.tenants() + ": " + std::strerror(errno)};
  }
  if (Result<void> cleared = clear(tenant->dir); !cleared) return cleared;
  Result<ledger::TenantLedger> pages = ledger::TenantLedger::create(tenant->dir, spec);
  if (!pages) return std::move(pages).error().context("creating the share");
  tenant->pages = std::move(*pages);
  if (record.contained || record.ofPod()) tenant->control = placeOf(tenant->dir + "/control");
  Result<void> saved = makeMountable(*tenant);
  if (saved) saved = writeSwapConfig(*tenant);
  if (saved) openActivity(*tenant);
  if (saved) saved = saveRecord(tenant->dir, record);
  if (!saved) {
    std::error_code ignored;
    std::filesystem::remove_all(tenant->dir, ignored);
    return std::move(saved).error().context("creating the share");
  }
  tenants_[record.id] = tenant;
  tenant->use = LastActivity(nowMs());
  registerWithArbiter(*tenant);
  updateBudgets(false);
  return {};
}

Result<TenantPtr> TenantManager::create(const RunRequest& request, const Decision& decision,
                                        Backend backend, ProcessId holder) {
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = newId();
  record.backend = backend;
  record.holder = holder;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  watchHolder(tenant);
  emitFor(record, givenEvent(record, processWord(holder.pid, record.user)));
  return tenant;
}

Result<TenantPtr> TenantManager::createFor(const PodContainer& lodger, const std::string& id,
                                           const RunRequest& request, const Decision& decision) {
  if (tenants_.contains(id))
    return Error{ErrorCode::kUnavailable, "tenant " + id + " has not gone yet"};
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = id;
  record.lodger = lodger;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  emitFor(record, givenEvent(record, {}));
  return tenant;
}

void TenantManager::tell(EventView event) const {
  if (event_sink_) event_sink_(std::move(event));
}

void TenantManager::emitFor(const TenantRecord& record, EventView event) const {
  const bool one = record.shares.size() == 1;
  const Device* device = one ? deviceOf(record.shares.front().uuid) : nullptr;
  if (device != nullptr) event.device = static_cast<int>(device->info.index);
  tell(std::move(event));
}

TenantPtr TenantManager::unstartedOf(const ProcessId& holder) const {
  for (const auto& [id, tenant] : tenants_) {
    const TenantRecord& record = tenant->record;
    const bool same =
        record.holder.pid == holder.pid && record.holder.start_time == holder.start_time;
    if (same && tenant->pages && record.command_pid == 0) return tenant;
  }
  return nullptr;
}

TenantPtr TenantManager::find(const std::string& id_or_name) const {
  const auto by_id = tenants_.find(id_or_name);
  if (by_id != tenants_.end()) return by_id->second;
  if (id_or_name.empty()) return nullptr;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant->record.name == id_or_name) return tenant;
  }
  return nullptr;
}

void TenantManager::collectIfUnused(const TenantPtr& tenant) {
  if (!tenants_.contains(tenant->record.id)) return;
  const bool held = tenant->holder || tenant->record.ofPod() || tenant->record.kept;
  if (held && !tenant->said_ended) return;
  // Processes that ended but whose exit the loop has not seen yet do not count.
  for (const auto& [id, watched] : tenant->processes.watched()) {
    if (!hasEnded(watched.exit->native_handle())) return;
  }
  if (watchSurvivors(tenant)) {
    tenant->empty_scans = 0;
    return;
  }
  if (tenant->said_ended || ++tenant->empty_scans >= kEmptyScans) return removeTenant(tenant);
  tenant->recheck.expires_after(kRecheck);
  tenant->recheck.async_wait([this, tenant](const error_code& fault) {
    if (!fault) collectIfUnused(tenant);
  });
}

void TenantManager::end(const TenantPtr& tenant) {
  tenant->said_ended = true;
  collectIfUnused(tenant);
}

arbiter::Entitlement TenantManager::policyOf(const Tenant& tenant) const {
  arbiter::Entitlement terms = termsOf(tenant.record);
  // Behind an open gate nothing is counted: nobody would know whether it is idle.
  terms.never_open = stopMs(tenant.record) != 0;
  if (!tenant.throttled) return terms;
  terms.cls = arbiter::Class::kBestEffort;
  terms.guarantee = 0;
  terms.ceiling = kThrottledCeiling;
  return terms;
}

void TenantManager::throttle(Tenant& tenant, bool throttled) {
  if (std::exchange(tenant.throttled, throttled) == throttled) return;
  arbiters_.change(tenant.record.id, policyOf(tenant));
}

bool TenantManager::activityKnown(const Tenant& tenant) const {
  const std::optional<arbiter::TenantStats> figures = compute(tenant);
  return reportsActivity(tenant) && figures && figures->ungated.empty();
}

void TenantManager::openActivity(Tenant& tenant) {
  if (stopMs(tenant.record) == 0 || !arbiterGates(tenant.record.backend)) return;
  if (tenant.record.counted == 0) {
    tenant.record.counted = std::time(nullptr);
    tenant.use = LastActivity(nowMs());
  }
  if (tenant.swap || tenant.work) return;
  Result<ActivityReader> reader = ActivityReader::open(tenant.dir);
  if (reader) tenant.work.emplace(std::move(*reader));
  if (!reader) warn("tenant " + tenant.record.id + " is never idle: " + reader.error().message());
}

void TenantManager::registerWithArbiter(Tenant& tenant) {
  if (!arbiterGates(tenant.record.backend)) {
    Result<ledger::GrantPages> pages = ledger::GrantPages::open(tenant.dir);
    ledger::GrantTerms terms;
    terms.backend = static_cast<ledger::Backend>(tenant.record.backend);
    if (pages) pages->amend(terms);
    return;
  }
  std::vector<unsigned> devices;
  for (const ShareRecord& share : tenant.record.shares) {
    // A card that has gone is shared with nobody.
    unsigned index = ~0u - static_cast<unsigned>(devices.size());
    for (const Device& device : inventory_.devices()) {
      if (device.info.uuid == share.uuid) index = device.info.index;
    }
    devices.push_back(index);
  }
  arbiters_.add(tenant.record.id, tenant.dir, policyOf(tenant), devices);
  updateEntitlement(tenant);
  const std::optional<arbiter::TenantStats> figures = compute(tenant);
  if (figures && !figures->ungated.empty())
    warn("tenant " + tenant.record.id + " shares its compute with nobody: " + figures->ungated);
}

void TenantManager::removeTenant(const TenantPtr& tenant) {
  arbiters_.remove(tenant->record.id);
  tenants_.erase(tenant->record.id);
  tenant->holder.reset();
  tenant->processes.clear();
  tenant->survivors.clear();
  tenant->recheck.cancel();
  tenant->pages.reset();
  if (!tenant->record.cdi_file.empty())
    removeCdi(tenant->record.cdi_file, tenant->dir + "/control");
  for (const std::string& left : removeManaged(tenant->dir, tenantFiles()))
    warn(tenant->dir + " stays: " + left + " is not Divvy's, or holds what is not");
  emitFor(tenant->record, endedEvent(tenant->record, wallMs()));
  tenant->ended.cancel();
  changed_();
}

void TenantManager::signal(const TenantPtr& tenant, int signal) {
  watchSurvivors(tenant);
  const auto send = [signal](const WatchedProcess& watched) {
    if (watched.exit)
      syscall(SYS_pidfd_send_signal, watched.exit->native_handle(), signal, nullptr, 0);
  };
  for (const auto& [id, watched] : tenant->processes.watched()) send(watched);
  for (const auto& [pid, watched] : tenant->survivors) send(watched);
  if (tenant->holder) send(*tenant->holder);
}

void TenantManager::signalAll(int signal) {
  for (const auto& [id, tenant] : tenants_) this->signal(tenant, signal);
}

}  // namespace divvy::agent
