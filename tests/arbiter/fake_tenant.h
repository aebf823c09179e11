// A tenant made of files and of processes that exist only as lines in its work page.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "arbiter/policy.h"
#include "ledger/pages.h"
#include "ledger/tenant_ledger.h"

namespace divvy::arbiter::testing {

// A directory that goes away with it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  const std::filesystem::path& dir() const { return dir_; }

 private:
  std::filesystem::path dir_;
};

// A tenth of a millisecond, between two looks.
void pause();

// Waits for a condition for 30 s at most.
bool eventually(const std::function<bool()>& condition);

class FakeTenant {
 public:
  FakeTenant(const Scratch& scratch, const std::string& id, unsigned devices = 1);
  ~FakeTenant();
  FakeTenant(const FakeTenant&) = delete;
  FakeTenant& operator=(const FakeTenant&) = delete;

  const std::string& id() const { return id_; }
  const std::filesystem::path& dir() const { return dir_; }

  // What the interposer does, by hand. Slot 0 unless told otherwise.
  void claim(unsigned slot = 0, std::uint64_t generation = 0);
  void setState(std::uint32_t bits, unsigned slot = 0);
  void addBusy(Nanos time, unsigned device = 0, unsigned slot = 0);
  void launched(unsigned slot = 0);
  // The same, and when work began or ended; without waking anybody.
  void turn(std::uint32_t bits, Nanos at, unsigned slot = 0);
  // All that was launched before the present word has ended.
  void drained(unsigned slot = 0);
  void ring();

  const ledger::ControlHeader& control() const { return pages_.control().header; }
  const ledger::Grant& grant() const { return control().grant; }
  ledger::GateState gate() const;
  std::uint64_t seq() const;
  std::uint64_t beat() const;
  ledger::WorkLine& line(unsigned slot = 0) { return pages_.work()->lines[slot]; }
  ledger::TenantLedger& ledger() { return *ledger_; }
  // Cuts the work file off, as only a hostile tenant would.
  void truncateWork();

 private:
  std::string id_;
  std::filesystem::path dir_;
  std::optional<ledger::TenantLedger> ledger_;
  ledger::TenantPages pages_;
};

}  // namespace divvy::arbiter::testing
