#include "tenant/tenant_manager.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/folder_mode.h"
#include "container/cdi_spec.h"
#include "container/tenant_edits.h"
#include "log/log.h"
#include "os/managed_files.h"
#include "tenant/tenant_events.h"

namespace divvy::agent {
namespace {

// Slots of a new tenant: ready slots are read, and mapped, as long as the tenant lives, and most
// tenants have a few processes.
constexpr unsigned kFirstSlots = 64;
constexpr std::size_t kIdLength = 6;
constexpr std::uint64_t kPermille = 1000;

// A simulated card's minutes are as long as its clock has them.
std::uint64_t quietOn(const arbiter::Settings& cards) {
  return kQuietMs * kPermille / std::max<std::uint64_t>(1, cards.card_permille);
}

// An ID that no tenant has, in the table or in the directory `tenants`.
std::string newId(const TenantTable& table, const std::string& tenants) {
  // Without letters that look alike; nothing here needs to be unguessable.
  constexpr std::string_view kLetters = "23456789abcdefghjkmnpqrstuvwxyz";
  std::string id;
  do {
    std::array<unsigned char, kIdLength> random{};
    if (getentropy(random.data(), random.size()) != 0)
      random.fill(static_cast<unsigned char>(table.all().size()));
    id.clear();
    for (const unsigned char byte : random) id += kLetters[byte % kLetters.size()];
  } while (table.contains(id) || access((tenants + "/" + id).c_str(), F_OK) == 0);
  return id;
}

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

ledger::TenantSpec ledgerSpecOf(const TenantRecord& record, const Decision& decision,
                                const Inventory& inventory, const NodePaths& paths) {
  ledger::TenantSpec spec;
  spec.slots = kFirstSlots;
  spec.id = record.id;
  spec.name = record.name;
  spec.context_overhead_outside = !record.context_inside;
  spec.node_devices = static_cast<unsigned>(inventory.devices().size());
  // A container has its own driver, where its loader finds it.
  const bool contained = record.inContainer();
  spec.driver_path = contained ? "" : inventory.cudaPath();
  spec.nvml_path = contained ? "" : inventory.driver().path();
  spec.agent_socket = contained ? kRegistrarInside : paths.registrar();
  for (const PlacedShare& placed : decision.shares) {
    const auto device = std::find_if(inventory.devices().begin(), inventory.devices().end(),
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

// Removes files left under this name, or moves foreign files aside: a pod's tenant is named after
// its device IDs, and such files would keep out every container that gets them. kIo: neither is
// possible.
Result<void> clearLeftovers(const std::string& dir) {
  if (access(dir.c_str(), F_OK) != 0) return {};
  const std::vector<std::string> left = removeManaged(dir, tenantFiles());
  if (left.empty()) {
    log::info("removed a directory of an earlier agent", {{"directory", dir}});
    return {};
  }
  const std::string aside = dir + ".left";
  if (rename(dir.c_str(), aside.c_str()) == 0) {
    log::warn("moved a directory: it held a file that Divvy did not create",
              {{"directory", dir}, {"file", left.front()}, {"moved_to", aside}});
    return {};
  }
  return Error{ErrorCode::kIo, dir + " holds " + left.front() +
                                   ", which is not a file of Divvy, and cannot be " + "moved to " +
                                   aside + ": " + std::strerror(errno) +
                                   "; remove it if it is not needed"};
}

}  // namespace

TenantManager::TenantManager(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
                             const arbiter::Settings& compute, MemoryPolicy memory,
                             std::function<void()> changed)
    : loop_(loop),
      paths_(std::move(paths)),
      inventory_(inventory),
      notifier_(inventory, std::move(changed)),
      health_(inventory, paths_, quietOn(compute),
              {.event = [this](EventView event) { notifier_.emit(std::move(event)); },
               .changed =
                   [this] {
                     overcommit_.updateBudgets(false);
                     notifier_.changed();
                   }}),
      capacity_(table_, inventory, health_.health(), std::move(memory)),
      compute_(inventory, capacity_.policy(), compute),
      overcommit_(table_, inventory, capacity_, compute_.arbiters()),
      liveness_({.loop = loop,
                 .table = table_,
                 .arbiters = compute_.arbiters(),
                 .notifier = notifier_,
                 .remove = [this](const TenantPtr& tenant) { remove(tenant); }}),
      audit_(table_, inventory, compute_.arbiters(),
             compute.card_permille == kPermille ? UsageAuditMonitor::Clock::kReal
                                                : UsageAuditMonitor::Clock::kScaled),
      resizer_({.table = table_,
                .capacity = capacity_,
                .overcommit = overcommit_,
                .compute = compute_,
                .notifier = notifier_}) {}

Result<void> TenantManager::make(const TenantPtr& tenant, const Decision& decision) {
  TenantRecord& record = tenant->record;
  const ledger::TenantSpec spec = ledgerSpecOf(record, decision, inventory_, paths_);
  for (std::size_t at = 0; at < spec.devices.size(); ++at) {
    const PlacedShare& placed = decision.shares[at];
    record.shares.push_back(
        {spec.devices[at].uuid, placed.limit, placed.reserve, placed.cores, placed.guarantee});
  }
  tenant->dir = paths_.tenants() + "/" + record.id;
  if (mkdir(paths_.tenants().c_str(), modeIn(paths_.dir(), 0700)) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, "creating " + paths_.tenants() + ": " + std::strerror(errno)};
  }
  if (Result<void> cleared = clearLeftovers(tenant->dir); !cleared) return cleared;
  Result<ledger::TenantLedger> pages = ledger::TenantLedger::create(tenant->dir, spec);
  if (!pages) return std::move(pages).error().context("creating the share");
  tenant->pages = std::move(*pages);
  if (record.contained || record.ofPod()) tenant->control = placeOf(tenant->dir + "/control");
  Result<void> saved = overcommit_.makeSwapFiles(*tenant);
  if (saved) saved = overcommit_.writeConfig(*tenant);
  if (saved) compute_.openActivity(*tenant);
  if (saved) saved = saveRecord(tenant->dir, record);
  if (!saved) {
    std::error_code ignored;
    std::filesystem::remove_all(tenant->dir, ignored);
    return std::move(saved).error().context("creating the share");
  }
  table_.add(tenant);
  tenant->activity.begin(nowMs());
  registerWithArbiter(*tenant);
  overcommit_.updateBudgets(false);
  return {};
}

Result<TenantPtr> TenantManager::create(const RunRequest& request, const Decision& decision,
                                        Backend backend, ProcessId holder) {
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = newId(table_, paths_.tenants());
  record.backend = backend;
  record.holder = holder;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  liveness_.watchHolder(tenant);
  notifier_.emitFor(record, givenEvent(record, processWord(holder.pid, record.user)));
  return tenant;
}

Result<TenantPtr> TenantManager::createFor(const PodContainer& lodger, const std::string& id,
                                           const RunRequest& request, const Decision& decision) {
  if (table_.contains(id))
    return Error{ErrorCode::kUnavailable, "tenant " + id + " has not ended yet"};
  auto tenant = std::make_shared<Tenant>(loop_);
  TenantRecord& record = tenant->record;
  record = recordOf(request, decision);
  record.id = id;
  record.lodger = lodger;
  if (Result<void> made = make(tenant, decision); !made) return made.error();
  notifier_.emitFor(record, givenEvent(record, {}));
  return tenant;
}

void TenantManager::registerWithArbiter(Tenant& tenant) {
  if (!arbiterGates(tenant.record.backend)) return TenantCompute::noteBackend(tenant);
  compute_.add(tenant);
  overcommit_.updateEntitlement(tenant);
  compute_.warnIfUngated(tenant);
}

void TenantManager::remove(const TenantPtr& tenant) {
  notifier_.ending(*tenant);
  compute_.arbiters().remove(tenant->record.id);
  table_.remove(tenant->record.id);
  LivenessMonitor::forget(*tenant);
  tenant->pages.reset();
  if (!tenant->record.cdi_file.empty())
    removeCdi(tenant->record.cdi_file, tenant->dir + "/control");
  for (const std::string& left : removeManaged(tenant->dir, tenantFiles()))
    log::warn("a directory stays: it holds a file that Divvy did not create",
              {{"directory", tenant->dir}, {"file", left}});
  notifier_.emitFor(tenant->record, endedEvent(tenant->record, wallMs()));
  tenant->liveness.removed().cancel();
  notifier_.changed();
}

}  // namespace divvy::agent
