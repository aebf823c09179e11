#include "tenants.h"

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
#include "cdi.h"
#include "injection.h"
#include "ledger/grants.h"
#include "log.h"
#include "own_files.h"
#include "tenant_events.h"

namespace divvy::agent {
namespace {

// Between two looks for survivors: an execve hides a process from a look for far less.
constexpr std::chrono::milliseconds kRecheck{100};
// Looks that must find nobody before a tenant is given up whose holder did not say good-bye.
constexpr unsigned kEmptyScans = 2;
// Slots of a new tenant, and those that are kept free for processes to come: what is ready is
// looked at, and mapped, as long as the tenant lives, and most have a few processes.
constexpr unsigned kFirstSlots = 64;
constexpr unsigned kFreeSlots = 48;
constexpr unsigned kThrottledCeiling = 1;  // percent of a device's time
constexpr std::size_t kIdLength = 6;
// Looks: a page that moves while it is copied can mislead once.
constexpr unsigned kLastingDoubt = 3;

// A simulated card's minutes are as long as its clock has them.
std::uint64_t quietOn(const arbiter::Settings& cards) {
  return kQuietMs * 1000 / std::max<std::uint64_t>(1, cards.card_permille);
}

}  // namespace

arbiter::Terms termsOf(const TenantRecord& record) {
  arbiter::Terms terms;
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
  const Result<ledger::ReportSnapshot> report = tenant.pages->readReport();
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
  // A process' contexts are told as one sum; with one device it is that device's.
  Bytes contexts;
  for (const ledger::SlotSnapshot& slot : report.slots) contexts = contexts + slot.context;
  for (auto& [uuid, use] : uses) use.outside = {contexts.count / uses.size()};
  return uses;
}

Tenants::Tenants(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                 const arbiter::Settings& compute, MemoryPolicy memory,
                 std::function<void()> changed)
    : loop_(loop),
      paths_(std::move(paths)),
      inventory_(inventory),
      changed_(std::move(changed)),
      memory_(std::move(memory)),
      health_(quietOn(compute)),
      compute_(compute),
      arbiters_(compute) {}

std::string Tenants::freshId() const {
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

ledger::TenantSpec Tenants::specOf(const TenantRecord& record, const Decision& decision) const {
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
  for (const Placed& placed : decision.shares) {
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

Result<void> Tenants::makeMountable(Tenant& tenant) const {
  if (!tenant.record.ofPod()) return {};
  const Result<ledger::SipKey> key = ipcKeyOf(tenant.record);
  if (!key) return key.error();
  return tenant.pages->makeSwapFiles(*key);
}

// A pod's container is called after its units: whatever is left there would keep each one out that
// gets them.
Result<void> Tenants::clear(const std::string& dir) const {
  if (access(dir.c_str(), F_OK) != 0) return {};
  const std::vector<std::string> left = removeOwn(dir, tenantFiles());
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

Result<void> Tenants::make(const TenantPtr& tenant, const Decision& decision) {
  TenantRecord& record = tenant->record;
  const ledger::TenantSpec spec = specOf(record, decision);
  for (std::size_t at = 0; at < spec.devices.size(); ++at) {
    const Placed& placed = decision.shares[at];
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
  if (saved) saved = tellSwap(*tenant);
  if (saved) followWork(*tenant);
  if (saved) saved = saveRecord(tenant->dir, record);
  if (!saved) {
    std::error_code ignored;
    std::filesystem::remove_all(tenant->dir, ignored);
    return std::move(saved).error().context("creating the share");
  }
  tenants_[record.id] = tenant;
  tenant->use = LastUse(nowMs());
  arbitrate(*tenant);
  tellDevices(false);
  return {};
}

Result<TenantPtr> Tenants::create(const RunRequest& request, const Decision& decision,
                                  Backend backend, ProcessId holder) {
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = freshId();
  record.backend = backend;
  record.holder = holder;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  watchHolder(tenant);
  tellOf(record, givenEvent(record, processWord(holder.pid, record.user)));
  return tenant;
}

Result<TenantPtr> Tenants::createFor(const PodContainer& lodger, const std::string& id,
                                     const RunRequest& request, const Decision& decision) {
  if (tenants_.contains(id))
    return Error{ErrorCode::kUnavailable, "tenant " + id + " has not gone yet"};
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = id;
  record.lodger = lodger;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  tellOf(record, givenEvent(record, {}));
  return tenant;
}

void Tenants::tell(EventView event) const {
  if (hears_) hears_(std::move(event));
}

void Tenants::tellOf(const TenantRecord& record, EventView event) const {
  const bool one = record.shares.size() == 1;
  const Device* device = one ? deviceOf(record.shares.front().uuid) : nullptr;
  if (device != nullptr) event.device = static_cast<int>(device->info.index);
  tell(std::move(event));
}

TenantPtr Tenants::unstartedOf(const ProcessId& holder) const {
  for (const auto& [id, tenant] : tenants_) {
    const TenantRecord& record = tenant->record;
    const bool same =
        record.holder.pid == holder.pid && record.holder.start_time == holder.start_time;
    if (same && tenant->pages && record.command_pid == 0) return tenant;
  }
  return nullptr;
}

TenantPtr Tenants::find(const std::string& id_or_name) const {
  const auto by_id = tenants_.find(id_or_name);
  if (by_id != tenants_.end()) return by_id->second;
  if (id_or_name.empty()) return nullptr;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant->record.name == id_or_name) return tenant;
  }
  return nullptr;
}

void Tenants::watch(Watched& watched, Fd pidfd, std::function<void()> on_exit) {
  watched.exit = std::make_unique<asio::posix::stream_descriptor>(loop_, pidfd.release());
  watched.exit->async_wait(asio::posix::stream_descriptor::wait_read,
                           [on_exit = std::move(on_exit)](const error_code& fault) {
                             if (!fault) on_exit();
                           });
}

void Tenants::watchHolder(const TenantPtr& tenant) {
  Fd pidfd = openProcess(tenant->record.holder);
  if (!pidfd.valid()) return check(tenant);
  tenant->holder.emplace(Watched{tenant->record.holder, nullptr});
  watch(*tenant->holder, std::move(pidfd), [this, tenant] {
    tenant->holder.reset();
    check(tenant);
  });
}

void Tenants::watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id, Fd pidfd) {
  if (!tenant->pages || tenant->processes.contains(key)) return;
  if (!pidfd.valid()) pidfd = openProcess(id);
  if (!pidfd.valid()) {
    // Out of descriptors is no death: the next sweep looks again.
    return mayLive(id.pid) ? void() : reap(tenant, key);
  }
  static_cast<void>(
      tenant->pages->adoptSlot(key.slot, key.generation, static_cast<std::uint32_t>(id.pid)));
  arbiters_.arrived(tenant->record.id, key.slot, key.generation);
  Watched& watched = tenant->processes[key];
  watched.id = id;
  watch(watched, std::move(pidfd), [this, tenant, key] {
    tenant->processes.erase(key);
    reap(tenant, key);
    check(tenant);
  });
}

// A slot says who its process is in that process' own pid namespace, which may lie below ours.
void Tenants::findAndWatch(const TenantPtr& tenant, const SlotKey& key, const ledger::Owner& owner,
                           ledger::ProcessLook& look) {
  if (tenant->processes.contains(key)) return;
  const Result<std::uint32_t> found = look.find(owner);
  if (!found) return warn("tenant " + tenant->record.id + ": " + found.error().message());
  if (*found == 0) return reap(tenant, key);
  const int pid = static_cast<int>(*found);
  watchProcess(tenant, key, {pid, startTimeOf(pid)}, Fd());
}

void Tenants::reap(const TenantPtr& tenant, const SlotKey& key) {
  if (!tenant->pages) return;
  arbiters_.left(tenant->record.id, key.slot, key.generation);
  Result<ledger::ReapResult> result = tenant->pages->reap(key.slot, key.generation);
  if (!result && result.error().code() == ErrorCode::kUnavailable) {
    asio::post(loop_, [this, tenant, key] { reap(tenant, key); });
    return;
  }
  if (!result) warn("tenant " + tenant->record.id + ": " + result.error().message());
  changed_();
}

bool Tenants::watchSurvivors(const TenantPtr& tenant) {
  if (tenant->record.ofPod()) return false;
  // Processes of containers have no word of ours in their environment, or one that they chose.
  const std::vector<ProcessId> found =
      tenant->record.contained ? processesWhere([&](int pid) { return isIn(*tenant, pid); })
                               : processesIn(tenant->dir, geteuid());
  for (const ProcessId& id : found) {
    if (id.pid == processes().self() || tenant->survivors.contains(id.pid)) continue;
    Fd pidfd = openProcess(id);
    if (!pidfd.valid()) continue;
    Watched& watched = tenant->survivors[id.pid];
    watched.id = id;
    watch(watched, std::move(pidfd), [this, tenant, pid = id.pid] {
      tenant->survivors.erase(pid);
      check(tenant);
    });
  }
  return !tenant->survivors.empty();
}

void Tenants::check(const TenantPtr& tenant) {
  if (!tenants_.contains(tenant->record.id)) return;
  const bool held = tenant->holder || tenant->record.ofPod() || tenant->record.kept;
  if (held && !tenant->said_ended) return;
  // Processes that ended but whose exit the loop has not seen yet do not count.
  for (auto& [key, watched] : tenant->processes) {
    if (!hasEnded(watched.exit->native_handle())) return;
  }
  if (watchSurvivors(tenant)) {
    tenant->empty_scans = 0;
    return;
  }
  if (tenant->said_ended || ++tenant->empty_scans >= kEmptyScans) return bury(tenant);
  tenant->recheck.expires_after(kRecheck);
  tenant->recheck.async_wait([this, tenant](const error_code& fault) {
    if (!fault) check(tenant);
  });
}

void Tenants::end(const TenantPtr& tenant) {
  tenant->said_ended = true;
  check(tenant);
}

arbiter::Terms Tenants::lawOf(const Tenant& tenant) const {
  arbiter::Terms terms = termsOf(tenant.record);
  // Behind an open gate nothing is counted: nobody would know whether it is idle.
  terms.never_open = stopMs(tenant.record) != 0;
  if (!tenant.throttled) return terms;
  terms.cls = arbiter::Class::kBestEffort;
  terms.guarantee = 0;
  terms.ceiling = kThrottledCeiling;
  return terms;
}

void Tenants::throttle(Tenant& tenant, bool throttled) {
  if (std::exchange(tenant.throttled, throttled) == throttled) return;
  arbiters_.change(tenant.record.id, lawOf(tenant));
}

bool Tenants::seesUse(const Tenant& tenant) const {
  const std::optional<arbiter::TenantFigures> figures = compute(tenant);
  return knowsUse(tenant) && figures && figures->ungated.empty();
}

void Tenants::followWork(Tenant& tenant) {
  if (stopMs(tenant.record) == 0 || !arbiterGates(tenant.record.backend)) return;
  if (tenant.record.counted == 0) {
    tenant.record.counted = std::time(nullptr);
    tenant.use = LastUse(nowMs());
  }
  if (tenant.swap || tenant.work) return;
  Result<WorkReader> reader = WorkReader::open(tenant.dir);
  if (reader) tenant.work.emplace(std::move(*reader));
  if (!reader) warn("tenant " + tenant.record.id + " is never idle: " + reader.error().message());
}

void Tenants::arbitrate(Tenant& tenant) {
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
  arbiters_.add(tenant.record.id, tenant.dir, lawOf(tenant), devices);
  tellMemory(tenant);
  const std::optional<arbiter::TenantFigures> figures = compute(tenant);
  if (figures && !figures->ungated.empty())
    warn("tenant " + tenant.record.id + " shares its compute with nobody: " + figures->ungated);
}

void Tenants::bury(const TenantPtr& tenant) {
  arbiters_.remove(tenant->record.id);
  tenants_.erase(tenant->record.id);
  tenant->holder.reset();
  tenant->processes.clear();
  tenant->survivors.clear();
  tenant->recheck.cancel();
  tenant->pages.reset();
  if (!tenant->record.cdi_file.empty())
    removeCdi(tenant->record.cdi_file, tenant->dir + "/control");
  for (const std::string& left : removeOwn(tenant->dir, tenantFiles()))
    warn(tenant->dir + " stays: " + left + " is not Divvy's, or holds what is not");
  tellOf(tenant->record, endedEvent(tenant->record, wallMs()));
  tenant->ended.cancel();
  changed_();
}

void Tenants::sweep() {
  const std::map<std::string, TenantPtr> snapshot = tenants_;
  for (const auto& [id, tenant] : snapshot) {
    if (!tenant->pages) continue;
    const Result<ledger::ReportSnapshot> report = tenant->pages->readReport();
    if (!report) continue;
    noteReport(*tenant, *report, kLastingDoubt);
    // A container may write what it likes there: of others' processes nothing is its.
    ledger::Eligible eligible;
    if (tenant->record.inContainer())
      eligible = [tenant](std::uint32_t pid) { return isIn(*tenant, static_cast<int>(pid)); };
    // After the report: whoever is in that was there before.
    ledger::ProcessLook look(std::move(eligible));
    for (const ledger::SlotSnapshot& slot : report->slots) {
      if (slot.phase == ledger::Phase::kRetired) continue;
      findAndWatch(tenant, {slot.slot, slot.generation}, slot.owner, look);
    }
    const Result<unsigned> slots = tenant->pages->ensureFreeSlots(kFreeSlots);
    if (!slots) warn("tenant " + id + ": " + slots.error().message());
  }
}

void Tenants::signal(const TenantPtr& tenant, int signal) {
  watchSurvivors(tenant);
  const auto send = [signal](const Watched& watched) {
    if (watched.exit)
      syscall(SYS_pidfd_send_signal, watched.exit->native_handle(), signal, nullptr, 0);
  };
  for (const auto& [key, watched] : tenant->processes) send(watched);
  for (const auto& [pid, watched] : tenant->survivors) send(watched);
  if (tenant->holder) send(*tenant->holder);
}

void Tenants::signalAll(int signal) {
  for (const auto& [id, tenant] : tenants_) this->signal(tenant, signal);
}

}  // namespace divvy::agent
