#include "enforcement/checkpoint_controller.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/processes.h"
#include "log/log.h"
#include "os/host_memory.h"

namespace divvy::agent {
namespace {

using namespace std::chrono_literals;

constexpr CheckpointTime kTick = 100ms;
// Time for swappable memory to be swapped out first, which costs less.
constexpr CheckpointTime kSwapFirst = 3s;

CheckpointTime clockNow() {
  return std::chrono::duration_cast<CheckpointTime>(
      std::chrono::steady_clock::now().time_since_epoch());
}

std::vector<int> pidsOf(const Tenant& tenant) {
  std::vector<int> pids;
  for (const auto& [process, watch] : tenant.liveness.processes().watched())
    pids.push_back(process.pid);
  return pids;
}

// A process of another user: only root may stop it.
bool isForeign(int pid) {
  struct stat status {};
  const bool known = stat(procPath(pid, "").c_str(), &status) == 0;
  return known && geteuid() != 0 && status.st_uid != geteuid();
}

bool swappedOut(const Tenant& tenant) {
  const ResidencySummary sums = swapOf(tenant);
  return std::all_of(sums.devices.begin(), sums.devices.end(),
                     [](const SwapState& state) { return state.mapped.count == 0; });
}

}  // namespace

CheckpointController::CheckpointController(asio::io_context& loop, TenantManager& tenants,
                                           const Inventory& inventory, std::string executable,
                                           bool on)
    : loop_(loop),
      tenants_(tenants),
      inventory_(inventory),
      executable_(std::move(executable)),
      on_(on),
      driver_(driverBranch(inventory.driverVersion())),
      timer_(loop) {}

void CheckpointController::begin() {
  bool any = on_;
  for (const auto& [id, tenant] : tenants_.all())
    any = any || tenant->record.checkpoint != CheckpointPhase::kHere;
  if (any) tick();
}

void CheckpointController::tick() {
  follow();
  serve();
  timer_.expires_after(kTick);
  timer_.async_wait([this](const error_code& fault) {
    if (!fault) tick();
  });
}

void CheckpointController::follow() {
  const CheckpointTime now = clockNow();
  host_available_ = hostAvailable();
  for (auto known = known_.begin(); known != known_.end();) {
    const bool lives = tenants_.all().contains(known->first);
    if (!lives) board_.remove(known->first);
    known = lives ? std::next(known) : known_.erase(known);
  }
  const std::map<std::string, TenantPtr> tenants = tenants_.all();
  for (const auto& [id, tenant] : tenants) {
    const bool away = tenant->record.checkpoint != CheckpointPhase::kHere;
    if (tenant->pages && (tenant->memory.swap() || away)) follow(tenant, now);
  }
}

void CheckpointController::follow(const TenantPtr& tenant, CheckpointTime now) {
  const std::string& id = tenant->record.id;
  if (!board_.has(id)) {
    std::vector<unsigned> devices;
    for (const ShareRecord& share : tenant->record.shares)
      for (const Device& device : inventory_.devices())
        if (device.info.uuid == share.uuid) devices.push_back(device.info.index);
    board_.add(id, devices, tenant->record.checkpoint);
    known_[id];
  }
  board_.setProcesses(id, pidsOf(*tenant));
  note(tenant, now);
  board_.wish(id, wishFor(tenant, now));
}

Ineligibility CheckpointController::barFor(const Tenant& tenant, CheckpointTime now) const {
  const CheckpointStateMachine& course = board_.course(tenant.record.id);
  if (course.bar() != Ineligibility::kNone && now < course.barredUntil()) return course.bar();
  CheckpointFacts facts;
  facts.on = on_;
  facts.arbitrated = arbiterGates(tenant.record.backend);
  facts.driver = driver_;
  const std::vector<int> pids = pidsOf(tenant);
  facts.processes = static_cast<unsigned>(pids.size());
  facts.foreign = std::any_of(pids.begin(), pids.end(), isForeign);
  facts.pins = swapOf(tenant).pin_reasons;
  facts.host_available = host_available_;
  facts.sites = tenants_.overcommit().footprints(tenant);
  return barOf(facts);
}

bool CheckpointController::ruled(const Tenant& tenant) const {
  const std::vector<Device>& devices = inventory_.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (tenants_.memory().devices.at(i).overcommit_permille == kNoOvercommit) continue;
    for (const ShareRecord& share : tenant.record.shares)
      if (share.uuid == devices[i].info.uuid) return true;
  }
  return false;
}

CheckpointRequest CheckpointController::wishFor(const TenantPtr& tenant, CheckpointTime now) {
  Known& known = known_[tenant->record.id];
  const std::optional<arbiter::TenantStats> figures = tenants_.compute().figures(*tenant);
  // Without overcommit no other tenant is promised its memory, so the device's own figures decide.
  if (!ruled(*tenant) || !figures || !figures->ungated.empty()) return {false, true};
  const arbiter::MemoryStats& memory = figures->memory;
  if (!memory.unswapped.empty()) return {false, true};
  CheckpointRequest wish;
  // After a restart the arbiter has not decided yet; a checkpoint needs its request.
  if (!memory.swapped || memory.round != tenant->memory.checkpoint().round) return wish;
  wish.may_return = memory.reserved;
  if (!memory.park || tenant->memory.checkpoint().bar != Ineligibility::kNone) {
    known.asked.reset();
    return wish;
  }
  known.asked = known.asked.value_or(now);
  wish.leave = swappedOut(*tenant) || now - *known.asked >= kSwapFirst;
  return wish;
}

void CheckpointController::note(const TenantPtr& tenant, CheckpointTime now) {
  const CheckpointStateMachine& course = board_.course(tenant->record.id);
  const CheckpointPhase phase = course.phase();
  const CheckpointPhase before = tenant->record.checkpoint;
  CheckpointStatus status = tenant->memory.checkpoint();
  const bool leaving = phase == CheckpointPhase::kLeaving && !status.parked;
  if (!leaving) status.bar = barFor(*tenant, now);
  if (phase == CheckpointPhase::kAway && !status.parked) status.parked = true;
  if (phase == CheckpointPhase::kHere) status.parked = false;
  if (status.parked != tenant->memory.checkpoint().parked) ++status.round;
  status.may_return = phase != CheckpointPhase::kAway || now >= course.postponedUntil();
  killDoomed(*tenant, status);
  // A phase that was not stored does not count: it is tried again, and the memory stays reserved.
  const Result<void> noted = tenants_.overcommit().noteCheckpoint(*tenant, phase, status);
  if (!noted)
    return log::warn("cannot store the checkpoint phase of a tenant; it is tried again",
                     {{"tenant", tenant->record.id}, {"error", noted.error().message()}});
  if (phase == before) return;
  const log::Field id{"tenant", tenant->record.id};
  const log::Field name{"phase", phaseName(phase)};
  if (phase == CheckpointPhase::kReturning && course.bar() != Ineligibility::kNone)
    return log::info("checkpoint phase", {id, name, {"reason", barWords(course.bar())}});
  log::info("checkpoint phase", {id, name});
}

void CheckpointController::killDoomed(Tenant& tenant, CheckpointStatus& status) {
  Known& known = known_[tenant.record.id];
  for (const CheckpointStateMachine::LostProcess& doomed :
       board_.course(tenant.record.id).doomed()) {
    const WatchedProcess* process = tenant.liveness.processes().find(doomed.pid);
    if (process == nullptr || !known.killed.insert(doomed.pid).second) continue;
    status.lost = "process " + std::to_string(doomed.pid) + " was lost: " + doomed.why;
    log::warn("lost a process of a tenant; killing it", {{"tenant", tenant.record.id},
                                                         {"pid", std::to_string(doomed.pid)},
                                                         {"reason", doomed.why}});
    syscall(SYS_pidfd_send_signal, process->exit->native_handle(), SIGKILL, nullptr, 0);
  }
}

void CheckpointController::serve() {
  const CheckpointTime now = clockNow();
  for (const CheckpointScheduler::Due& due : board_.due(now)) {
    const auto tenant = tenants_.all().find(due.tenant);
    // Stored before the driver call, because a successor must know of it.
    if (tenant != tenants_.all().end()) note(tenant->second, now);
    asio::co_spawn(loop_, make(due.tenant, due.step), asio::detached);
  }
  for (auto& [id, known] : known_)
    if (board_.has(id) && board_.course(id).resting()) known.helper.reset();
}

asio::awaitable<void> CheckpointController::make(std::string id, CheckpointStep step) {
  std::shared_ptr<CheckpointWorker> helper = known_[id].helper;
  if (helper == nullptr) {
    const std::string cuda = inventory_.cudaPath().empty() ? "libcuda.so.1" : inventory_.cudaPath();
    helper = std::make_shared<CheckpointWorker>(loop_, executable_, cuda);
    known_[id].helper = helper;
  }
  const auto found = tenants_.all().find(id);
  CheckpointReply reply{CheckpointAnswer::kNoRoom, DriverState::kUnknown, ""};
  const bool restores = step.call == CheckpointCall::kRestore;
  if (!restores || (found != tenants_.all().end() && hasRoom(*found->second)))
    reply = co_await helper->ask(step);
  if (!reply.why.empty())
    log::warn("a checkpoint call failed",
              {{"tenant", id}, {"call", checkpointLine(step)}, {"error", reply.why}});
  if (reply.answer == CheckpointAnswer::kSilent)
    log::warn("the driver does not answer a checkpoint call",
              {{"tenant", id}, {"call", checkpointLine(step)}});
  board_.answered(id, reply.answer, reply.state, clockNow());
  follow();
  serve();
}

// Uses the device's figures, not the accounts: a restore that runs out of memory cannot be
// repeated.
bool CheckpointController::hasRoom(const Tenant& tenant) const {
  const std::vector<DeviceFootprint> sites = tenants_.overcommit().footprints(tenant);
  const std::vector<int> pids = pidsOf(tenant);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    DeviceFootprint site = sites[i];
    site.used = site.resident;
    for (const Device& device : inventory_.devices()) {
      if (device.info.uuid != tenant.record.shares[i].uuid) continue;
      Bytes there;  // of its processes that are restored already
      for (const driver::ProcessUse& process : inventory_.driver().processes(device.info.index))
        if (std::binary_search(pids.begin(), pids.end(), process.pid))
          there = there + process.bytes;
      // Queried afterwards, so that a process that is restored in between does not count as free
      // memory.
      const Result<driver::DeviceUse> use = inventory_.driver().use(device.info.index);
      if (!use) return false;
      if (device.info.physical - use->used + there < restoreNeeds(site)) return false;
    }
  }
  return true;
}

}  // namespace divvy::agent
