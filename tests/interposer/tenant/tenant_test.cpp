#include "tenant_test.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

namespace divvy::interposer {
namespace {

namespace fs = std::filesystem;

constexpr char kInside[] = "DIVVY_TEST_INSIDE";

std::string environmentOr(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::map<std::string, std::string> environmentFor(const Tenancy& tenancy, const TenantDir& dir) {
  std::map<std::string, std::string> environment = {
      {kInside, "1"},
      {"LD_PRELOAD", environmentOr("DIVVY_BUILD_DIR", ".") + "/lib/libdivvy-cuda.so"},
      // In a sanitized build: we are preloaded before the sanitizer's library on purpose, and what
      // the simulated driver keeps for ever is no leak.
      {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"},
      {"SIMGPU_PROFILE", tenancy.machine},
      {"SIMGPU_DIR", dir.cards()},
  };
  if (tenancy.tenant) environment["DIVVY_TENANT_DIR"] = dir.tenant();
  if (tenancy.driver) {
    environment["LD_LIBRARY_PATH"] = environmentOr("DIVVY_BUILD_DIR", ".") + "/" +
                                     environmentOr("DIVVY_SIMGPU_VARIANT", "simgpu");
  }
  for (const auto& [name, value] : tenancy.environment) environment[name] = value;
  return environment;
}

// Runs the current test again with these variables; the child's output is the test's.
int runAgain(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (environment.count(text.substr(0, text.find('='))) == 0) entries.push_back(text);
  }
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  std::vector<char*> variables;
  for (std::string& entry : entries) variables.push_back(entry.data());
  variables.push_back(nullptr);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  std::string self = fs::read_symlink("/proc/self/exe").string();
  char* arguments[] = {self.data(), filter.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, variables.data()) != 0) {
    return -1;
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

bool TenantTest::outside(const Tenancy& tenancy) {
  if (std::getenv(kInside) != nullptr) return false;
  const TenantDir dir;
  if (tenancy.tenant) dir.makeTenant(tenancy);
  EXPECT_EQ(runAgain(environmentFor(tenancy, dir)), 0) << "see the child's output above";
  return true;
}

void TenantTest::makeReady() {
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
}

std::uint64_t TenantTest::booked(int card) {
  const auto view = simgpu::readCard(std::getenv("SIMGPU_DIR"), card);
  if (!view) return 0;
  for (const auto& process : view->processes) {
    if (process.pid == ::getpid()) return process.bytes;
  }
  return 0;
}

std::uint64_t TenantTest::booked(Charge kind, int card) {
  const auto view = simgpu::readCard(std::getenv("SIMGPU_DIR"), card);
  if (!view) return 0;
  for (const auto& process : view->processes) {
    if (process.pid == ::getpid()) return process.by_kind[static_cast<std::size_t>(kind)];
  }
  return 0;
}

std::uint64_t TenantTest::bookedByAll(int card) {
  const auto view = simgpu::readCard(std::getenv("SIMGPU_DIR"), card);
  return view ? view->used : 0;
}

std::string TenantTest::tenantDir() {
  return environmentOr("DIVVY_TENANT_DIR", "");
}

std::uint64_t TenantTest::charged(unsigned device) {
  // An account of the test's own, which never claims a slot.
  static ledger::Account account;
  ledger::TenantPages pages;
  if (!account.attached() &&
      (ledger::TenantPages::open(tenantDir().c_str(), &pages) != ledger::OpenStatus::kOk ||
       !account.attach(pages))) {
    ADD_FAILURE() << "the tenant's pages do not open";
    return 0;
  }
  return account.total(device);
}

TenantTest::FailedRequests TenantTest::failedRequests() {
  FailedRequests found;
  ledger::TenantPages pages;
  if (ledger::TenantPages::open(tenantDir().c_str(), &pages) != ledger::OpenStatus::kOk) {
    ADD_FAILURE() << "the tenant's pages do not open";
    return found;
  }
  for (unsigned i = 0; i < pages.slotsReady(); ++i) {
    const ledger::Slot& slot = pages.report().slots[i];
    found.over_limit += slot.lanes[0].refusals;
    found.over_limit_bytes = std::max(found.over_limit_bytes, slot.over_limit_bytes);
    found.device_full += slot.counters[static_cast<unsigned>(ledger::SlotCounter::kDeviceFull)];
    found.device_full_bytes = std::max(found.device_full_bytes, slot.device_full_bytes);
  }
  return found;
}

Control TenantTest::control() {
  auto* const ask = reinterpret_cast<int (*)(Control*)>(::dlsym(RTLD_DEFAULT, "divvy_control"));
  Control told{};
  told.size = sizeof told;
  if (ask == nullptr || ask(&told) != 0) ADD_FAILURE() << "no divvy_control here";
  return told;
}

bool TenantTest::isOldDriver() {
  return environmentOr("DIVVY_SIMGPU_VARIANT", "") == "simgpu-old";
}

std::string TenantTest::built(const std::string& name) {
  return environmentOr("DIVVY_BUILD_DIR", ".") + "/" + name;
}

}  // namespace divvy::interposer
