#include "gate_fixture.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace divvy::interposer {
namespace {

namespace fs = std::filesystem;

std::string firstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// An account of the test's own; its slots are those of the whole tenant.
const ledger::Account& tenantAccount(const std::string& dir) {
  static ledger::Account account;
  ledger::TenantPages pages;
  if (!account.attached() &&
      ledger::TenantPages::open(dir.c_str(), &pages) == ledger::OpenStatus::kOk) {
    account.attach(pages);
  }
  return account;
}

}  // namespace

ledger::GrantOptions& GateTest::terms() {
  static ledger::GrantOptions terms{.mode = ledger::GrantMode::kShare,
                                    .inflight_us = 2000,
                                    .idle_us = 200,
                                    .overlap_us = 150,
                                    .beat_ms = 500,
                                    .lease_ms = 60'000,
                                    .escape_ms = 60'000,
                                    .spin_us = 20};
  return terms;
}

ledger::GrantPages& GateTest::arbiter() {
  static auto pages = ledger::GrantPages::open(tenantDir());
  if (!pages) {
    ADD_FAILURE() << pages.error().message();
    std::abort();
  }
  return *pages;
}

std::uint64_t GateTest::grant(ledger::GateState state) {
  return arbiter().write(state, terms());
}

std::optional<ledger::WorkSample> GateTest::line() {
  std::optional<ledger::WorkSample> found;
  tenantAccount(tenantDir()).forEachLiveSlot([&](const ledger::LiveProcess& process) {
    if (process.owner.pid != static_cast<std::uint32_t>(::getpid())) return;
    const auto& slot = tenantAccount(tenantDir()).pages().report().slots[process.slot];
    ledger::WorkSample sample;
    if (arbiter().read(process.slot, ledger::stateGeneration(slot.state.low), &sample)) {
      found = sample;
    }
  });
  return found;
}

CUresult GateTest::launch() {
  return cu<Cu::cuLaunchKernel>(CUfunction{}, 1u, 1u, 1u, 1u, 1u, 1u, 0u, CUstream{},
                                static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

CUresult GateTest::spin(std::uint64_t ns, CUstream stream) {
  static const CUfunction kernel = [] {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cu<Cu::cuModuleLoadData>(
                  &module, static_cast<const void*>("simgpu-builtin 1\nkernel busy = spin\n")),
              CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&function, module, "busy"), CUDA_SUCCESS);
    return function;
  }();
  void* parameters[] = {&ns};
  return cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
                                static_cast<void**>(parameters), static_cast<void**>(nullptr));
}

bool GateTest::eventually(const std::function<bool()>& condition, std::chrono::milliseconds bound) {
  const auto until = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

std::multiset<std::string> GateTest::threadNames() {
  std::multiset<std::string> names;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    names.insert(firstLine(task.path() / "comm"));
  }
  return names;
}

bool GateTest::helperBlocksSignals() {
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    if (firstLine(task.path() / "comm") != "divvy") continue;
    std::ifstream status(task.path() / "status");
    for (std::string text; std::getline(status, text);) {
      // All but the C library's own two.
      if (text.rfind("SigBlk:", 0) == 0) return text.find("fffffffe7ffbfeff") != std::string::npos;
    }
  }
  return false;
}

GateTest::Launcher::Launcher(std::function<CUresult()> body)
    : thread_([this, body = std::move(body)] {
        result_ = body();
        done_ = true;
      }) {}

GateTest::Launcher::~Launcher() {
  // Whatever the test left behind must not hang it.
  if (!done_) grant(ledger::GateState::kOpen);
  thread_.join();
}

bool GateTest::Launcher::finishes() {
  return eventually([this] { return done(); }) && result_ == CUDA_SUCCESS;
}

}  // namespace divvy::interposer
