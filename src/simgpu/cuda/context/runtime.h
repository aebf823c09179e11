// The one object of a process that uses the simulated driver.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "card/profile.h"
#include "cuda/context/context.h"
#include "cuda/context/device.h"
#include "cuda/context/faults.h"

namespace divvy::simgpu {

enum class DriverState : int {
  kNew,     // cuInit was not called
  kReady,   // cuInit succeeded
  kForked,  // a child of an initialised process: every call answers CUDA_ERROR_NOT_INITIALIZED
};

class Runtime {
 public:
  static Runtime& get();

  // cuInit. Idempotent, any thread.
  CUresult init();

  DriverState state() const { return state_.load(std::memory_order_acquire); }
  const Machine& machine() const { return machine_; }
  const std::string& directory() const { return directory_; }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  int driverVersion() const { return driver_version_; }

 private:
  CUresult load();
  CUresult openDevices();
  Card& firstCard();

  std::atomic<DriverState> state_{DriverState::kNew};
  std::mutex mutex_;
  CUresult init_result_ = CUDA_SUCCESS;
  bool loaded_ = false;
  Machine machine_{};
  std::string directory_;
  std::vector<std::unique_ptr<Device>> devices_;
  int driver_version_ = 0;
};

// The newest release of the driver that we simulate, in cuDriverGetVersion's form.
inline constexpr int kNewestDriver = 13050;
// SIMGPU_DRIVER_VERSION (11000 and up), or kNewestDriver.
int configuredDriverVersion();

}  // namespace divvy::simgpu
