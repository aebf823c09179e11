#include "fake_tenant.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>

namespace divvy::arbiter::testing {

namespace fs = std::filesystem;
using ledger::loadAcquire;
using ledger::storeRelease;

Scratch::Scratch() {
  std::string pattern = fs::temp_directory_path() / "divvy-arbiter-XXXXXX";
  dir_ = mkdtemp(pattern.data());
}
Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

void pause() {
  const timespec moment{0, 100'000};
  ppoll(nullptr, 0, &moment, nullptr);
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause();
  }
  return true;
}

FakeTenant::FakeTenant(const Scratch& scratch, const std::string& id, unsigned devices)
    : id_(id), dir_(scratch.dir() / id) {
  ledger::TenantSpec spec;
  spec.id = id;
  for (unsigned i = 0; i < devices; ++i) {
    ledger::DeviceSpec device;
    device.uuid = "GPU-" + std::to_string(i);
    device.ceiling = device.guarantee = gib(1);
    device.physical = gib(80);
    spec.devices.push_back(device);
  }
  Result<ledger::TenantLedger> made = ledger::TenantLedger::create(dir_, spec);
  EXPECT_TRUE(made) << made.error().message();
  ledger_ = std::move(*made);
  EXPECT_EQ(ledger::TenantPages::open(dir_.c_str(), &pages_), ledger::OpenStatus::kOk);
}

FakeTenant::~FakeTenant() {
  pages_.close();
}

void FakeTenant::claim(unsigned slot, std::uint64_t generation) {
  storeRelease(line(slot).owner, generation + 1);
}

void FakeTenant::setState(std::uint32_t bits, unsigned slot) {
  storeRelease(line(slot).state, bits);
  storeRelease(line(slot).changed, line(slot).changed + 1);
  ring();
}

void FakeTenant::turn(std::uint32_t bits, Nanos at, unsigned slot) {
  storeRelease(line(slot).turned, static_cast<std::uint64_t>(at));
  storeRelease(line(slot).state, bits);
  storeRelease(line(slot).changed, line(slot).changed + 1);
  __atomic_fetch_add(&pages_.work()->header.bell, 1, __ATOMIC_RELEASE);
}

void FakeTenant::addBusy(Nanos time, unsigned device, unsigned slot) {
  storeRelease(line(slot).busy[device], line(slot).busy[device] + static_cast<std::uint64_t>(time));
  storeRelease(line(slot).settles, line(slot).settles + 1);
}

void FakeTenant::launched(unsigned slot) {
  storeRelease(line(slot).launches, line(slot).launches + 1);
}

void FakeTenant::drained(unsigned slot) {
  storeRelease(line(slot).drained_seq, seq());
  ring();
}

void FakeTenant::ring() {
  std::uint32_t& bell = pages_.work()->header.bell;
  __atomic_fetch_add(&bell, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

ledger::GateState FakeTenant::gate() const {
  return ledger::gateState(loadAcquire(grant().word));
}
std::uint64_t FakeTenant::seq() const {
  return loadAcquire(grant().seq);
}
std::uint64_t FakeTenant::beat() const {
  return loadAcquire(grant().beat);
}

void FakeTenant::truncateWork() {
  EXPECT_EQ(::truncate((dir_ / "work").c_str(), 0), 0);
}

}  // namespace divvy::arbiter::testing
