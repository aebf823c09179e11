#include "cuda/context/runtime.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "abi/cuda_ids.h"
#include "cuda/context/call_guard.h"
#include "cuda/context/null_profile.h"
#include "cuda/memory/memory_window.h"
#include "simgpu/card_reader.h"

namespace divvy::simgpu {
namespace {

std::atomic<DriverState>* state_of_process = nullptr;

// A child of an initialised process has no GPU, as with the real driver.
void afterForkInChild() {
  DriverState expected = DriverState::kReady;
  state_of_process->compare_exchange_strong(expected, DriverState::kForked);
}

}  // namespace

Runtime& Runtime::get() {
  // Never destroyed: other threads may be inside a call when the process exits.
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

CUresult Runtime::init() {
  if (state() == DriverState::kForked) return CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard guard(mutex_);
  if (!loaded_) {
    init_result_ = load();
    loaded_ = true;
    if (init_result_ == CUDA_SUCCESS) {
      state_of_process = &state_;
      pthread_atfork(nullptr, nullptr, afterForkInChild);
      state_.store(DriverState::kReady, std::memory_order_release);
    }
  }
  return init_result_;
}

CUresult Runtime::load() {
  driver_version_ = configuredDriverVersion();
  std::string bad_fault;
  if (!Faults::get().parse(std::getenv("SIMGPU_FAULTS"), &bad_fault)) {
    std::fprintf(stderr, "simgpu: SIMGPU_FAULTS: \"%s\" not understood (see divvy sim)\n",
                 bad_fault.c_str());
  }
  const char* text = std::getenv("SIMGPU_PROFILE");
  const std::string profile(text == nullptr || *text == 0 ? kDefaultProfile : text);
  const auto machine = parseMachine(profile);
  if (!machine) {
    std::fprintf(stderr, "simgpu: SIMGPU_PROFILE: no profile \"%s\" (see divvy sim)\n",
                 profile.c_str());
    return CUDA_ERROR_NO_DEVICE;
  }
  machine_ = *machine;
  directory_ = cardDirectory();
  if (!prepareCardDirectory(directory_)) {
    std::fprintf(stderr, "simgpu: %s: not a directory of ours that can be written\n",
                 directory_.c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  return openDevices();
}

CUresult Runtime::openDevices() {
  const std::vector<int> order = cudaOrder(std::getenv("CUDA_DEVICE_ORDER"), machine_);
  std::vector<std::string> uuids;
  for (const int card : order) {
    uuids.push_back(unitIdentity(machine_, card).uuidText());
  }
  for (const int position : visibleCards(std::getenv("CUDA_VISIBLE_DEVICES"), uuids)) {
    auto device = std::make_unique<Device>();
    device->ordinal = static_cast<int>(devices_.size());
    device->card_index = order[position];
    device->profile = machine_.cards[device->card_index];
    device->identity = unitIdentity(machine_, device->card_index);
    const int board = machine_.board_of[device->card_index];
    device->board = cardIdentity(*machine_.boards[board], board);
    if (!device->card.open(directory_, *device->profile, device->card_index)) {
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    if (!device->card.join()) return CUDA_ERROR_OPERATING_SYSTEM;
    devices_.push_back(std::move(device));
  }
  if (devices_.empty()) return CUDA_ERROR_NO_DEVICE;
  if (!Window::get().open()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (machine_.answersAtOnce()) {
    installNullProfile();
  } else {
    CallMark::countIn(firstCard().self()->checkpoint);
  }
  return CUDA_SUCCESS;
}

// The card that a checkpoint of this process uses: the lowest index, also if it is not visible.
Card& Runtime::firstCard() {
  const auto first =
      std::min_element(devices_.begin(), devices_.end(),
                       [](const auto& a, const auto& b) { return a->card_index < b->card_index; });
  return (*first)->card;
}

int configuredDriverVersion() {
  const char* text = std::getenv("SIMGPU_DRIVER_VERSION");
  const int version = text == nullptr ? 0 : std::atoi(text);
  return version >= 11000 ? version : kNewestDriver;
}

Device* findDevice(CUdevice ordinal) {
  const auto& devices = Runtime::get().devices();
  if (ordinal < 0 || ordinal >= static_cast<int>(devices.size())) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)].get();
}

int deviceCount() {
  return static_cast<int>(Runtime::get().devices().size());
}

}  // namespace divvy::simgpu
