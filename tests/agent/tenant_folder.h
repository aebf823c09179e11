// A folder with the pages of one tenant of 1 GiB, for the duration of a test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "ledger/tenant_ledger.h"

namespace divvy::test {

class TenantFolder {
 public:
  explicit TenantFolder(unsigned slots = ledger::TenantSpec().slots) {
    std::string pattern = "/tmp/dv-XXXXXX";
    root_ = mkdtemp(pattern.data());
    ledger::TenantSpec spec;
    spec.id = "t";
    spec.slots = slots;
    ledger::DeviceSpec& device = spec.devices.emplace_back();
    device.uuid = "GPU-1";
    device.ceiling = gib(1);
    device.physical = gib(80);
    EXPECT_TRUE(ledger::TenantLedger::create(path(), spec));
  }
  ~TenantFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TenantFolder(const TenantFolder&) = delete;
  TenantFolder& operator=(const TenantFolder&) = delete;

  std::string path() const { return root_ + "/t"; }

 private:
  std::string root_;
};

}  // namespace divvy::test
