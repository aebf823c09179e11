// Blocks of chunks that other processes may open by the 64 bytes of a legacy IPC handle.
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/socket.h"
#include "ipc/token.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread, inside a hook (DriverCallScope). A thread of this
// library, created at the first export, sends the chunks of a block to processes that know its
// secret.
class IpcExports {
 public:
  // Pins the block that contains the address and writes its token, which is always the same.
  // Returns CUDA_ERROR_NOT_FOUND for other memory, or if the driver cannot export the block: then
  // the driver is to be called.
  CUresult nameBlock(std::uint64_t address, IpcToken* out);
  // Returns whether the token names a block of this process.
  bool isOwn(const IpcToken& token) const {
    return state_.load(std::memory_order_acquire) == State::kRunning && token.server == server_;
  }

  // Returns when the thread has left the driver for good, or after 10 ms.
  void stop();
  // For the child of a fork, which has neither the thread nor a socket.
  void forgetAfterFork();

 private:
  enum class State : std::uint32_t { kNone, kStarting, kRunning, kMissing };

  bool start();
  static void* run(void* self);
  void loop();
  void serve(const IpcSocket& peer) const;
  static std::uint64_t handOut(const IpcSocket& peer, const IpcToken& asked, std::uint64_t offset);

  std::atomic<State> state_{State::kNone};
  std::uint64_t server_ = 0;  // constant from kRunning on
  IpcSocket socket_;
  std::uint32_t parked_ = 0;  // 1: the thread calls the driver no more
  std::atomic<bool> stop_{false};
};

}  // namespace divvy::interposer
