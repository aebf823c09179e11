// How an idle tenant is ended: notice, hook, SIGTERM, SIGKILL; work calls it off until SIGTERM.
// Pure: instants are milliseconds of one monotonic clock. Private.
#pragma once

#include <cstdint>
#include <string>

namespace divvy::agent {

// When a tenant was last seen to use its devices.
class LastActivity {
 public:
  explicit LastActivity(std::uint64_t start_ms = 0) : at_(start_ms) {}
  // `last_launch_ms` is what the tenant says: nothing in the future counts.
  void note(bool at_work, std::uint64_t last_launch_ms, std::uint64_t now_ms);
  std::uint64_t at() const { return at_; }
  std::uint64_t idleMs(std::uint64_t now_ms) const { return now_ms > at_ ? now_ms - at_ : 0; }

 private:
  std::uint64_t at_;
};

enum class HookState : std::uint8_t { kNone, kRunning, kSucceeded, kFailed };

enum class ShutdownPhase : std::uint8_t { kNone, kNoticed, kEnding };

struct ShutdownOptions {
  std::uint64_t after_ms = 0;  // idle for so long; 0: never
  std::uint64_t notice_ms = 0;
  std::uint64_t grace_ms = 0;
};

struct PendingShutdown {
  ShutdownPhase phase = ShutdownPhase::kNone;
  std::uint64_t since_ms = 0;       // of the phase
  std::uint64_t not_before_ms = 0;  // of the next notice: a hook failed
};

enum class ShutdownAction : std::uint8_t {
  kNothing,
  kNotice,   // write it, start the hook
  kCallOff,  // it works again, or need not end any more
  kGiveUp,   // the hook failed: nobody may lose what it was to save. Tried again after as long
  kEnd,      // SIGTERM
  kKill,     // SIGKILL; again until it is gone
};

ShutdownAction nextStep(const PendingShutdown& stop, const ShutdownOptions& terms,
                        const LastActivity& use, HookState hook, std::uint64_t now_ms);
// What is pending after that step was taken.
PendingShutdown after(ShutdownAction step, const PendingShutdown& stop,
                      const ShutdownOptions& terms, std::uint64_t now_ms);
// Until SIGTERM, or SIGKILL; 0: due, or nothing is pending.
std::uint64_t leftMs(const PendingShutdown& stop, const ShutdownOptions& terms,
                     std::uint64_t now_ms);

}  // namespace divvy::agent
