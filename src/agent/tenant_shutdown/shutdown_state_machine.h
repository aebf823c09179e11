// How an idle tenant is shut down: notice, hook, SIGTERM, SIGKILL. Activity cancels it until
// SIGTERM. Pure: instants are milliseconds of one monotonic clock. Private.
#pragma once

#include <cstdint>
#include <string>

namespace divvy::agent {

// The last known use of its devices by a tenant.
class LastActivity {
 public:
  explicit LastActivity(std::uint64_t start_ms = 0) : at_(start_ms) {}
  // `last_launch_ms` comes from the tenant: an instant in the future counts as `now_ms`.
  void note(bool at_work, std::uint64_t last_launch_ms, std::uint64_t now_ms);
  std::uint64_t at() const { return at_; }
  std::uint64_t idleMs(std::uint64_t now_ms) const { return now_ms > at_ ? now_ms - at_ : 0; }

 private:
  std::uint64_t at_;
};

enum class HookState : std::uint8_t { kNone, kRunning, kSucceeded, kFailed };

enum class ShutdownPhase : std::uint8_t { kNone, kNoticed, kEnding };

struct ShutdownOptions {
  std::uint64_t after_ms = 0;  // idle time until the notice; 0: never
  std::uint64_t notice_ms = 0;
  std::uint64_t grace_ms = 0;
};

struct PendingShutdown {
  ShutdownPhase phase = ShutdownPhase::kNone;
  std::uint64_t since_ms = 0;       // start of the phase
  std::uint64_t not_before_ms = 0;  // earliest next notice, after a hook failed
};

enum class ShutdownAction : std::uint8_t {
  kNothing,
  kNotice,   // write the notice, start the hook
  kCallOff,  // the tenant is active, or has no limit any more
  kGiveUp,   // the hook failed or took too long: data may be lost; next attempt after `after_ms`
  kEnd,      // SIGTERM
  kKill,     // SIGKILL, repeated until the tenant has ended
};

ShutdownAction nextStep(const PendingShutdown& stop, const ShutdownOptions& terms,
                        const LastActivity& use, HookState hook, std::uint64_t now_ms);
// The pending shutdown after that step.
PendingShutdown after(ShutdownAction step, const PendingShutdown& stop,
                      const ShutdownOptions& terms, std::uint64_t now_ms);
// Milliseconds until SIGTERM, or until SIGKILL; 0: due, or none pending.
std::uint64_t leftMs(const PendingShutdown& stop, const ShutdownOptions& terms,
                     std::uint64_t now_ms);

}  // namespace divvy::agent
