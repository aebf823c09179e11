// The socket at which processes of tenants register, on a thread of its own. What a tenant sends or
// keeps open is received, waited for and closed there; the agent's loop gets plain values.
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
  Peer peer;  // by the kernel's word
};

// Descriptors that come along are never installed in this process. Dropping one may block: closing
// a TCP socket waits for its SO_LINGER time, in whichever thread drops it last. A timer interrupts
// that thread every kNudge, which ends such a wait. A thread that makes no progress for kStuck all
// the same (a network file system) is left behind and replaced, kMaxStuck times at most. Source:
// scm(7), socket(7), tcp_close() of Linux; measured on 6.18: 2 ms instead of 4 s.
class RegistrationReceiver {
 public:
  // Whose processes are heard: this user's, or those of containers, which may be of any user.
  enum class AcceptFrom : std::uint8_t { kOwn, kAll };
  // Runs on the loop's thread, kTurn registrations at most in one turn of the loop.
  using Handler = std::function<ledger::RegisterStatus(const Registration&)>;

  struct Counts {
    std::uint64_t received = 0;
    std::uint64_t dropped = 0;   // not a packet of ours, of another user, or too late
    std::uint64_t limited = 0;   // beyond the rate of its sender
    std::uint64_t replaced = 0;  // threads that made no progress
  };

  RegistrationReceiver(asio::io_context& loop, Handler handler);
  ~RegistrationReceiver();
  RegistrationReceiver(const RegistrationReceiver&) = delete;
  RegistrationReceiver& operator=(const RegistrationReceiver&) = delete;

  // Binds and listens on `path`, of 107 bytes at most; a leftover of an earlier agent is replaced.
  // The folder that it is in says which processes may reach it. kIo: it cannot be bound, or no
  // thread can be started.
  Result<void> listen(const std::string& path, AcceptFrom hears);
  // Replaces a thread that is stuck. Once a second.
  void look();
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
