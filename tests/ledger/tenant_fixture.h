// A tenant in a private directory, with the agent's handle and this process' account.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "ledger/account.h"
#include "ledger/tenant_ledger.h"

namespace divvy::ledger {

// Sanitizers make everything ten times slower or more; random tests then do a tenth.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned kSlowdown = 10;
#else
inline constexpr unsigned kSlowdown = 1;
#endif

// A directory of this test alone, removed with what is in it. Under /dev/shm where there is one:
// the pages live on tmpfs in production.
class PrivateDir {
 public:
  PrivateDir() {
    std::string pattern =
        (std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                             : std::filesystem::temp_directory_path()) /
        "divvy-ledger-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
    path_ = pattern;
  }
  ~PrivateDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDir(const PrivateDir&) = delete;
  PrivateDir& operator=(const PrivateDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline DeviceSpec device(std::uint64_t ceiling) {
  return {.uuid = "GPU-00000000-0000-0000-0000-000000000001",
          .pci_bus_id = "0000:3B:00.0",
          .guarantee = {ceiling},
          .ceiling = {ceiling},
          .physical = gib(80)};
}

inline TenantSpec specWith(std::uint64_t ceiling, unsigned devices = 1) {
  TenantSpec spec;
  spec.id = "t1";
  spec.name = "test";
  for (unsigned i = 0; i < devices; ++i) spec.devices.push_back(device(ceiling));
  spec.slots = kSlotChunk;
  return spec;
}

inline TenantLedger mustCreate(const std::filesystem::path& dir, const TenantSpec& spec) {
  Result<TenantLedger> ledger = TenantLedger::create(dir, spec);
  if (!ledger) {
    ADD_FAILURE() << ledger.error().message();
    std::abort();
  }
  return std::move(ledger).value();
}

// Opens and attaches in one step; a failure ends the test.
inline void mustAttach(const std::filesystem::path& dir, Account& account) {
  TenantPages pages;
  const OpenStatus status = TenantPages::open(dir.c_str(), &pages);
  if (status != OpenStatus::kOk || !account.attach(pages)) {
    ADD_FAILURE() << openStatusName(status);
    std::abort();
  }
}

class TenantTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kCeiling = 1000;

  explicit TenantTest(const TenantSpec& spec = specWith(kCeiling))
      : ledger_(mustCreate(private_.path() / "t1", spec)) {
    mustAttach(dir(), account_);
  }

  std::filesystem::path dir() const { return private_.path() / "t1"; }
  ReportPage& page() { return account_.pages().report(); }

  ReportSnapshot snapshot() {
    Result<ReportSnapshot> got = ledger_.readReport();
    if (!got) {
      ADD_FAILURE() << got.error().message();
      return {};
    }
    return std::move(got).value();
  }

  // Faults counted so far by code.
  std::uint64_t faults(FaultCode code) {
    return page().header.fault_counts[static_cast<unsigned>(code)];
  }

  PrivateDir private_;
  TenantLedger ledger_;
  Account account_;
};

// Runs body in a forked child; its return value is the exit status.
template <typename Body>
pid_t spawn(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

inline int waitFor(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return status;
}

}  // namespace divvy::ledger
