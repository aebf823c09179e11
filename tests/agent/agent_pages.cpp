#include "agent_pages.h"

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "cost_bound.h"
#include "tenant_registration/register_packet.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kDevices = 2;
constexpr unsigned kFoundPerSweep = 256;  // as Tenants::findLost() has them
constexpr unsigned kReapsPerTurn = 64;    // as Tenants::reapAll() has them
constexpr std::uint64_t kPhysical = 80ull << 30;

template <typename T>
void setWord(T* object, std::size_t word, std::uint64_t value) {
  static_assert(sizeof(T) % 8 == 0);
  std::memcpy(reinterpret_cast<char*>(object) + word % (sizeof(T) / 8) * 8, &value, sizeof value);
}

}  // namespace

AgentPages::AgentPages() {
  std::string pattern = fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  pattern += "/divvy-pages-XXXXXX";
  need(mkdtemp(pattern.data()) != nullptr, "a folder");
  parent_ = pattern;
  ledger::TenantSpec spec;
  spec.id = "abc234";
  spec.slots = kSlots;
  spec.devices.resize(kDevices);
  ledger::SwapSpec swap;
  for (unsigned i = 0; i < kDevices; ++i) {
    spec.devices[i].uuid = "GPU-" + std::to_string(i);
    spec.devices[i].ceiling = {8ull << 30};
    spec.devices[i].physical = {kPhysical};
    swap.devices.push_back({true, 1300, {kPhysical}});
  }
  const std::string dir = parent_ / "tenant";
  Result<ledger::TenantLedger> made = ledger::TenantLedger::create(dir, spec);
  need(made && made->setSwap(swap), "a tenant");
  ledger_.emplace(std::move(*made));
  need(ledger::TenantPages::open(dir.c_str(), &tenant_) == ledger::OpenStatus::kOk, "its pages");
  need(ledger::SwapPages::open(dir.c_str(), ledger_->control().header, &swap_lines_) ==
           ledger::OpenStatus::kOk,
       "its swap pages");
  const char* report = reinterpret_cast<const char*>(&tenant_.report());
  header_.assign(report, report + offsetof(ledger::ReportPage, slots));
}

AgentPages::~AgentPages() {
  tenant_.close();
  swap_lines_.close();
  ledger_.reset();
  std::error_code ignored;
  fs::remove_all(parent_, ignored);
}

void AgentPages::reset() {
  std::memcpy(static_cast<void*>(&tenant_.report()), header_.data(), header_.size());
  for (const unsigned slot : touched_) {
    std::memset(static_cast<void*>(&tenant_.report().slots[slot]), 0, sizeof(ledger::Slot));
    std::memset(static_cast<void*>(&tenant_.work()->lines[slot]), 0, sizeof(ledger::WorkLine));
    std::memset(static_cast<void*>(&swap_lines_.swap().lines[slot]), 0, sizeof(ledger::SwapLine));
  }
  touched_.clear();
  processes_.emplace();
  limit_.emplace(Rate{50, 200});
  const fs::path dir = parent_ / "tenant";
  Result<ResidencyReader> swap = ResidencyReader::open(dir, kDevices);
  Result<ActivityReader> work = ActivityReader::open(dir);
  need(swap && work, "the agent's readers");
  swap_.emplace(std::move(*swap));
  work_.emplace(std::move(*work));
  now_ = {};
}

void AgentPages::write(unsigned kind, FuzzInput* in) {
  const bool swap = kind == 4 && in->flag();
  const unsigned slot = (in->byte() << 8 | in->byte()) % kSlots;
  const unsigned word = kind == 2 ? slot : in->byte();
  const std::uint64_t value = in->number();
  if (kind == 2) {
    char* header = reinterpret_cast<char*>(&tenant_.report());
    std::memcpy(header + word % (header_.size() / 8) * 8, &value, sizeof value);
    return;
  }
  touched_.insert(slot);
  if (kind == 1) {
    setWord(&tenant_.report().slots[slot], word, value);
  } else if (swap) {
    setWord(&swap_lines_.swap().lines[slot], word, value);
  } else {
    setWord(&tenant_.work()->lines[slot], word, value);
  }
}

void AgentPages::claim(FuzzInput* in) {
  const unsigned first = in->byte() << 8 | in->byte();
  const unsigned count = in->byte() << 8 | in->byte();
  const std::uint32_t pid = 1 + in->byte();
  const std::uint64_t generation = in->byte();
  for (unsigned i = 0; i < count % (kSlots + 1); ++i) {
    const unsigned slot = (first + i) % kSlots;
    ledger::Slot& target = tenant_.report().slots[slot];
    target.state.low = ledger::packState(generation, ledger::Phase::kLive);
    target.state.high = ledger::packOwner({pid + i % 7, 100});
    tenant_.work()->lines[slot].owner = swap_lines_.swap().lines[slot].owner = generation + 1;
    touched_.insert(slot);
  }
}

void AgentPages::recover(const SlotKey& key, std::uint32_t pid) {
  static_cast<void>(ledger_->adoptSlot(key.slot, key.generation, pid));
  const ProcessId id{static_cast<int>(pid), 100};
  if (!processes_->watches(id) && processes_->full()) return;
  static_cast<void>(processes_->claim(key, id, [&] { return WatchedProcess{id, nullptr}; }));
}

void AgentPages::packet(FuzzInput* in) {
  ledger::RegisterPacket packet{ledger::kRegisterMagic, ledger::kRegisterVersion, {}, 0, 0, 0, 0};
  packet.slot = in->word();
  packet.pid = in->byte();
  packet.generation = in->byte();
  const unsigned flaws = in->byte();
  // Without an end, too.
  std::memset(packet.tenant_id, 'a', (flaws >> 2) % (sizeof packet.tenant_id + 1));
  packet.magic += flaws & 1;
  const ssize_t got = sizeof packet - (flaws >> 1 & 1);
  if (!isRegisterPacket(packet, got)) return;
  need(tenantOf(packet).size() <= sizeof packet.tenant_id, "a tenant's name");
  now_ += std::chrono::milliseconds(1);
  if (!limit_->take(tenantOf(packet), now_)) return;
  const Result<bool> owns = ledger_->claimedBy(packet.slot, packet.generation, packet.pid);
  need(owns.has_value(), "a slot can be looked at");
  need(!*owns || packet.slot < kSlots, "a slot that there is not");
  if (*owns) recover({packet.slot, packet.generation}, packet.pid);
}

void AgentPages::sweep() {
  const Result<ledger::ReportSnapshot> report = ledger_->readReport();
  need(report.has_value(), "a report can be read");
  need(report->slots.size() + report->free_slots <= kSlots, "the number of slots");
  for (const ledger::DeviceUse& use : report->devices)
    need(use.admitted.count <= kPhysical && use.total <= use.admitted, "bytes in use");
  unsigned found = 0;
  for (const ledger::SlotSnapshot& slot : report->slots) {
    const SlotKey key{slot.slot, slot.generation};
    if (slot.phase == ledger::Phase::kRetired || processes_->has(key)) continue;
    if (++found > kFoundPerSweep) break;
    recover(key, slot.owner.pid);
  }
  need(processes_->watched().size() <= TenantProcesses::kMax, "the number of processes");
  need(processes_->slots().size() <= kSlots, "the number of slots that are known");
}

void AgentPages::end(unsigned pid) {
  std::vector<SlotKey> keys = processes_->remove({static_cast<int>(pid), 100});
  keys.resize(std::min<std::size_t>(keys.size(), kReapsPerTurn));
  for (const SlotKey& key : keys) static_cast<void>(ledger_->reap(key.slot, key.generation));
  need(!processes_->watches({static_cast<int>(pid), 100}), "a process that has ended");
}

void AgentPages::read() {
  ResidencyReader::Slots slots;
  for (const auto& [key, id] : processes_->slots()) slots.emplace_back(key.slot, key.generation);
  const ResidencySummary sums = swap_->read(slots);
  for (const SwapState& state : sums.devices)
    need(state.mapped <= state.swappable, "memory on the device is some of what can be swapped");
  now_ += std::chrono::seconds(1);
  swap_->sample(slots, now_);
  static_cast<void>(work_->read(slots));
}

std::vector<std::chrono::nanoseconds> AgentPages::run(FuzzInput in) {
  reset();
  std::vector<std::chrono::nanoseconds> costs;
  for (std::size_t step = 0; step < kMaxSteps && !in.empty(); ++step) {
    const unsigned what = in.byte() % 8;
    const std::chrono::nanoseconds before = processorTime();
    switch (what) {
      case 0:
        packet(&in);
        break;
      case 3:
        claim(&in);
        continue;
      case 5:
        sweep();
        break;
      case 6:
        end(1 + in.byte());
        break;
      case 7:
        read();
        break;
      default:
        write(what, &in);
        continue;
    }
    costs.push_back(processorTime() - before);
  }
  return costs;
}

}  // namespace divvy::agent
