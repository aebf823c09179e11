#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "ledger/account.h"
#include "nvml_fake_driver.h"

namespace divvy::interposer::test {

TenantDir::TenantDir(std::vector<ledger::DeviceSpec> devices, unsigned node_devices) {
  std::string pattern = std::filesystem::temp_directory_path() / "divvy-nvml-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
  parent_ = pattern;
  path_ = parent_ + "/tenant";
  ledger::TenantSpec spec;
  spec.id = "nvml-test";
  spec.name = "nvml test";
  spec.devices = std::move(devices);
  spec.node_devices = node_devices;
  Result<ledger::TenantLedger> made = ledger::TenantLedger::create(path_, spec);
  if (!made) {
    ADD_FAILURE() << made.error().message();
    std::abort();
  }
  agent_ = std::make_unique<ledger::TenantLedger>(std::move(made).value());
  ::setenv("DIVVY_TENANT_DIR", path_.c_str(), 1);
}

TenantDir::~TenantDir() {
  std::error_code ignored;
  std::filesystem::remove_all(parent_, ignored);
}

namespace {

// What the child of a Holder does: takes its slot, says which, and waits to be killed.
[[noreturn]] void hold(const std::string& dir, unsigned dev, Bytes bytes, int tell) {
  static ledger::Account account;
  ledger::TenantPages pages;
  unsigned slot = ledger::kMaxSlots;
  if (ledger::TenantPages::open(dir.c_str(), &pages) == ledger::OpenStatus::kOk &&
      account.attach(pages) && account.claim() == ledger::Admission::kGranted &&
      (bytes.count == 0 || account.reserve(dev, bytes.count) == ledger::Admission::kGranted)) {
    slot = account.slot();
  }
  if (::write(tell, &slot, sizeof slot) != sizeof slot) ::_exit(1);
  for (;;) ::pause();
}

}  // namespace

Holder::Holder(const TenantDir& tenant, unsigned dev, Bytes bytes) {
  int ends[2];
  if (::pipe(ends) != 0) ADD_FAILURE() << "pipe";
  pid_ = ::fork();
  if (pid_ == 0) hold(tenant.path(), dev, bytes, ends[1]);
  ::close(ends[1]);
  if (::read(ends[0], &slot_, sizeof slot_) != sizeof slot_) slot_ = ledger::kMaxSlots;
  ::close(ends[0]);
  EXPECT_LT(slot_, ledger::kMaxSlots) << "the holder got no slot";
}

Holder::~Holder() {
  if (pid_ > 0) kill();
}

void Holder::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Holder::adopt(TenantDir& tenant, unsigned host_pid) const {
  Result<ledger::ReportSnapshot> report = tenant.agent().readReport();
  ASSERT_TRUE(report.has_value());
  for (const ledger::SlotSnapshot& slot : report->slots) {
    if (slot.slot != slot_) continue;
    const Result<void> done = tenant.agent().adoptSlot(slot_, slot.generation, host_pid);
    ASSERT_TRUE(done.has_value()) << done.error().message();
    return;
  }
  FAIL() << "the report does not show slot " << slot_;
}

void inFreshProcess(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see above; status " << status;
}

}  // namespace divvy::interposer::test
