// The socket at which tenants' processes register, on its own thread. That thread receives, awaits
// and closes everything from a tenant; the agent's loop gets plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/processes.h"
#include "base/result.h"
#include "ledger/registration.h"
#include "os/asio.h"

namespace divvy::agent {

struct Registration {
  ledger::RegisterPacket packet{};
  Peer peer;  // according to the kernel
};

// Descriptors in a message are never installed in this process. To drop one may block: closing a
// TCP socket waits for its SO_LINGER time, in the thread that drops it last. A timer interrupts
// that thread every kNudge, which ends such a wait.
// A thread that still makes no progress for kStuck (a network file system) is abandoned and
// replaced, kMaxStuck times at most.
// Source: scm(7), socket(7), tcp_close() of Linux; measured on 6.18: 2 ms instead of 4 s.
class RegistrationReceiver {
 public:
  // Accepted processes: this user's, or those of containers, which may have any user.
  enum class AcceptFrom : std::uint8_t { kOwn, kAll };
  // Runs on the loop's thread, for at most kTurn registrations in one turn of the loop.
  using Handler = std::function<ledger::RegisterStatus(const Registration&)>;

  struct Counts {
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;   // no packet of ours, another user's, or late
    std::uint64_t limited = 0;   // above the sender's rate
    std::uint64_t replaced = 0;  // threads without progress
  };

  RegistrationReceiver(asio::io_context& loop, Handler handler);
  ~RegistrationReceiver();
  RegistrationReceiver(const RegistrationReceiver&) = delete;
  RegistrationReceiver& operator=(const RegistrationReceiver&) = delete;

  // Binds `path`, of 107 bytes at most, and listens. Replaces a socket that an earlier agent left.
  // The mode of its directory limits which processes reach it. kIo: the socket cannot be bound, or
  // no thread can be started.
  Result<void> listen(const std::string& path, AcceptFrom hears);
  // Replaces a stuck thread. Call once a second.
  void poll();
  Counts counts() const;

 private:
  struct Shared;
  class Worker;

  bool startWorker();
  void drain();

  asio::io_context& loop_;
  Handler handler_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace divvy::agent
