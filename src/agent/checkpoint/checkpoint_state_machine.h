// One tenant on its way off its devices and back, all of its processes or none. Pure: answers and
// instants come in, calls that are to be made of the driver go out, one at a time.
//
//   kHere --takeAway--> kLeaving: lock all, then checkpoint all --> kAway
//   kAway --bringBack--> kReturning: restore all, then unlock all --> kHere
//
// What does not work on the way out is undone: kLeaving becomes kReturning. The driver's own word
// on a process is the truth: wherever a call did not simply succeed, it is asked again. Whose
// memory is lost is doomed, and has to be killed by whoever runs this.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_eligibility.h"

namespace divvy::agent {

using CheckpointTime = std::chrono::milliseconds;  // since whenever

enum class CheckpointPhase : std::uint8_t { kHere, kLeaving, kAway, kReturning };
enum class CheckpointCall : std::uint8_t { kState, kLock, kCheckpoint, kRestore, kUnlock };

// What the driver says a process is. kBusy: between two others, by a call that somebody makes.
// kNone: the driver has nothing of it.
enum class DriverState : std::uint8_t { kUnknown, kRunning, kLocked, kAway, kFailed, kBusy, kNone };

enum class CheckpointAnswer : std::uint8_t {
  kDone,
  kNotReady,  // the lock's time was over
  kRefused,   // nothing was done
  kNoRoom,    // to restore it, as we found before we asked
  kNoMemory,  // to restore it, as the driver found: it is lost
  kLost,      // likewise, for another reason
  kGone,      // the driver knows no such process
  kSilent,    // none came within the limit
};

struct CheckpointStep {
  CheckpointCall call = CheckpointCall::kState;
  int pid = 0;
  CheckpointTime limit{};  // after which the answer is kSilent
  friend bool operator==(const CheckpointStep&, const CheckpointStep&) = default;
};

// How long a process may take to end its work.
inline constexpr CheckpointTime kLockTimeout{2000};

class CheckpointStateMachine {
 public:
  struct LostProcess {
    int pid = 0;
    std::string why;
  };

  // kAway, kReturning: as an earlier agent left it. kLeaving is undone.
  explicit CheckpointStateMachine(CheckpointPhase from = CheckpointPhase::kHere);

  // Those that use the devices now.
  void setProcesses(const std::vector<int>& pids);
  // In kHere. What it has stays booked for it until kAway.
  void takeAway();
  // In kAway, and what restoreNeeds() says is booked for it everywhere.
  void bringBack();

  // The call to make now; nothing while one is under way, or it is not yet time.
  std::optional<CheckpointStep> next(CheckpointTime now);
  // Of the call under way. `state` is the answer to kState.
  void answered(CheckpointAnswer answer, DriverState state, CheckpointTime now);

  CheckpointPhase phase() const { return phase_; }
  bool asking() const { return under_way_.has_value(); }
  bool resting() const {
    return phase_ == CheckpointPhase::kHere || phase_ == CheckpointPhase::kAway;
  }
  // To be killed, and reported.
  const std::vector<LostProcess>& doomed() const { return doomed_; }
  // Why it did not leave when asked last, and until when it should not be asked again.
  Ineligibility bar() const { return bar_; }
  CheckpointTime barredUntil() const { return barred_until_; }
  // It should not be brought back before.
  CheckpointTime postponedUntil() const { return postponed_until_; }

 private:
  struct Process {
    int pid = 0;
    DriverState state = DriverState::kUnknown;
    unsigned tries = 0;  // that failed, in a row
    CheckpointTime ask_at{};
    std::optional<CheckpointTime> busy_since;
  };

  Process* find(int pid);
  bool isDoomed(int pid) const;
  void forget(int pid);
  void askAnew();
  void doom(int pid, const std::string& why, CheckpointTime now);
  bool all(DriverState state) const;
  bool any(DriverState state) const;
  std::optional<CheckpointStep> stepFor(CheckpointTime now);
  void settle();
  void failed(Process* process, CheckpointCall call, CheckpointAnswer answer, CheckpointTime now);
  void noRoom(Process* process, CheckpointTime now);
  void retry(Process* process, CheckpointTime now);
  void turnBack(Ineligibility why, CheckpointTime now);
  void noteState(Process* process, DriverState state, CheckpointTime now);

  CheckpointPhase phase_;
  bool reserved_ = false;  // it returns from kAway, not from where it was to leave
  bool seen_ = false;      // any process of it
  std::vector<Process> processes_;
  std::optional<CheckpointStep> under_way_;
  std::vector<LostProcess> doomed_;
  Ineligibility bar_ = Ineligibility::kNone;
  unsigned turned_back_ = 0;  // in a row
  CheckpointTime barred_until_{};
  CheckpointTime postponed_until_{};
};

// "here", "leaving", "away", "returning".
const char* phaseName(CheckpointPhase phase);
// Nothing for a word that is none of them.
std::optional<CheckpointPhase> phaseNamed(std::string_view word);

}  // namespace divvy::agent
