// Tests of the gate: this process is the tenant and plays the arbiter's part too.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "ledger/grants.h"
#include "tenant_test.h"

namespace divvy::interposer {

// A kernel that runs until the host says so.
class Endless {
 public:
  Endless() {
    EXPECT_EQ(cu<Cu::cuCtxGetCurrent>(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuStreamCreate>(&stream_, 1u), CUDA_SUCCESS);
    void* memory = nullptr;
    EXPECT_EQ(cu<Cu::cuMemHostAlloc>(&memory, std::size_t{4096}, 2u /* mapped */), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemHostGetDevicePointer_v2>(&device_, memory, 0u), CUDA_SUCCESS);
    flag_ = static_cast<std::uint32_t*>(memory);
    *flag_ = 0;
    CUmodule module = nullptr;
    EXPECT_EQ(
        cu<Cu::cuModuleLoadData>(
            &module, static_cast<const void*>("simgpu-builtin 1\nkernel till = spin_until\n")),
        CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuModuleGetFunction>(&kernel_, module, "till"), CUDA_SUCCESS);
  }
  ~Endless() {
    end();
    cu<Cu::cuStreamSynchronize>(stream_);
  }
  Endless(const Endless&) = delete;
  Endless& operator=(const Endless&) = delete;

  CUresult start() {
    std::uint32_t value = 1;
    void* parameters[] = {&device_, &value};
    return cu<Cu::cuLaunchKernel>(kernel_, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream_,
                                  static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
  void end() { __atomic_store_n(flag_, 1u, __ATOMIC_RELEASE); }

  CUstream stream() const { return stream_; }
  CUdeviceptr flag() const { return device_; }
  CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr device_ = 0;
  std::uint32_t* flag_ = nullptr;
};

class GateTest : public TenantTest {
 protected:
  // What the next grant says; a lease that outlives every test unless the test changes it.
  static ledger::GrantOptions& terms();
  static ledger::GrantPages& arbiter();
  // A new grant with terms(); its sequence.
  static std::uint64_t grant(ledger::GateState state);

  // What this process shows on the work page; nothing before it has a line.
  static std::optional<ledger::WorkSample> line();

  // One empty launch into the default stream of the null driver.
  static CUresult launch();
  // A kernel that takes `ns` of the simulated card's time.
  static CUresult spin(std::uint64_t ns, CUstream stream = nullptr);

  // Whether the condition comes true within a generous bound.
  static bool eventually(const std::function<bool()>& condition,
                         std::chrono::milliseconds bound = std::chrono::seconds(20));

  static bool inFlight() { return line() && (line()->state & ledger::kWorkInFlight) != 0; }
  // Long enough for several looks of the helper.
  static bool staysUndrained(std::uint64_t seq) {
    return !eventually([=] { return line()->drained_seq >= seq; }, std::chrono::milliseconds(100));
  }

  static std::multiset<std::string> threadNames();
  static bool helperBlocksSignals();

  // A thread that calls `body` once, by default a launch.
  class Launcher {
   public:
    explicit Launcher(std::function<CUresult()> body = launch);
    ~Launcher();
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    bool done() const { return done_; }
    // Waits for the end, with a bound; true if it came and the call succeeded.
    bool finishes();

   private:
    std::atomic<bool> done_{false};
    std::atomic<CUresult> result_{CUDA_ERROR_UNKNOWN};
    std::thread thread_;
  };
};

}  // namespace divvy::interposer
