#include "swap_tenant.h"

#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "card/profile.h"
#include "ledger/swap_pages.h"
#include "ledger/tenant_ledger.h"
#include "samples.h"

namespace divvy::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEverything = std::uint64_t{1} << 40;
constexpr timespec kLook{0, 200'000};
constexpr auto kPatience = std::chrono::seconds(60);
constexpr unsigned kProcesses = 8;

// Open, by an agent that is never late.
constexpr ledger::GrantOptions kOpen{.mode = ledger::GrantMode::kShare,
                                     .inflight_us = 2000,
                                     .beat_ms = 1000,
                                     .lease_ms = 3'600'000,
                                     .escape_ms = 60'000};

template <typename Value>
Value required(Result<Value> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(result).value();
}

ledger::ResidencyOrder orderFor(std::uint64_t bytes) {
  ledger::ResidencyOrder order;
  order.allowed.fill(bytes);
  order.most.fill(kEverything);
  order.host_allowed = kEverything;
  return order;
}

}  // namespace

bool waitFor(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ppoll(nullptr, 0, &kLook, nullptr);
  }
  return true;
}

SwapTenant::SwapTenant(const CardFloor& floor, const SwapPlan& plan, const std::string& cards)
    : dir_((floor.private_dir / plan.name).string()) {
  makeTenant(plan, floor.profile);
  Command start = command(floor, plan, cards);
  process_ = std::make_unique<Companion>(start);
  findSlot();
}

SwapTenant::~SwapTenant() {
  process_.reset();
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

void SwapTenant::makeTenant(const SwapPlan& plan, const std::string& profile) {
  const auto machine = simgpu::parseMachine(profile);
  if (!machine) throw std::runtime_error("no simulated card " + profile);
  const simgpu::Profile& card = *machine->cards.front();
  ledger::TenantSpec spec;
  spec.id = spec.name = "swapped";
  spec.node_devices = 1;
  ledger::DeviceSpec device;
  device.uuid = simgpu::cardIdentity(card, 0).uuidText();
  device.guarantee = device.ceiling = device.physical = Bytes{card.usableBytes()};
  device.context = Bytes{card.context_bytes};
  spec.devices.push_back(device);
  ledger::TenantLedger made = required(ledger::TenantLedger::create(dir_, spec));
  ledger::SwapSpec swap;
  swap.chunk = Bytes{plan.chunk};
  swap.devices.resize(1);
  swap.devices[0].swappable = true;
  if (auto set = made.setSwap(swap); !set) throw std::runtime_error(set.error().message());
  pages_ = std::make_unique<ledger::ResidencyPages>(required(ledger::ResidencyPages::open(dir_)));
  for (unsigned slot = 0; slot < kProcesses; ++slot) pages_->order(slot, 0, orderFor(kEverything));
  grant_ = std::make_unique<ledger::GrantPages>(required(ledger::GrantPages::open(dir_)));
  grant_->write(ledger::GateState::kOpen, kOpen);
}

Command SwapTenant::command(const CardFloor& floor, const SwapPlan& plan,
                            const std::string& cards) const {
  const char* rest = std::getenv("LD_LIBRARY_PATH");
  Command command;
  command.words = {floor.build / "bench/divvy-bench-probe", "swapped", std::to_string(plan.bytes),
                   std::to_string(plan.seed), std::to_string(plan.hot)};
  command.environment = {"LD_PRELOAD=" + (floor.build / "lib/libdivvy-cuda.so").string(),
                         "LD_LIBRARY_PATH=" + (floor.build / "simgpu").string() +
                             (rest != nullptr ? std::string(":") + rest : ""),
                         "DIVVY_TENANT_DIR=" + dir_,
                         "SIMGPU_PROFILE=" + floor.profile,
                         "SIMGPU_DIR=" + cards,
                         "SIMGPU_FAULTS=strict-unmap=any",
                         "SIMGPU_TIME_SCALE=" + std::to_string(floor.speed_permille / 1000.0)};
  command.limit_s = 60;
  return command;
}

// The only one there is.
void SwapTenant::findSlot() {
  ledger::TenantPages pages;
  bool found = false;
  if (ledger::TenantPages::open(dir_.c_str(), &pages) == ledger::OpenStatus::kOk &&
      account_.attach(pages)) {
    account_.forEachLiveSlot([&](const ledger::LiveProcess& process) {
      slot_ = process.slot;
      const auto& slot = account_.pages().report().slots[process.slot];
      generation_ = ledger::stateGeneration(slot.state.low);
      found = true;
    });
  }
  if (!found) throw std::runtime_error("a tenant without a process");
}

int SwapTenant::pid() const {
  return process_->pid();
}

void SwapTenant::allow(std::uint64_t bytes, bool at_host) {
  const std::uint64_t pinned = ledger::pinnedNow(account_, slot_, 0, sample().device[0]);
  ledger::ResidencyOrder order = orderFor(bytes + pinned);
  if (at_host) order.flags = ledger::kMayHostMap;
  pages_->order(slot_, generation_, order);
}

ledger::SwapSample SwapTenant::sample() {
  ledger::SwapSample sample;
  if (!pages_->read(slot_, generation_, &sample)) {
    throw std::runtime_error("a tenant that says nothing of its memory");
  }
  return sample;
}

std::uint64_t SwapTenant::mismatched() {
  const Samples found = samplesOf(process_->finish(), "mismatched");
  if (found.size() != 1) throw std::runtime_error("a tenant that did not look at its memory");
  return static_cast<std::uint64_t>(found[0]);
}

}  // namespace divvy::bench
